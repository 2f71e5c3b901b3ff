-- search/status.lua - what a search tells about itself while it runs: the table that
-- progress.lua draws.

local collect = require("kernelband.base.lists").collect
local core = require "kernelband.core"

local status = {}

-- What each pull under way is at: { n, strategy, parent, stage, seconds }.
local function pulls_under_way(s)
  return collect(s.flights, function(p)
    return not p.row and { n = p.n, strategy = p.strategy_name, parent = p.parent.id,
      stage = p.stage or "?", seconds = s.clock.elapsed_s() - p.started_s }
  end)
end

local function workers_of(evaluator)
  if not evaluator.state then return nil end
  local now = core.system.now_ns()
  return collect((evaluator.state()), function(w)
    return { device = w.device, state = w.state,
             seconds = w.since_ns and (now - w.since_ns) / 1e9 or 0 }
  end)
end

function status.of(s)
  local budget, rows = s.budget, s.history.rows
  local limits, last, best = budget.limits, rows[#rows], s.pool.best
  return {
    name = s.task.name, done = #rows, steps = limits.steps, minutes = limits.minutes,
    fresh = #rows - #s.journal.order, best = best.speedup, best_low = best.speedup_low,
    best_high = best.speedup_high, best_id = best.id, best_strategy = best.strategy,
    usd = budget.usd, usd_unknown = budget.unknown, recorded = s.generator.recorded,
    recorded_usd = budget.recorded and budget.recorded.usd, usd_budget = limits.usd,
    tokens = budget.tokens.input + budget.tokens.output, verdicts = s.history.verdicts,
    verdict = last and last.verdict, last = last and last.speedup,
    last_strategy = last and last.strategy, last_n = last and last.n,
    reason = last and last.reason, elapsed_s = s.clock.elapsed_s(),
    session_s = s.clock.session_s(), flights = pulls_under_way(s), confirming = s.confirming,
    workers = workers_of(s.evaluator), paused = s.retries.reason,
  }
end

return status
