-- setup.lua - what kb.search starts from: its options checked, and the parts
-- they name put together into one state.

local core      = require "kernelband.core"
local json      = require "kernelband.json"
local device    = require "kernelband.device"
local policies  = require "kernelband.policy"
local progress  = require "kernelband.progress"
local rewards   = require "kernelband.reward"
local run       = require "kernelband.run"
local schema    = require "kernelband.schema"
local schedule  = require "kernelband.generator.schedule"
local strategy  = require "kernelband.strategy"
local tasks     = require "kernelband.task"

local setup = {}

local budget_rules = {
  { "steps", "integer", optional = true, at_least = 1, doc = "pulls" },
  { "minutes", "number", optional = true, at_least = 0 },
  { "usd", "number", optional = true, at_least = 0 },
}

local rules = {
  { "task", "table", doc = "kb.task(DIR) or kb.synthetic{}" },
  { "device", "string", default = "auto" },
  { "strategies", { "string", "table" }, optional = true },
  { "policy", { "string", "table" }, default = "policies/kernelband.lua" },
  { "generator", "table", optional = true },
  { "reward", "function", optional = true },
  { "budget", "table", rules = budget_rules,
    doc = "{ steps =, minutes =, usd = }, at least one of them" },
  { "parallel", "integer", default = 1, at_least = 1, at_most = 64 },
  { "seed", "integer", default = 1 },
  { "out", "string", optional = true,
    check = function(s) return s ~= "", "the path of a folder" end },
  { "quiet", "boolean", optional = true },
  { "confirm", "boolean", default = true },
  { "on_pull", "function", optional = true },
}

local function names(list)
  local out = {}
  for i, s in ipairs(list) do out[i] = s.name end
  return table.concat(out, " ")
end

-- Environment tasks bring their own evaluator, generator and strategies; a
-- real task gets a worker and, unless told otherwise, its schedule.
local function environment(opt)
  local task = opt.task
  if task.environment then
    local env = task.environment { parallel = opt.parallel, seed = opt.seed }
    return { evaluator = env.evaluator, generator = env.generator,
             strategies = env.strategies, source = env.source, ext = "txt" }
  end
  local language
  opt.device, language = device.resolve(opt.device, task)
  task = tasks.for_language(task, language)
  opt.task = task
  return { source = tasks.source(task, "baseline"), ext = language == "c" and "c" or "cu",
           strategies = not opt.strategies and strategy.set("strategies/" .. language) or nil,
           generator = schedule.new {}, evaluator = function()
    local evaluator, text = require("kernelband.worker").start {
      task = task, device = opt.device, parallel = opt.parallel,
      seed = opt.seed }
    if not evaluator then error(text, 0) end
    return evaluator
  end }
end

-- Whether strategy i has something left for a kernel: its own word for it,
-- asked once a kernel, and the generator's.
local function opener(strategies, generator)
  local applies = {}
  return function(kernel, i, without_generator)
    local s = strategies[i]
    if s.applies then
      local known = applies[kernel]
      if not known then
        known = {}
        applies[kernel] = known
      end
      if known[i] == nil then known[i] = s.applies(kernel) and true or false end
      if not known[i] then return false end
    end
    return without_generator or generator.open(kernel, s)
  end
end

local function reward_of(opt, policy)
  if opt.reward then return opt.reward end
  return policy.reward == "improvement" and rewards.improvement {}
         or rewards.relative {}
end

local function script()
  local a = rawget(_G, "arg") or {}
  local args = {}
  for i = 1, #a do args[i] = tostring(a[i]) end
  return a[0] and core.system.realpath(a[0]), args
end

local function open_journal(opt, S, source, ext)
  local file, args = script()
  return run.open {
    out = opt.out, ext = ext, seed = opt.seed, script = file, args = args,
    machine = opt.out and core.system.host() or nil,
    options = { budget = opt.budget, device = opt.device,
                parallel = opt.parallel },
    identity = opt.out and {
      task = S.task.name, strategies = names(S.strategies),
      policy = S.policy.name, params = json.encode(S.policy.params),
      generator = S.generator.name, parallel = tostring(opt.parallel),
      seed = tostring(opt.seed), baseline = core.system.hash(source) } or nil,
  }
end

local function check_generator(generator)
  if type(generator.start) == "function" then return end
  for _, name in ipairs { "open", "propose", "seen" } do
    if type(generator[name]) ~= "function" then
      schema.raise_at_call("kb.search", "option 'generator' must be a kb.generator, or a table "
        .. "with the functions open, propose and seen; '%s' is %s", name,
        schema.show(generator[name]))
    end
  end
end

-- A set that owns no parameter of the schedule would end at once, without a word.
local function check_moves(task, strategies)
  local known, owned = {}, {}
  for i, p in ipairs(task.schedule.parameters) do
    known[i], owned[p[1]] = p[1], true
  end
  local moves = {}
  for _, s in ipairs(strategies) do
    for _, move in ipairs(s.moves) do
      if owned[move] then return end
      moves[#moves + 1] = move
    end
  end
  schema.raise_at_call("kb.search", "no strategy moves a parameter of %s: the moves are { %s }, "
    .. "the parameters { %s }", task.schedule.file or task.name, table.concat(moves, ", "),
    table.concat(known, ", "))
end

local function resolve_policy(given)
  if type(given) == "string" then return policies.load(given) end
  if type(given.new) ~= "function" then
    schema.raise_at_call("kb.search", "option 'policy' must be a path or "
      .. "kb.policy(..), got %s", schema.show(given))
  end
  return given
end

function setup.search(options)
  local opt = schema.options(options, rules, "kb.search")
  local b = opt.budget
  if not (b.steps or b.minutes or b.usd) then
    schema.raise_at_call("kb.search",
                         "option 'budget' needs steps, minutes or usd")
  end
  local env = environment(opt)
  local S = {
    task = opt.task, budget = b, parallel = opt.parallel, seed = opt.seed,
    policy = resolve_policy(opt.policy), confirm = opt.confirm,
    on_pull = opt.on_pull, rng = core.rng(opt.seed):split "generator",
    baseline_source = env.source,
    pool = {}, in_pool = {}, known = {}, evaluation = {}, rows = {},
    verdicts = {}, arms = {}, waiting = {}, recorded = {},
    pending = 0, chosen = 0, landed = 0, replayed = 0, usd = 0,
  }
  S.strategies = env.strategies
  if opt.strategies then S.strategies = strategy.set(opt.strategies) end
  for _, s in ipairs(S.strategies) do S.arms[s.name] = 0 end
  local generator = opt.generator or env.generator
  check_generator(generator)
  if generator.name == "schedule" and S.task.schedule then
    check_moves(S.task, S.strategies)
  end
  S.generator = generator.start and generator.start(S.task) or generator
  S.reward = reward_of(opt, S.policy)
  S.open = opener(S.strategies, S.generator)
  S.quiet = opt.quiet
  if S.quiet == nil then S.quiet = S.task.environment ~= nil end
  S.progress = progress.new { quiet = S.quiet }
  S.brain = S.policy.new {
    strategies = S.strategies, rng = core.rng(opt.seed):split "policy",
    device = opt.device, open = function(k, i) return S.open(k, i) end,
  }
  S.journal = open_journal(opt, S, env.source, env.ext)
  for _, row in ipairs(S.journal.past) do S.recorded[row.n] = row end
  S.unlanded = #S.journal.past
  local began = core.system.now_ns()
  S.elapsed_s = S.journal.elapsed_s
    or function() return (core.system.now_ns() - began) / 1e9 end
  S.evaluator = env.evaluator
  if type(S.evaluator) == "function" then
    local ok, evaluator = pcall(S.evaluator)
    if not ok then
      S.journal.close()
      error(evaluator, 0)
    end
    S.evaluator = evaluator
  end
  return S
end

return setup
