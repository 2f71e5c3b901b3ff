-- trace/features.lua - what a search learns of a recorded kernel: phi, rho, h and signature as
-- recorded, and what follows from the axes where the file has no counters.
local evidence = require "kernelband.evaluate.evidence"
local json     = require "kernelband.base.json"
local lists    = require "kernelband.base.lists"

local features = {}

-- What is known of row i without counters: axes of block sizes say a little.
local function of_axes(W, i)
  local x, y = W.block_x and W.block_x[i], W.block_y and W.block_y[i]
  x = type(x) == "number" and x or nil
  y = x and (type(y) == "number" and y or 1)
  return evidence.of { phi = {}, h = {},
    rho = { { 0, "measured" }, [4] = { x, "derived" }, [5] = { y, "derived" } },
    signature = { { 1, "measured" }, [4] = { x and math.min(1, x * y / 1024), "derived" } } }
end

-- The same for a search: rho begins with its log time, signature with T / T0.
function features.evidence(W, i, time_ns, first_ns)
  W.known[i] = W.known[i] or lists.with(of_axes(W, i), json.table(W.evidence[i]))
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
