-- What overlapping buys: pulls a second from a model that takes 2 s to answer, over HTTP
-- from a server on this machine, and two workers that take 100 ms to evaluate, by how
-- many pulls are in flight; and the processor time of the engine a proposal: of this
-- process, user and system, threads included, the server's not. Whole: all that a run
-- used, its start and end too, over its proposals. Marginal: what the proposals of a long
-- run beyond those of a short one used, over their number.
--   kernelband run tests/bench/parallel.lua [short run] [long run] [pieces an answer]
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local jobs = require "kernelband.base.jobs"
local kb     = require "kernelband"
local json   = require "kernelband.base.json"
local server = require "server"
local core   = kb.core

local SHORT <const>, LONG <const> = tonumber(arg and arg[1]) or 100, tonumber(arg and arg[2]) or 400
local ALONE <const> = 12                         -- pulls of the sequential run
local EVENTS, ANSWER_MS = 400, 2000
local WAITS = tonumber(arg and arg[3]) or 20     -- the server sends what is between two at once
local WORKERS <const>, EVALUATION_NS <const> = 2, 100 * 10 ^ 6 // 1

-- One answer: a kernel like no other, in EVENTS events over two seconds.
local function answer(i)
  local text = ("Tiled.\n```c\nvoid parallel(void)\n{\n    step(%d);\n%s}\n```\n"):format(i,
    ("    /* what is done here, in a line of its own */\n"):rep(60))
  local out = { "on POST *\ntimes 1\nhead 200\nheader content-type: text/event-stream\nchunked" }
  local size = #text // EVENTS + 1
  for n = 1, EVENTS do
    local piece = text:sub((n - 1) * size + 1, n * size)
    out[#out + 1] = "data " .. json.encode { choices = { { delta = { content = piece } } } }
    if n % (EVENTS // WAITS) == 0 then
      out[#out + 1] = ("wait %dus"):format(ANSWER_MS * 1000 // WAITS)
    end
  end
  out[#out + 1] = 'data {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":'
    .. '{"prompt_tokens":900,"completion_tokens":400}}\ndata [DONE]\nlast'
  return table.concat(out, "\n")
end

-- A world without a compiler: a source's own number says how fast it is, in no order,
-- so that a new best is as rare as in a search.
local function verdict(source)
  local number = math.tointeger(tonumber(source:match "step%((%d+)%)") or 0)
  local speedup = 1 + number * 2654435761 % 2 ^ 32 / 2 ^ 32
  return { verdict = "ok", time_ns = 1e6 / speedup, baseline_ns = 1e6, speedup = speedup,
           speedup_low = speedup, speedup_high = speedup, shapes = {}, evidence = {} }
end

local function task()
  local strategies = kb.strategies "strategies/c"
  return { name = "parallel", summary = "", language = "c", environment = function()
    local function evaluator(L)
      local places = jobs.places(L, WORKERS)
      return { close = function() end, baseline = function() return verdict "" end,
               evaluate = function(candidate)
                 places.use(L.sleep, L, EVALUATION_NS)
                 return verdict(candidate.source)
               end }
    end
    return { strategies = strategies, evaluator = evaluator, source = "void parallel(void) { }\n",
             generator = { open = function() end, propose = function() end,
                           seen = function() end } }
  end }
end

-- A search of so many pulls: pulls a second and seconds of CPU.
local function run(parallel, policy, steps, folder)
  local scenario = {}
  for i = 1, steps do scenario[i] = answer(i) end
  local s = server.start(table.concat(scenario, "\n") .. "\n")
  collectgarbage()
  local began, cpu = core.system.now_ns(), os.clock()
  local r = kb.search { task = task(), parallel = parallel, quiet = true, confirm = false,
    generator = kb.generator.llm { model = "m", base_url = s.url .. "/v1" },
    policy = ("policies/%s.lua"):format(policy), out = folder, budget = { steps = steps } }
  local spent, used = (core.system.now_ns() - began) / 1e9, os.clock() - cpu
  assert(#s:requests() == steps)
  s:stop()
  assert(r.verdicts.ok == steps and r.pulls == steps, "an answer was not measured")
  return steps / spent, used
end

local dir = ("%s/kb-bench-%s"):format(os.getenv "TMPDIR" or "/tmp", core.system.random_hex(6))
local one = run(1, "random", ALONE, dir .. "/alone")
print((" 1 in flight, random      %6.2f pulls/s    1.0x  (%d pulls)"):format(one, ALONE))
for _, policy in ipairs { "random", "kernelband" } do
  local _, short_s = run(16, policy, SHORT, ("%s/%s-short"):format(dir, policy))
  local per_s, long_s = run(16, policy, LONG, ("%s/%s-long"):format(dir, policy))
  print(("16 in flight, %-10s  %6.2f pulls/s  %5.1fx  %.2f ms of CPU a proposal of %d events: "
         .. "%.2f marginal (%d pulls beside %d)"):format(policy, per_s, per_s / one,
        1e3 * long_s / LONG, EVENTS, 1e3 * (long_s - short_s) / (LONG - SHORT), LONG, SHORT))
end
os.execute("rm -rf '" .. dir .. "'")
server.clean()
