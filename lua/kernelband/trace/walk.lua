-- trace/walk.lua - the steps of a search in a recorded space: where it starts,
-- which neighbour it meets, what a clock would have said.
local core = require "kernelband.core"

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

-- One raw sample of row i, the same for the same root; without one the truth.
function walk.measured(row, i, root)
  local samples = row.samples_ns
  if not samples or not root then return row.time_ns end
  return samples[1 + core.rng(root + i):below(#samples)]
end

-- Where the noise of a search comes from; nil without any.
function walk.noise_root(W, seed)
  return W.noise and core.rng(seed):split("trace noise"):below(1 << 62) or nil
end

-- An evaluation of row i beside the start, whose time is first_ns.
function walk.evaluation(W, i, first_ns, root)
  local row = W.rows[i]
  if row.verdict ~= "ok" then return { verdict = row.verdict, reason = row.reason } end
  local time_ns = walk.measured(row, i, root)
  local speedup, e = first_ns / time_ns, row.evidence
  local rho, signature = e.rho, e.signature
  rho = { math.log(time_ns), rho[2], rho[3], rho[4], rho[5], rho[6] }
  signature = { time_ns / first_ns, signature[2], signature[3], signature[4], signature[5] }
  return {
    verdict = "ok", time_ns = time_ns, baseline_ns = first_ns, speedup = speedup,
    speedup_low = speedup * (1 - 2 * row.spread),
    speedup_high = speedup * (1 + 2 * row.spread), shapes = {},
    evidence = { phi = e.phi, phi_kind = e.phi_kind, rho = rho, rho_kind = e.rho_kind,
                 h = e.h, h_kind = e.h_kind, signature = signature,
                 signature_kind = e.signature_kind },
  }
end

-- A neighbour of row i under strategy s, or nil: drawn evenly.
function walk.draw(W, i, s, rng)
  local members = W.class[s][i]
  local n = #members - 1
  if n < 1 then return nil end
  local at = 1 + rng:below(n)
  if at >= W.place[s][i] then at = at + 1 end
  return members[at]
end

return walk
