-- search/setup.lua - what kb.search starts from: its options checked, and the parts
-- they name put together into one state.

local core      = require "kernelband.core"
local json      = require "kernelband.base.json"
local device    = require "kernelband.task.device"
local policies  = require "kernelband.policy"
local progress  = require "kernelband.search.progress"
local rewards   = require "kernelband.policy.reward"
local fingerprint = require "kernelband.store.fingerprint"
local landing   = require "kernelband.search.landing"
local loop      = require "kernelband.base.loop"
local mixed     = require "kernelband.generator.mixed"
local money     = require "kernelband.search.money"
local run       = require "kernelband.store.run"
local schema    = require "kernelband.base.schema"
local schedule  = require "kernelband.generator.schedule"
local steer     = require "kernelband.search.steer"
local strategy  = require "kernelband.policy.strategy"
local tasks     = require "kernelband.task"
local waiting   = require "kernelband.search.waiting"

local setup = {}

local budget_rules = {
  { "steps", "integer", optional = true, at_least = 1, doc = "pulls" },
  { "minutes", "number", optional = true, at_least = 0, doc = "wall-clock time, in minutes" },
  { "usd", "number", optional = true, at_least = 0, doc = "US dollars paid for model calls" },
  { "tokens", "integer", optional = true, at_least = 0, doc = "tokens sent and received" },
}

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
  { "out", "string", optional = true,
    doc = "the run folder to write; without it nothing is kept",
    check = function(s) return s ~= "", "the path of a folder" end },
  { "quiet", "boolean", optional = true, doc = "true: print nothing" },
  { "retry", "number", default = 5, at_least = 0,
    doc = "seconds until an unreachable generator is tried again" },
  { "confirm", "boolean", default = true,
    doc = "measure the best kernels again at the end, in a fresh process" },
  { "on_pull", "function", optional = true, doc = "function(pull), called when a pull ends" },
  { "lane", "integer", optional = true, doc = "the processor to time on; kb.search_all sets it" },
  { "progress", "string", optional = true, one_of = { "auto", "always", "never", "json" },
    doc = "how progress is shown; else as kernelband run --progress says" },
})

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
    local env = task.environment { parallel = opt.parallel, seed = opt.seed, device = opt.device,
                                   workers = opt.workers }
    return { evaluator = env.evaluator, generator = env.generator,
             strategies = env.strategies, source = env.source, ext = env.ext or "txt" }
  end
  local language
  opt.device, language = device.resolve(opt.device, task)
  if opt.lane and opt.device == "cpu" then
    local cpus = core.system.cpus()
    opt.device = "cpu:" .. cpus[#cpus + 1 - opt.lane]
  end
  task = tasks.for_language(task, language)
  opt.task = task
  return { source = tasks.source(task, "baseline"), ext = language == "c" and "c" or "cu",
           strategies = not opt.strategies and strategy.set("strategies/" .. language) or nil,
           generator = schedule.new {}, evaluator = function()
    local evaluator, text = require("kernelband.worker").start {
      task = task, device = opt.device, parallel = opt.parallel,
      workers = opt.workers, seed = opt.seed }
    if not evaluator then error(text, 0) end
    return evaluator
  end }
end

local most_declined <const> = 2         -- NOT APPLICABLE answers, then a pair is closed

-- Whether strategy i has something left for a kernel: steering's word for it, the answers
-- so far, its own word, asked once a kernel, and the generator's.
local function opener(S)
  local name, applies, answers = {}, {}, {}
  local always = S.generator.always     -- policies ask of all pairs there are
  function S.closed_by_answers(kernel, strategy_name)
    local n = S.declined and S.declined[landing.pair(kernel, strategy_name)]
    return n ~= nil and n >= most_declined
  end
  for i, s in ipairs(S.strategies) do
    name[i], applies[i] = s.name, s.applies
    always = always and not s.applies
  end
  return function(kernel, i, without_generator)
    if S.steer.narrows and not S.steer.open(kernel, name[i])
       or S.declined and S.closed_by_answers(kernel, name[i]) then return false end
    if always then return true end
    if applies[i] then
      local known = answers[kernel]
      if not known then
        known = {}
        answers[kernel] = known
      end
      if known[i] == nil then known[i] = applies[i](kernel) and true or false end
      if not known[i] then return false end
    end
    return without_generator or S.generator.open(kernel, S.strategies[i])
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
  local file = a[0] and core.system.realpath(a[0])
  return file, file and core.system.read_file(file), args
end

local function open_journal(opt, S, env)
  if not opt.out then return run.open {} end
  local file, text, args = script()
  local hashes = fingerprint.of(S)
  hashes.script = text and core.system.hash(text)
  return run.open {
    out = opt.out, ext = env.ext, seed = opt.seed, script = file, script_text = text,
    args = args, version = require("kernelband.base.version"), machine = core.system.host(),
    hashes = hashes, task = S.task, memory = S.policy.memory,
    options = { budget = S.budget, device = opt.device, parallel = opt.parallel,
                workers = opt.workers, tune = opt.tune, out = opt.out, confirm = opt.confirm },
    identity = {
      task = S.task.name, strategies = names(S.strategies),
      policy = S.policy.name, params = json.encode(S.policy.params),
      generator = S.generator.identity or S.generator.name,
      parallel = tostring(opt.parallel), seed = tostring(opt.seed),
      baseline = core.system.hash(env.source) },
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
      if owned[move] or move == "*" then return end
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

-- The script's budget, or what `kernelband resume --steps ..` says in its place.
local function budget_of(opt)
  local b = opt.budget
  local _, on = nil, nil
  if opt.out then _, on = run.place(opt.out) end
  for name, value in pairs(on and on.budget or {}) do b[name] = value end
  if not (b.steps or b.minutes or b.usd or b.tokens) then
    schema.raise_at_call("kb.search", "option 'budget' needs steps, minutes, usd or tokens")
  end
  return b
end

local function new_state(opt, L, view)
  local S = {
    task = opt.task, budget = budget_of(opt), parallel = opt.parallel, seed = opt.seed,
    policy = resolve_policy(opt.policy), confirm = opt.confirm, tune = opt.tune,
    pause_ns = opt.retry * 1e9 // 1 | 0,
    on_cpu = not opt.task.environment and opt.device:find "^cpu" ~= nil,
    on_pull = opt.on_pull, rng = core.rng(opt.seed):split "generator", loop = L, polls = {},
    pool = {}, known = {}, tried = {}, kinds = {}, rows = {}, history = {},
    measured = {}, made = {}, index = {}, verdicts = {}, arms = {}, flying = {},
    pending = 0, oldest = 1, chosen = 0, landed = 0, replayed = 0,
  }
  S.quiet = opt.quiet
  if S.quiet == nil then
    S.quiet = S.task.environment ~= nil and not S.task.worker_argv
              and (opt.progress or progress.mode()) == "auto"
  end
  S.progress = view or progress.new { quiet = S.quiet, mode = opt.progress }
  function S.replaying() return S.replayed < #S.journal.order end
  return S
end

local function add_generator(S, opt, env)
  S.strategies = opt.strategies and strategy.set(opt.strategies) or env.strategies
  for i, s in ipairs(S.strategies) do S.arms[s.name], S.index[s.name] = 0, i end
  local generator = mixed.of(opt.generator or env.generator)
  check_generator(generator)
  if generator.name == "schedule" and S.task.schedule then
    check_moves(S.task, S.strategies)
  end
  S.generator = generator
  if generator.start then
    S.generator = generator.start(S.task, {
      loop = S.loop, seed = opt.seed, budget = function() return S.money.left() end,
      journal = { call = function(record) return S.journal.call(record) end,
                  answer = function(kind) return S.journal.answer and S.journal.answer(kind) end },
      device = function() return S.machine end,
      baseline = function() return S.baseline_evaluation end,
      chosen = function() return S.chosen end,
      note = function(text) S.progress.note(text) end,
    })
  end
  if S.budget.usd and S.generator.priced == false then
    schema.raise_at_call("kb.search", "budget.usd cannot be kept: the prices of generator %s "
      .. "are not known; give it prices = { .. }, or use budget.tokens or budget.steps",
      S.generator.name)
  end
end

local function start_clock(S)
  local began, before = core.system.now_ns(), 0
  function S.session_s() return (core.system.now_ns() - began) / 1e9 end
  S.elapsed_s = S.journal.elapsed_s or function() return before + S.session_s() end
end

local most_logged = 10000               -- lines of a search

-- ctx.log of policies: events of the journal. A run that goes on says all again, and what
-- was said before the stop is there already.
local function logger(S)
  local early, count = {}, 0
  local function add(text)
    if early then
      early[#early + 1] = text
      return
    end
    count = count + 1
    if count <= S.journal.logged or count > most_logged then return end
    S.journal.event("policy", ("after %d pulls: %s"):format(S.landed, text))
  end
  local function opened()
    local list = early
    early = nil
    for _, text in ipairs(list) do add(text) end
  end
  return add, opened
end

-- L, view: the loop to run in and where to show how it goes, when several searches
-- share them.
function setup.search(options, L, view)
  local opt = schema.options(options, rules, "kb.search")
  local env = environment(opt)
  local S = new_state(opt, L or loop.new(), view)
  waiting.new(S)
  add_generator(S, opt, env)
  local memory = opt.out and S.policy.memory and run.memory(opt.out)
  if memory and memory ~= S.policy.memory then
    S.policy = S.policy.recalling(memory)
    S.progress.note "the memory has changed; the run goes on with the one it was begun with"
  end
  S.reward, S.rewarded = reward_of(opt, S.policy), opt.reward ~= nil
  S.open = opener(S)
  S.baseline_source = env.source
  local log, journal_opened = logger(S)
  S.brain = S.policy.new {
    log = log,
    strategies = S.strategies, rng = core.rng(opt.seed):split "policy",
    device = opt.device, open = S.open,
    static = S.generator.static,
    name = ("%s %s"):format(opt.task.name, opt.task.device or opt.device or "?"),
    moves = S.generator.moves and function(k, i)
      return S.generator.moves(k, S.strategies[i])
    end or nil,
  }
  S.journal = open_journal(opt, S, env)
  start_clock(S)
  journal_opened()
  S.money = money.new(S)
  S.steer = steer.new(S)
  waiting.patience(S, opt.patience * 60)
  local lost = S.journal.lost
  if lost then S.money.spend(lost.usd, lost) end
  if lost and lost.uncounted then S.money.uncounted() end
  for _, usd in ipairs(S.journal.recalled or {}) do S.money.recall(usd or nil) end
  local evaluator = env.evaluator
  if type(evaluator) == "function" then
    local ok
    ok, evaluator = pcall(evaluator)
    if not ok then
      S.journal.close()
      error(evaluator, 0)
    end
  end
  S.attach(evaluator)
  return S
end

return setup
