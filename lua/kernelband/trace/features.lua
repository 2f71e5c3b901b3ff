-- trace/features.lua - what a search learns of a recorded kernel: phi, rho, h and
-- signature as recorded, packed into one string a row, and what follows from
-- the axes where the file has no counters.
local features = {}

local packing = "<" .. ("d"):rep(23)    -- phi, rho, signature, h
local nan = 0 / 0

local function fill(n, first, rest)
  local out = {}
  for i = 1, n do out[i] = i == 1 and first or rest end
  return out
end

local no_phi, no_phi_kind = fill(9, 0, 0), fill(9, "missing", "missing")
local no_h = { sm = "missing", dram = "missing", l2 = "missing" }

-- Where an axis of block sizes is among the axes: its index, for x and y.
local function block_of(axes)
  local x, y
  for a, name in ipairs(axes) do
    local lower = name:lower()
    if lower:find "block" and lower:find "x$" then x = x or a end
    if lower:find "block" and lower:find "y$" then y = y or a end
  end
  return x, y
end

local function bare(values, x, y)
  local bx, by = x and values[x], y and values[y]
  local rho, rho_kind = fill(6, 0, 0), fill(6, "measured", "missing")
  local signature, signature_kind = fill(5, 1, 0), fill(5, "measured", "missing")
  if type(bx) == "number" then
    if type(by) ~= "number" then by = 1 end
    rho[4], rho_kind[4], rho[5], rho_kind[5] = bx, "derived", by, "derived"
    signature[4], signature_kind[4] = math.min(1, bx * by / 1024), "derived"
  end
  return rho, rho_kind, signature, signature_kind
end

-- pack(row) -> the string and the kinds; kinds that say the same are one table.
function features.packer(W)
  local x, y = block_of(W.axes)
  local seen = {}
  return function(row)
    local e = row.evidence or {}
    local rho, rho_kind, signature, signature_kind = bare(row.values, x, y)
    local kinds = { phi = e.phi_kind or no_phi_kind, rho = e.rho_kind or rho_kind,
                    signature = e.signature_kind or signature_kind, h = e.h_kind or no_h }
    local key = table.concat { table.concat(kinds.phi), table.concat(kinds.rho),
      table.concat(kinds.signature), kinds.h.sm, kinds.h.dram, kinds.h.l2 }
    seen[key] = seen[key] or kinds
    local v, h = table.move(e.phi or no_phi, 1, 9, 1, {}), e.h or {}
    table.move(e.rho or rho, 1, 6, 10, v)
    table.move(e.signature or signature, 1, 5, 16, v)
    v[21], v[22], v[23] = h.sm or nan, h.dram or nan, h.l2 or nan
    return packing:pack(table.unpack(v, 1, 23)), seen[key]
  end
end

local function known(x) return x == x and x or nil end

-- phi, rho, signature, h and their kinds, fresh tables but for the last. Two
-- depend on the search: rho begins with log time, signature with T / T0.
function features.of(W, i, time_ns, first_ns)
  local a, b, c, d, e, f, g, h, j, _, r2, r3, r4, r5, r6, _, s2, s3, s4, s5, sm, dram, l2 =
    packing:unpack(W.features[i])
  return { a, b, c, d, e, f, g, h, j }, { math.log(time_ns), r2, r3, r4, r5, r6 },
         { time_ns / first_ns, s2, s3, s4, s5 },
         { sm = known(sm), dram = known(dram), l2 = known(l2) }, W.kinds[i]
end

return features
