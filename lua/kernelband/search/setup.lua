-- search/setup.lua - what kb.search starts from: its options checked, and the values that a
-- search holds (search.lua names them) made of the parts they name.

local lists     = require "kernelband.base.lists"
local core      = require "kernelband.core"
local json      = require "kernelband.base.json"
local loop      = require "kernelband.base.loop"
local policies  = require "kernelband.policy"
local schema    = require "kernelband.base.schema"
local schedule  = require "kernelband.generator.schedule"
local state     = require "kernelband.search.state"
local strategy  = require "kernelband.policy.strategy"
local tasks     = require "kernelband.task"

local setup = {}

local function nothing() end

-- Not loaded by a search that is quiet, or has no folder.
local function progress() return require "kernelband.search.progress" end
local function run() return require "kernelband.store.run" end

local budget_rules = {
  { "steps", "integer", optional = true, at_least = 1, doc = "pulls" },
  { "minutes", "number", optional = true, at_least = 0, doc = "wall-clock time, in minutes" },
  { "usd", "number", optional = true, at_least = 0, doc = "US dollars paid for model calls" },
  { "tokens", "integer", optional = true, at_least = 0, doc = "tokens sent and received" },
}

-- Options of kb.search_all, too.
setup.quiet = { "quiet", "boolean", optional = true, doc = "true: print nothing" }
setup.progress = { "progress", "string", optional = true,
                   one_of = { "auto", "always", "never", "json" },
                   doc = "how progress is shown; else as kernelband run --progress says" }

local rules = schema.declare("kb.search", {
  { "task", "table", doc = "kb.task(DIR) or kb.synthetic{}", check = function(t)
      return t.environment ~= nil or t.dir ~= nil and t.shapes ~= nil,
        "what kb.task, kb.trace or kb.synthetic returns" end },
  { "device", "string", default = "auto",
    doc = "\"cpu\", \"cpu:N\", \"cuda:N\", or \"auto\": a GPU that the task has kernels for" },
  { "strategies", { "string", "table" }, optional = true,
    doc = "a folder, or a list of files and strategies; else strategies/c or strategies/cuda" },
  { "policy", { "string", "table" }, default = "policies/kernelband.lua",
    doc = "a policy file, or what kb.policy returns" },
  { "generator", "table", optional = true,
    doc = "who writes candidates, or a list of such; else the task's schedule" },
  { "reward", "function", optional = true,
    doc = "function(parent, child, verdict) returning a number; else the policy's" },
  { "budget", "table", rules = budget_rules,
    doc = "{ steps =, minutes =, usd =, tokens = }, at least one of them" },
  { "parallel", "integer", default = 1, at_least = 1, at_most = 1024,
    doc = "pulls under way at once" },
  { "workers", "integer", optional = true, at_least = 1, at_most = 64,
    doc = "processes that evaluate" },
  { "tune", "integer", default = 12, at_least = 0, at_most = 128,
    doc = "evaluations a pull may spend on constants its source declares" },
  { "patience", "number", default = 5, at_least = 0,
    doc = "minutes to wait for a generator that cannot be reached" },
  { "seed", "integer", default = 1, doc = "the same seed makes the same choices" },
  { "out", "string", optional = true, doc = "the run folder to write; without it nothing is kept",
    check = function(s) return s ~= "", "the path of a folder" end },
  setup.quiet,
  { "retry", "number", default = 5, at_least = 0,
    doc = "seconds until an unreachable generator is tried again" },
  { "confirm", "boolean", default = true,
    doc = "measure the best kernels again at the end, in a fresh process" },
  { "on_pull", "function", optional = true, doc = "function(pull), called when a pull ends" },
  { "lane", "integer", optional = true, doc = "the processor to time on; kb.search_all sets it" },
  setup.progress,
})

-- A task of ours ----------------------------------------------------------------------

-- An environment brings its own evaluator, generator and strategies; a task of ours gets
-- workers and, unless told otherwise, its schedule. evaluator: one, or function(loop).
local function environment(opt)
  if opt.task.environment then return opt.task.environment(opt) end
  local language
  opt.device, language = tasks.device(opt.device, opt.task)
  if opt.lane and opt.device == "cpu" then
    local cpus = core.system.cpus()
    opt.device = "cpu:" .. cpus[#cpus + 1 - opt.lane]
  end
  opt.task = tasks.for_language(opt.task, language)
  return { source = tasks.source(opt.task, "baseline"), ext = language == "c" and "c" or "cu",
           strategies = not opt.strategies and strategy.set("strategies/" .. language) or nil,
           generator = schedule.new {}, evaluator = function(L)
    return require("kernelband.worker").start(lists.with(opt, { loop = L }))
  end }
end

-- The journal --------------------------------------------------------------------------

-- Of a search that leaves no trace on disk, for ablations.
local function unwritten()
  local began = core.system.now_ns()
  local journal = { order = {}, last = 0, logged = 0, lost_pulls = {}, notes = {}, recalled = {},
                    lost = { usd = 0 }, before_s = 0 }
  function journal.elapsed_s() return (core.system.now_ns() - began) / 1e9 end
  for name in ("past baseline pull call confirm machine event best state finish fail close")
              :gmatch "%a+" do journal[name] = nothing end
  return journal
end

local function open_journal(opt, s, policy, env)
  if not opt.out then return unwritten() end
  local words = rawget(_G, "arg") or {}
  local script = words[0] and core.system.realpath(words[0])
  local text = script and core.system.read_file(script)
  local hashes = require("kernelband.store.archive").fingerprint(s.task, policy.file, s.strategies)
  hashes.script = text and core.system.hash(text)
  return run().open {
    out = opt.out, ext = env.ext or "txt", seed = opt.seed, script = script, script_text = text,
    args = lists.collect(words, tostring), version = require "kernelband.base.version",
    machine = core.system.host(), hashes = hashes, task = s.task, memory = policy.memory,
    options = { budget = s.budget.limits, device = opt.device, parallel = opt.parallel,
                workers = opt.workers, tune = opt.tune, out = opt.out, confirm = opt.confirm },
    identity = {
      task = s.task.name, strategies = table.concat(lists.collect(s.strategies, "name"), " "),
      policy = policy.name, params = json.encode(policy.params),
      generator = s.generator.identity or s.generator.name,
      parallel = tostring(opt.parallel), seed = tostring(opt.seed),
      baseline = core.system.hash(env.source) },
  }
end

-- What people say to the search; nothing reaches one that has no folder.
local nothing_said <const> = { hints = {}, paused = false, look = nothing, unpause = nothing,
                               open = function() return true end, narrows = nothing }

-- The generator --------------------------------------------------------------------------

local function check_generator(generator)
  if type(generator.start) == "function" then return end
  for _, name in ipairs { "open", "propose", "seen" } do
    schema.must_at_call(type(generator[name]) == "function", "kb.search",
      "option 'generator' must be a kb.generator, or a table with the functions open, propose and "
      .. "seen; '%s' is %s", name, schema.show(generator[name]))
  end
end

-- A set that owns no parameter of the schedule would end at once, without a word.
local function check_moves(task, strategies)
  local known, moves = lists.collect(task.schedule.parameters, function(p) return p[1] end), {}
  for _, s in ipairs(strategies) do
    for _, move in ipairs(s.moves) do
      if move == "*" or lists.contains(known, move) then return end
      moves[#moves + 1] = move
    end
  end
  schema.raise_at_call("kb.search", "no strategy moves a parameter of %s: the moves are { %s }, "
    .. "the parameters { %s }", task.schedule.file or task.name, table.concat(moves, ", "),
    table.concat(known, ", "))
end

local function start_generator(s, opt, env)
  local given = opt.generator or env.generator
  if #given > 0 then given = require("kernelband.generator.mixed").new(given) end
  check_generator(given)
  if given.name == "schedule" and s.task.schedule then check_moves(s.task, s.strategies) end
  local generator = given.start and given.start(s.task, {
    loop = s.loop, seed = opt.seed, budget = function() return s.budget.left() end,
    answered = function(kind) return s.journal.answer and s.journal.answer(kind) end,
    device = s.machine, baseline = function() return s.pool.baseline_evaluation end,
    chosen = function() return s.flights.chosen end, note = s.note,
  }) or given
  schema.must_at_call(not s.budget.limits.usd or generator.priced ~= false, "kb.search",
    "budget.usd cannot be kept: the prices of generator %s are not known; give it "
    .. "prices = { .. }, or use budget.tokens or budget.steps", generator.name)
  return generator
end

-- The policy ---------------------------------------------------------------------------

local function resolve_policy(given)
  if type(given) == "string" then return policies.load(given) end
  if type(given.new) == "function" then return given end
  schema.raise_at_call("kb.search", "option 'policy' must be a path or kb.policy(..), got %s",
                       schema.show(given))
end

-- A run keeps the memory it was begun with.
local function with_first_memory(policy, opt, note)
  local memory = opt.out and policy.memory and run().memory(opt.out)
  if not memory or memory == policy.memory then return policy end
  note "the memory has changed; the run goes on with the one it was begun with"
  return policy.recalling(memory)
end

local most_logged = 10000               -- lines of a search

local function start_policy(s, policy, opt)
  local generator, logged = s.generator, 0
  return policy.new {
    strategies = s.strategies, rng = core.rng(opt.seed):split "policy", device = opt.device,
    open = s.open_pairs.open,
    name = ("%s %s"):format(opt.task.name, opt.task.device or opt.device or "?"),
    moves = generator.moves and function(k, i) return generator.moves(k, s.strategies[i]) end,
    -- An event of the journal. A resumed run says all again, and what was said before the stop
    -- is there already.
    log = function(text)
      logged = logged + 1
      if logged > s.journal.logged and logged <= most_logged then
        s.journal.event("policy", ("after %d pulls: %s"):format(s.history.landed, text))
      end
    end,
  }
end

-- The whole -----------------------------------------------------------------------------

-- The script's budget, or what `kernelband resume --steps ..` says in its place.
local function limits_of(opt)
  local on = opt.out and select(2, run().place(opt.out))
  local limits = lists.with(opt.budget, on and on.budget)
  if next(limits) then return limits end
  schema.raise_at_call("kb.search", "option 'budget' needs steps, minutes, usd or tokens")
end

-- Quiet unless told otherwise: a task that costs no time.
local function is_quiet(opt)
  if opt.quiet ~= nil then return opt.quiet end
  return opt.task.environment ~= nil and not opt.task.worker_argv
         and (opt.progress or progress().mode()) == "auto"
end

local silent <const> = setmetatable({}, { __index = function() return nothing end })

local function new_search(opt, policy, L, view)
  local s = {
    task = opt.task, seed = opt.seed, rng = core.rng(opt.seed):split "generator",
    parallel = opt.parallel, tune = opt.tune, confirm = opt.confirm, on_pull = opt.on_pull,
    quiet = is_quiet(opt), loop = L, bell = state.bell(L),
    pool = state.pool(not opt.task.environment),
    flights = { chosen = 0, lost = 0 }, ended = {},
    history = { rows = {}, of_parent = {}, measured = {}, made = {}, verdicts = {}, arms = {},
                landed = 0 },
    reward = opt.reward or (policies.rewards[policy.reward] or policies.rewards.relative) {},
  }
  s.view = view or s.quiet and silent or progress().new { mode = opt.progress }
  s.budget = state.budget(limits_of(opt), function() return s.journal.elapsed_s() end)
  function s.replaying() return s.history.landed < #s.journal.order end
  -- The device, as its worker describes it; before one is ready, as the journal has it.
  function s.machine()
    return s.evaluator.machine and s.evaluator.machine() or s.journal.recorded_machine
  end
  function s.status() return progress().status(s) end
  function s.note(text) s.view.note(view and s.task.name .. ": " .. text or text) end
  return s
end

-- What answers at once answers several pulls as one worker would, one a turn of the loop:
-- a pull that needs no evaluation may so end before those chosen earlier.
local function one_a_turn(L, evaluate)
  local worker = require("kernelband.base.jobs").places(L, 1)
  return function(candidate, how)
    return worker.use(function()
      local ok, why, code = L:sleep(0)
      if not ok then return nil, why, code end
      return evaluate(candidate, how)
    end)
  end
end

-- L, view: the loop to run in and where to show how it goes, when several searches
-- share them. Then what is said names its task.
function setup.search(options, L, view)
  local opt = schema.options(options, rules, "kb.search")
  local env = environment(opt)
  local policy = resolve_policy(opt.policy)
  local s = new_search(opt, policy, L or loop.new(), view)
  s.strategies, s.index = opt.strategies and strategy.set(opt.strategies) or env.strategies, {}
  for i, one in ipairs(s.strategies) do s.history.arms[one.name], s.index[one.name] = 0, i end
  s.generator = start_generator(s, opt, env)
  s.tried = s.generator.asks and require "kernelband.generator.tried"
  s.baseline_source = env.source
  policy = with_first_memory(policy, opt, s.note)
  s.open_pairs = state.open_pairs(s)
  s.journal = open_journal(opt, s, policy, env)
  s.steering = s.journal.folder and require("kernelband.search.steer").new(s) or nothing_said
  s.retries = state.retries(s, opt.patience * 60, opt.retry * 1e9 // 1 | 0)
  -- What calls cost whose pulls were never recorded, and what recorded answers once cost.
  s.budget.spend(s.journal.lost.usd, s.journal.lost)
  s.budget.tokens_unknown = (s.journal.lost.uncounted or 0) > 0 or nil
  for _, usd in ipairs(s.journal.recalled) do s.budget.recall(usd or nil) end
  local ok, why = xpcall(function()
    s.policy = start_policy(s, policy, opt)
    local waits = type(env.evaluator) == "function"
    s.evaluator = waits and env.evaluator(s.loop) or env.evaluator
    s.evaluate = s.evaluator.evaluate
    if not waits and s.parallel > 1 then s.evaluate = one_a_turn(s.loop, s.evaluate) end
  end, schema.trace_own)
  if not ok then
    s.journal.fail("failed", tostring(why))
    s.journal.close()
    error(why, 0)
  end
  return s
end

return setup
