-- trace/features.lua - what a search learns of a recorded kernel: phi, rho, h and signature as
-- recorded, and what follows from the axes where the file has no counters.
local json  = require "kernelband.base.json"
local lists = require "kernelband.base.lists"

local features = {}

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
function features.evidence(W, i, time_ns, first_ns)
  W.known[i] = W.known[i] or known(W, i)
  local e = lists.with(W.known[i])
  e.rho, e.signature = { table.unpack(e.rho) }, { table.unpack(e.signature) }
  e.rho[1], e.signature[1] = math.log(time_ns), time_ns / first_ns
  return e
end

-- phi, rho, signature, h and their kinds.
function features.of(...)
  local e = features.evidence(...)
  return e.phi, e.rho, e.signature, e.h, { phi = e.phi_kind, rho = e.rho_kind, h = e.h_kind,
                                           signature = e.signature_kind }
end

return features
