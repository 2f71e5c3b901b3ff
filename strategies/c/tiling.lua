-- Tiling: cut the iteration space into blocks whose data stays in cache while
-- it is used. It saves traffic only where something is used more than once.

local prompt = [[
Rewrite the kernel with cache tiling (loop blocking).

- Find what is read more than once: a row, a column, a panel. Block the loops
  around that reuse so that the data of one block fits the cache you aim at, of
  the machine's sizes above, with room to spare.
- A reduction may be blocked too. Its partial result is then carried from block
  to block, and the first block must start it, not add to what memory held.
- Leave the innermost loop walking contiguous memory.
- Sizes are arbitrary, from 1 up: the last block of each dimension is partial.
  Never read or write outside the arrays.
- Make block sizes named constants, multiples of 16 along contiguous memory.
- Where each input is read once and in order there is nothing to gain, unless an
  intermediate result of one pass can stay in cache for the next.
]]

return {
  name = "tiling",
  target = "l2",
  summary = "block the loops so that reused data stays in cache",
  prompt = prompt,
  moves = { "tile_m", "tile_n", "tile_k", "tile_rows", "tile_cols" },
}
