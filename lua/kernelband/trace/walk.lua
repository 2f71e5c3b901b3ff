-- trace/walk.lua - the steps of a search in a recorded space: its start, the
-- neighbours it draws, the times it measures, what it learns of a kernel.
local core  = require "kernelband.core"
local json  = require "kernelband.base.json"
local lists = require "kernelband.base.lists"
local space = require "kernelband.trace.space"

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

-- Whether strategy s has a move from row i to a row that is not pending. pending: rows under
-- way as keys, or nil.
function walk.open(W, i, s, pending)
  s = W.strategies[s]
  local first, last = s.first[i], s.last[i]
  if not pending or not next(pending) then return last > first end
  for at = first, last do
    local row = s.order[at]
    if row ~= i and not pending[row] then return true end
  end
  return false
end

-- A neighbour of row i under strategy s, or nil: drawn evenly among those not pending.
function walk.draw(W, i, s, rng, pending)
  s = W.strategies[s]
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
  local first = walk.draw(W, i, s, rng, pending)
  if not first or not prefer or W.draws < 2 then return first end
  if W.draws == math.huge then
    local at = prefer((walk.moves(W, i, s)))
    s = W.strategies[s]
    local row = at and s.order[s.first[i] + at - 1]
    return row and row ~= i and not (pending and pending[row]) and row or first
  end
  local drawn, params = { first }, { space.params(W, first) }
  for n = 2, W.draws do
    drawn[n] = walk.draw(W, i, s, rng, pending)
    params[n] = space.params(W, drawn[n])
  end
  return drawn[prefer(params) or 1]
end

-- The parameters of the rows one draw from i under s may meet, row i's own among
-- them: one list a class of rows; that known ones may come again; and how many are
-- drawn, nil for all.
function walk.moves(W, i, s)
  s = W.strategies[s]
  local first, list = s.first[i], s.params[s.first[i]] or {}
  s.params[first] = list
  for at = first + #list, s.last[i] do list[at - first + 1] = space.params(W, s.order[at]) end
  return list, true, W.draws < math.huge and W.draws or nil
end

-- Evaluations ---------------------------------------------------------------------

-- Where the noise of a search comes from; nil without any.
function walk.noise_root(W, seed)
  return W.noise and core.rng(seed):split("trace noise"):below(1 << 62) or nil
end

-- One raw sample of row i, the same for the same root; without one the truth.
local function measured(W, i, root)
  local samples = W.samples[i]
  if not samples or not root then return W.time_ns[i] end
  local at = core.rng(root + i):below(#samples // 8)
  return (string.unpack("<d", samples, 8 * at + 1))
end

local function fill(n, v)
  local out = {}
  for i = 1, n do out[i] = v end
  return out
end

local no_h_kind = { sm = "missing", dram = "missing", l2 = "missing" }
local no_phi, no_phi_kind = fill(9, 0), fill(9, "missing")

-- phi, rho, h and signature as recorded, else what follows from axes of block sizes.
local function known(W, i)
  local rho_kind, signature, signature_kind = fill(6, "missing"), fill(5, 0), fill(5, "missing")
  local rho, x, y = fill(6, 0), W.values[W.block_x], W.values[W.block_y]
  x, y = x and x[i], y and y[i]
  if type(x) == "number" then
    rho[4], rho_kind[4] = x, "derived"
    rho[5], rho_kind[5] = type(y) == "number" and y or 1, "derived"
    signature[4], signature_kind[4] = math.min(1, rho[4] * rho[5] / 1024), "derived"
  end
  rho_kind[1], signature_kind[1] = "measured", "measured"
  return lists.with({ phi = no_phi, phi_kind = no_phi_kind, rho = rho, rho_kind = rho_kind, h = {},
                      h_kind = no_h_kind, signature = signature, signature_kind = signature_kind },
                    json.table(W.evidence[i]))
end

-- The same for a search: rho begins with its log time, signature with T / T0.
local function evidence(W, i, time_ns, first_ns)
  W.known[i] = W.known[i] or known(W, i)
  local e = lists.with(W.known[i])
  e.rho, e.signature = { table.unpack(e.rho) }, { table.unpack(e.signature) }
  e.rho[1], e.signature[1] = math.log(time_ns), time_ns / first_ns
  return e
end

-- An evaluation of row i beside the start, whose time is first_ns.
function walk.evaluation(W, i, first_ns, root)
  if W.verdict[i] ~= "ok" then
    return { verdict = W.verdict[i], reason = W.reason[i] or nil }
  end
  local time_ns, spread = measured(W, i, root), W.spread[i]
  local speedup = first_ns / time_ns
  return { verdict = "ok", time_ns = time_ns, baseline_ns = first_ns, speedup = speedup,
           speedup_low = speedup * (1 - 2 * spread), speedup_high = speedup * (1 + 2 * spread),
           shapes = {}, evidence = evidence(W, i, time_ns, first_ns) }
end

return walk
