-- generator/told.lua - what a search keeps of each pull so that a model can be told of it: what its
-- kernel measured, what it changed, what that brought against its parent. All of it follows
-- from the journal, so a resumed search tells the same.
local changes = require "kernelband.base.changes"
local lists   = require "kernelband.base.lists"

local told = {}

-- Of an evaluation: what is said of a kernel. nil where there are no times by shape.
function told.measured(evaluation)
  local shapes, evidence = evaluation.shapes, evaluation.evidence or {}
  if type(shapes) ~= "table" or not shapes[1] or not shapes[1].time_ns then return nil end
  local timed = lists.collect(shapes, function(s) return (s.role or "timed") == "timed" and s end)
  return { hot = evidence.hot, remarks = evidence.remarks, shapes = timed }
end

-- How many times as fast as its parent: { ratio, low, high, paired }. Side by side where the
-- two were timed so; else by their gains over the baseline, whose intervals' logarithms add
-- in quadrature.
function told.gain(parent, child, evaluation)
  local pair, ratio = evaluation.against, child.speedup / parent.speedup
  if pair and pair.kernel == parent.id and pair.speedup then
    return { ratio = pair.speedup, low = pair.low, high = pair.high, paired = true }
  end
  local function off(edge, other)       -- the logarithm of the way to an end of the interval
    return math.sqrt(math.log(child[edge] / child.speedup) ^ 2
                     + math.log(parent[other] / parent.speedup) ^ 2)
  end
  if evaluation.screened then return { ratio = ratio } end
  return { ratio = ratio, low = ratio * math.exp(-off("speedup_low", "speedup_high")),
           high = ratio * math.exp(off("speedup_high", "speedup_low")) }
end

-- Settings of open constants that a pull tried: { params, time_ns | verdict }, in order; nil
-- when there was but one. evaluation_of(attempt) gives an attempt's.
function told.tuned(attempts, evaluation_of)
  local _, first = lists.find(attempts, function(a) return a.kind == "tune" end)
  return first and lists.collect(attempts, function(a, i)
    local e = i >= first - 1 and evaluation_of(a)
    return e and { params = a.candidate.params, verdict = e.verdict,
                   time_ns = e.verdict == "ok" and e.time_ns or nil }
  end)
end

-- The row of a pull that has landed, beside what it has already.
function told.row(row, p, evaluation_of)
  local tried = p.kept or p.attempts[#p.attempts]
  for _, a in ipairs(p.attempts) do row.repaired = row.repaired or a.kind == "repair" end
  if tried then
    row.change = changes.of(p.parent.source, tried.candidate.source, p.parent.params,
                            tried.candidate.params, evaluation_of(tried).declared ~= nil)
  end
  if p.child then row.gain = told.gain(p.parent, p.child, p.evaluation) end
  row.tuned = told.tuned(p.attempts, evaluation_of)
end

return told
