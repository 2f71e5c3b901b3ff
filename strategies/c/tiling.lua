-- Tiling: cut the iteration space into blocks whose data stays in cache while
-- it is used. It saves traffic only where something is used more than once.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the C kernel below with cache tiling (loop blocking), and change nothing
else about it.

- Find what is read more than once: a row, a column, a panel. Block the loops
  around that reuse so that the data of one block fits the cache you aim at
  (32 KiB for the first level, 512 KiB for the second) with room to spare.
- A reduction may be blocked too. Its partial result is then carried from block
  to block, and the first block must start it, not add to what memory held.
- Leave the innermost loop walking contiguous memory.
- Sizes are arbitrary, from 1 up: the last block of each dimension is partial.
  Never read or write outside the arrays.
- Make block sizes named constants, multiples of 16 along contiguous memory.
- Where each input is read once and in order there is nothing to gain, unless an
  intermediate result of one pass can stay in cache for the next.
- Do not touch the signature, the precision or the result. Add no vector code,
  prefetch, packing or threads: other steps do those.
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "l2")
  if used then
    say[#say + 1] = ("Second-level cache traffic is at %.0f%% of its peak (%s)."):format(used, kind)
  end
  local phi, kinds = kernel.phi, kernel.phi_kind
  if type(phi) == "table" and type(kinds) == "table"
      and type(phi[1]) == "number" and kinds[1] ~= "missing" then
    say[#say + 1] = ("%.0f%% of second-level accesses hit (%s).")
      :format(phi[1] * 100, tostring(kinds[1]))
  end
  return table.concat(say, "\n")
end

return {
  name = "tiling",
  target = "l2",
  summary = "block the loops so that reused data stays in cache",
  prompt = prompt,
  moves = { "tile_m", "tile_n", "tile_k", "tile_rows", "tile_cols" },
}
