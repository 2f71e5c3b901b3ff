-- search/search.lua - kb.search. One pull, from choice to learning:
--   choose    the policy picks a kernel of the pool and a strategy      choose
--   propose   the generator makes a child of it                         pull.lua, propose
--             what a model is asked                                     generator/prompt.in
--   evaluate  a worker builds, checks and times the child               pull.lua, evaluate
--             what its verdict is                                       evaluate/init.lua, judge
--   record    the child joins the pool, the pull the journal            record
--   learn     the policy hears what came of it                          learn
-- Up to `parallel` pulls are under way; the policy is told which, and learns from each
-- that is recorded. The loop, run_pulls: choose until as many are under way, record one, choose.
--
-- Resuming is the same loop: choices are made anew and must agree with the
-- journal, results come from the journal while it lasts, in the order in which
-- they were recorded. So there is one path, and a resumed run equals one that was never
-- stopped.
--
-- s, the search (setup.lua makes it):
--   task, strategies, policy, generator, evaluator   whom it asks
--   pool             the verified kernels                  state.lua
--   budget, journal  what it may spend, where it writes    state.lua, store/journal.lua
--   flights, ended   pulls under way; those of them that wait to be recorded
--   history          rows, verdicts and counts of the pulls recorded
--   open_pairs       pairs of kernel and strategy that may be chosen
--   steering         what kernelband steer asked for       steer.lua
--   retries          waits while the generator's service refuses
--   view, note, status   what is shown
--   loop, bell       the event loop; what wakes a search that waits

local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local finish = require "kernelband.search.finish"
local loop   = require "kernelband.base.loop"
local pulls  = require "kernelband.search.pull"
local schema = require "kernelband.base.schema"
local setup  = require "kernelband.search.setup"

local search = {}

local interrupts = core.system.interrupts

-- Limits ---------------------------------------------------------------------------

local function cancel_all(s)
  for _, p in ipairs(s.flights) do pulls.cancel(p) end
end

-- how: interrupted, steered, paused. What is being measured is measured to its end.
local function stop(s, how)
  if s.stopping then return end
  s.stopping = how
  if how == "paused" then
    search.refused = true
    if s.quiet then io.stderr:write(s.retries.reason, "\n") end
  end
  cancel_all(s)
end

-- What people say, the budget, an interrupt, a service that refuses for too long.
local function check_limits(s)
  if s.steering.look() then stop(s, "steered") end
  s.budget.check()
  if s.replaying() then return end
  if interrupts() > 0 and not s.stopping then
    stop(s, "interrupted")
    if s.flights[1] then s.note "finishing the evaluations in hand; Ctrl-C again stops now" end
  end
  if s.retries.expired() then stop(s, "paused") end
  if s.budget.used_up() == "minutes" then cancel_all(s) end
end

-- Choose ---------------------------------------------------------------------------

local function may_choose(s)
  local flights, steps = s.flights, s.budget.limits.steps
  -- With --force fewer may be under way now than when the journal was written: what was recorded
  -- next may not have been chosen yet.
  local behind = s.journal.forced and s.replaying()
                 and flights.chosen < s.journal.order[s.history.landed + 1]
  if #flights >= s.parallel and not behind then return false end
  if s.stopping or s.steering.paused then return false end
  if flights.chosen < s.journal.last then return true end
  if steps and flights.chosen - flights.lost >= steps then return false end
  return s.replaying() or interrupts() == 0 and not s.budget.used_up()
end

-- A new pull, under way; nil when the policy has nothing left.
local function choose(s)
  local flights = s.flights
  local parent, strategy, terms = s.policy.choose(#flights, flights)
  if parent == nil then
    if not (s.journal.forced and s.journal.past(flights.chosen + 1)) then
      s.exhausted = #flights == 0
      return nil
    end
    parent, strategy = s.pool[1], 1     -- the journal knows which it was
  end
  local p = { n = flights.chosen + 1, parent = parent, strategy = strategy, terms = terms,
              strategy_name = s.strategies[strategy].name }
  flights[#flights + 1], flights.chosen = p, p.n
  return p
end

-- Record ---------------------------------------------------------------------------

local function reward_of(s, p)
  if p.verdict == "not_applicable" then return 0 end
  local r = s.reward(p.parent, p.child, p.verdict)
  if type(r) == "number" and r == r and math.abs(r) ~= math.huge then return r end
  local info = debug.getinfo(s.reward, "S")
  schema.raise("%s:%d: the reward of pull %d (%s) must be a finite number, got %s",
               info.short_src, info.linedefined, p.n, p.verdict, schema.show(r))
end

-- The row of a pull: what a result lists, and what a model is told of those before.
local function add_row(s, p)
  local history, child = s.history, p.child or {}
  local row = { n = p.n, strategy = p.strategy_name, verdict = p.verdict, reason = p.reason,
                reward = p.reward, parent = p.parent.id, child = child.id,
                speedup = child.speedup, best_speedup = s.pool.best.speedup, terms = p.terms }
  if s.tried then
    s.tried.row(row, p)
    if row.child then history.made[row.child] = row end
  end
  history.rows[#history.rows + 1] = row
  history.of_parent[row.parent] = history.of_parent[row.parent] or {}
  table.insert(history.of_parent[row.parent], row)
  history.verdicts[p.verdict] = (history.verdicts[p.verdict] or 0) + 1
  history.arms[p.strategy_name] = (history.arms[p.strategy_name] or 0) + 1
end

-- A kernel joins the pool. Returns true when it is the best so far.
local function admit(s, kernel, evaluation)
  if s.tried then s.history.measured[kernel.id] = s.tried.measured(evaluation) end
  return s.pool:add(kernel, evaluation)
end

local function record(s, p)
  if p.kept then p.candidate, p.evaluation = p.kept.candidate, p.kept.evaluation end
  if p.row then
    s.budget.spend(p.cost.usd, { input = p.cost.tokens_in, output = p.cost.tokens_out })
  end
  if p.verdict == "ok" then
    p.child = s.pool:new_kernel(p.parent, p.strategy_name, p.candidate, p.evaluation)
  elseif p.verdict == "not_applicable" then
    s.open_pairs.decline(p.parent, p.strategy_name)
  end
  p.reward = p.reward or reward_of(s, p)
  p.landed = s.history.landed
  local best = p.child and admit(s, p.child, p.evaluation)
  if not p.row then
    s.journal.pull(p, p.attempts)
    if best then s.journal.best(p.child.source) end
  end
  if p.child and s.journal.source then s.pool:forget_source(p.child, s.journal.source) end
  add_row(s, p)
end

-- Learn ----------------------------------------------------------------------------

-- With --force a pull may be one that this policy would not choose: its error is ignored.
local function learn(s, p)
  local lesson = lists.with(p, { cost = { seconds = p.cost.seconds, usd = p.cost.usd },
    exhausted = p.verdict == "no_candidate", params = p.candidate and p.candidate.params })
  if not p.foreign then
    s.policy.learn(lesson)
  elseif p.strategy then
    pcall(s.policy.learn, lesson)
  end
  if p.child then s.policy.admit(p.child) end
end

-- The loop -------------------------------------------------------------------------

-- The pull that ends next: as the journal says while it lasts, then as they come. nil:
-- none has come to its end yet.
local function next_ended(s)
  if not s.flights[1] then return nil end
  if s.replaying() then
    local n = s.journal.order[s.history.landed + 1]
    return lists.find(s.flights, function(f) return f.n == n end)
      or schema.raise("%s: pull %d landed before it was chosen; the journal is damaged",
                      s.journal.folder, n)
  end
  local p = table.remove(s.ended, 1)
  if p and p.error then error(p.error, 0) end
  return p
end

-- A pull without verdict, reward or lesson: cancelled, or its worker was lost.
local function drop(s, p)
  if not p.lost then return end
  s.flights.lost, s.history.landed = s.flights.lost + 1, s.history.landed + 1
  if s.journal.lost_pulls[p.n] then return end
  local text = ("pull %d was not evaluated: %s"):format(p.n, p.lost)
  s.journal.event("not evaluated", ("%s @ %d"):format(text, s.history.landed))
  s.note(text)
end

local function finish_pull(s, p)
  loop.remove(s.flights, p)
  s.budget.check()
  pulls.release(s, p)
  if p.cancelled or p.lost then return drop(s, p) end
  s.history.landed = s.history.landed + 1
  record(s, p)
  learn(s, p)
  if s.on_pull then
    s.view.hide()
    s.on_pull(p)
  end
  if not p.row and not s.quiet then s.view.pull(s.status) end
end

-- Waits until a pull has ended or the pause changes. Returns false on a second Ctrl-C. While
-- steering holds the search and nothing is under way, its folder says so to others.
local function wait(s)
  local paused, idle = s.steering.paused, not s.flights[1]
  if idle then
    s.journal.state "paused"
    s.note "paused; kernelband steer .. continue goes on, stop ends it"
  end
  while not s.ended[1] and paused == s.steering.paused and not (idle and s.stopping) do
    if interrupts() > 1 then
      s.stopping = "interrupted"
      return false
    end
    s.bell.wait()
    check_limits(s)
    s.view.tick(s.status)
  end
  if idle then s.journal.state "running" end
  return true
end

local function run_pulls(s)
  while true do
    check_limits(s)
    if not s.replaying() then s.steering.unpause() end
    while may_choose(s) do
      local p = choose(s)
      if not p then break end
      pulls.start(s, p)                 -- propose, evaluate
    end
    local p = next_ended(s)
    if p then
      finish_pull(s, p)                 -- record, learn
    elseif s.flights[1] or s.steering.paused and not s.stopping then
      if not wait(s) then return end
    else
      return check_limits(s)
    end
  end
end

-- The whole ------------------------------------------------------------------------

local function measure_baseline(s)
  local evaluation, why = s.evaluator.baseline()
  if not evaluation then
    error(("the baseline of task %s cannot be measured: %s"):format(s.task.name, why), 0)
  elseif evaluation.verdict ~= "ok" then
    schema.raise("task %s: its own baseline is %s: %s", s.task.name, evaluation.verdict,
                 evaluation.reason or "no reason given")
  end
  return (pulls.as_journaled(s, evaluation))
end

-- Up to the baseline; kb.search_all has several of these before it goes on.
function search.begin(s)
  local journal, pool = s.journal, s.pool
  for _, note in ipairs(journal.notes) do s.note(note[1] .. ": " .. note[2]) end
  if journal.resumed then
    s.note(("%s: replaying %d pulls"):format(journal.folder, #journal.order))
  end
  local evaluation = journal.recorded_baseline or measure_baseline(s)
  pool.baseline_evaluation = evaluation
  pool.baseline_ns = evaluation.baseline_ns or evaluation.time_ns
  local kernel = pool:new_kernel(nil, nil, { source = s.baseline_source,
                                             params = s.generator.first }, evaluation)
  admit(s, kernel, evaluation)
  if not journal.recorded_baseline then
    journal.baseline(kernel, evaluation)
    if s.machine() then journal.machine(s.machine()) end
    journal.best(kernel.source)
  end
  s.policy.admit(kernel)
end

-- What is told when a search breaks off: why, and what of it is kept.
local function break_off(s, why)
  local text, recorded, folder = tostring(why), #s.history.rows, s.journal.folder
  if folder and recorded > 0 and not text:find("kernelband resume", 1, true) then
    text = ("%s%s%d pulls are kept; when this is mended, go on with: kernelband resume %s"):format(
      text, text:find("\n", 1, true) and "\n" or "; ", recorded, folder)
  end
  if schema.is_config_error(why) then schema.raise("%s", text) end
  schema.stop(text)
end

-- Ends what a search holds; why: it failed.
function search.close(s, why)
  s.view.close()
  cancel_all(s)
  s.evaluator.close()
  if why then s.journal.fail(interrupts() > 0 and "interrupted" or "failed", tostring(why)) end
  s.journal.close()
end

-- Runs a search that setup made to its end, whatever happens; raises its error.
function search.finish(s)
  local ok, result = xpcall(function()
    if not s.pool[1] then search.begin(s) end
    run_pulls(s)
    return finish.result(s)
  end, schema.trace_own)
  search.close(s, not ok and result)
  if not ok then break_off(s, result) end
  if s.stopping then return result end
  local kept, why = s.policy.finish(s.retimed)
  if not kept then
    io.stderr:write("kernelband: what was learned is not kept: ", tostring(why), "\n")
  end
  return result
end

-- kb.search(options) -> result; setup.lua says what the options are.
function search.run(options)
  schema.must(interrupts() == 0, "kb.search: interrupted, so no further search is started")
  return search.finish(setup.search(options))
end

return search
