-- trace/walk.lua - the steps of a search in a recorded space: its start, the
-- neighbours it draws, the times it measures, what it learns of a kernel.
local core     = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence"
local json     = require "kernelband.base.json"
local lists    = require "kernelband.base.lists"
local space    = require "kernelband.trace.space"

local walk = {}

-- The start is drawn between these quantiles of valid configurations by time.
local start_from, start_to = 0.45, 0.95

-- The row a search of this seed starts from.
function walk.start_of(W, seed)
  if W.start then return W.start end
  local n = #W.ok
  local first = math.floor(start_from * n) + 1
  local last = math.max(first, math.floor(start_to * n))
  return W.ok[first + core.rng(seed):split("trace start"):below(last - first + 1)]
end

-- Neighbours ----------------------------------------------------------------------

-- Whether strategy s (of W.strategies) has a move from row i to a row that is not pending.
-- pending: rows under way as keys, or nil.
function walk.open(i, s, pending)
  for at = s.first[i], s.last[i] do
    local row = s.order[at]
    if row ~= i and not (pending and pending[row]) then return true end
  end
  return false
end

-- A neighbour of row i under strategy s, or nil: drawn evenly among those not pending.
function walk.draw(i, s, rng, pending)
  local first, last = s.first[i], s.last[i]
  if last == first then return nil end
  if pending and next(pending) then
    local free = lists.collect(table.move(s.order, first, last, 1, {}), function(row)
      return row ~= i and not pending[row] and row
    end)
    return free[1] and free[1 + rng:below(#free)]
  end
  local at = first + rng:below(last - first)
  return s.order[at < s.place[i] and at or at + 1]
end

-- The neighbour that is proposed: one draw, or the one of W.draws, of all where that is
-- math.huge, that prefer, a policy's word, points out.
function walk.propose(W, i, s, rng, prefer, pending)
  local row
  local drawn = { walk.draw(i, s, rng, pending) }
  if not drawn[1] or not prefer or W.draws < 2 then return drawn[1] end
  if W.draws == math.huge then
    local at = prefer((walk.moves(W, i, s)))
    row = at and s.order[s.first[i] + at - 1]
  else
    for n = 2, W.draws do drawn[n] = walk.draw(i, s, rng, pending) end
    row = drawn[prefer(lists.collect(drawn, function(one) return space.params(W, one) end)) or 1]
  end
  return row and row ~= i and not (pending and pending[row]) and row or drawn[1]
end

-- The parameters of the rows one draw from i under s may meet, row i's own among
-- them: one list a class of rows; that known ones may come again; and how many are
-- drawn, nil for all.
function walk.moves(W, i, s)
  local first, list = s.first[i], s.params[s.first[i]] or {}
  s.params[first] = list
  for at = first + #list, s.last[i] do list[at - first + 1] = space.params(W, s.order[at]) end
  return list, true, W.draws < math.huge and W.draws or nil
end

-- Evaluations ---------------------------------------------------------------------

-- What is known of row i without counters: axes of block sizes say a little.
local function of_axes(W, i)
  local x, y = W.block_x and W.block_x[i], W.block_y and W.block_y[i]
  x = type(x) == "number" and x or nil
  y = x and (type(y) == "number" and y or 1)
  return evidence.of { phi = {}, h = {},
    rho = { { 0, "measured" }, [4] = { x, "derived" }, [5] = { y, "derived" } },
    signature = { { 1, "measured" }, [4] = { x and math.min(1, x * y / 1024), "derived" } } }
end

-- What a search learns of row i: as recorded, and of its axes where the file has no counters. rho
-- begins with its log time, signature with T / T0.
function walk.evidence(W, i, time_ns, first_ns)
  W.known[i] = W.known[i] or lists.with(of_axes(W, i), json.table(W.evidence[i]))
  local e = lists.with(W.known[i])
  e.rho, e.signature = { table.unpack(e.rho) }, { table.unpack(e.signature) }
  e.rho[1], e.signature[1] = math.log(time_ns), time_ns / first_ns
  return e
end

-- For scripts: phi, rho, signature, h and their kinds.
function walk.of(...)
  local e = walk.evidence(...)
  return e.phi, e.rho, e.signature, e.h, { phi = e.phi_kind, rho = e.rho_kind, h = e.h_kind,
                                           signature = e.signature_kind }
end

-- An evaluation of row i beside the start, whose time is first_ns. Its time is a raw sample where
-- there is noise, the same for the same seed; without a seed the truth.
function walk.evaluation(W, i, first_ns, seed)
  if W.verdict[i] ~= "ok" then return { verdict = W.verdict[i], reason = W.reason[i] } end
  local time_ns, spread, samples = W.time_ns[i], W.spread[i], W.samples[i]
  if samples[2] and W.noise and seed then
    local root = core.rng(seed):split("trace noise"):below(1 << 62)
    time_ns = samples[1 + core.rng(root + i):below(#samples)]
  end
  local speedup = first_ns / time_ns
  return { verdict = "ok", time_ns = time_ns, baseline_ns = first_ns, speedup = speedup,
           speedup_low = speedup * (1 - 2 * spread), speedup_high = speedup * (1 + 2 * spread),
           shapes = {}, evidence = walk.evidence(W, i, time_ns, first_ns) }
end

return walk
