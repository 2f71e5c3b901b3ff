-- search/status.lua - what a search tells about itself while it runs: the table that
-- progress.lua draws.

local core = require "kernelband.core"

local status = {}

-- The state a run ends in, by why it stopped.
status.ends = { interrupted = "interrupted", steered = "interrupted", paused = "paused" }

local doing = { proposing = "proposing", waiting = "waiting", evaluating = "evaluating",
                repairing = "repairing", tuning = "tuning" }

-- What each pull under way is at: { n, strategy, parent, stage, seconds }.
local function flights(S)
  local list = {}
  for n = S.oldest or 1, S.chosen do
    local p = S.flying[n]
    if p and not p.row then
      list[#list + 1] = { n = n, strategy = p.strategy_name, parent = p.parent.id,
                          stage = doing[p.stage] or "?", seconds = S.elapsed_s() - p.started_s }
    end
  end
  return list
end

local function workers(S)
  if not S.evaluator.state then return nil end
  local list, now = {}, core.system.now_ns()
  for i, w in ipairs((S.evaluator.state())) do
    list[i] = { device = w.device, state = w.state,
                seconds = w.since_ns and (now - w.since_ns) / 1e9 or 0 }
  end
  return list
end

function status.of(S)
  local last = S.rows[#S.rows]
  return {
    name = S.task.name, done = #S.rows, steps = S.budget.steps, minutes = S.budget.minutes,
    fresh = #S.rows - #S.journal.order, best = S.best.speedup, best_low = S.best.speedup_low,
    best_high = S.best.speedup_high, best_id = S.best.id, best_strategy = S.best.strategy,
    usd = S.money.usd, usd_unknown = S.money.unknown, recorded = S.generator.recorded,
    recorded_usd = S.money.recorded and S.money.recorded.usd, usd_budget = S.budget.usd,
    tokens = S.money.tokens.input + S.money.tokens.output, verdicts = S.verdicts,
    verdict = last and last.verdict, last = last and last.speedup,
    last_strategy = last and last.strategy, last_n = last and last.n,
    reason = last and last.reason, elapsed_s = S.elapsed_s(), session_s = S.session_s(),
    flights = flights(S), confirming = S.confirming, workers = workers(S), paused = S.paused_for,
  }
end

return status
