-- The searches that the kept runs are of: kernelband run tests/runs/search.lua KIND FOLDER
local kb = require "kernelband"
local kind, out = arg[1], arg[2]

local options = {
  c = { steps = 5 },
  replay = { steps = 4, answers = { "tests/runs/answers" } },
  killed = { steps = 20, synthetic = true },
  steered = { steps = 6, synthetic = true },
}
local o = options[kind]

kb.search {
  task = o.synthetic and kb.synthetic { seed = 3 } or kb.task "tests/runs/scale",
  strategies = not o.synthetic and kb.strategies "tests/runs/strategies" or nil,
  generator = o.answers and kb.generator.replay(o.answers) or nil,
  policy = "tests/runs/turns.lua", seed = 4, budget = { steps = o.steps }, out = out,
  on_pull = function(p)
    if tostring(p.n) == os.getenv "STOP" then os.execute "kill -9 $PPID" end
  end,
}
