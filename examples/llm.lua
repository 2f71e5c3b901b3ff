-- A search whose kernels come from a language model. Without a key it takes the
-- recorded answers of examples/answers and needs no network:
--   kernelband run examples/llm.lua [model] [steps]
-- With OPENAI_API_KEY or ANTHROPIC_API_KEY set and a model named, it asks that model.
local kb  = require "kernelband"
local run = require "kernelband.store.run"

local model = arg[1] or "recorded"
local steps = math.tointeger(tonumber(arg[2] or 8))

local function generator()
  if model == "recorded" then return kb.generator.replay { "examples/answers" } end
  local anthropic = os.getenv "ANTHROPIC_API_KEY" or not os.getenv "OPENAI_API_KEY"
  if anthropic and model:find "claude" then
    return kb.generator.llm { provider = "anthropic", model = model }
  end
  return kb.generator.llm { provider = "openai", model = model }
end

local best = kb.search {
  task       = kb.task "examples/tasks/matmul",
  device     = "cpu",
  strategies = kb.strategies "strategies/c",
  policy     = kb.policy "policies/kernelband.lua",
  generator  = generator(),
  budget     = { steps = steps, minutes = 30 },
  seed       = 1,
  out        = run.fresh "runs/llm",
}

print()
for _, row in ipairs(best.rows) do
  print(("%2d  %-14s %-13s %s"):format(row.n, row.strategy, row.verdict,
    row.speedup and ("%.1fx"):format(row.speedup) or (row.reason or ""):sub(1, 70)))
end
print()
print("best source  " .. best.source_path)
print("run folder   " .. best.run)
