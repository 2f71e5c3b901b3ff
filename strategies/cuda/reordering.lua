-- Reordering: the same operations in an order that the machine likes better.

local prompt = [[
Rewrite the kernel with its work in a better order.

- Blocks run roughly in the order of blockIdx.x. Let neighbours in that order share
  what they read: walk tiles in groups of 4 to 16 rows rather than whole rows of tiles,
  so that their inputs stay in the second-level cache.
- A persistent grid (a few blocks a multiprocessor, each looping over tiles) saves the
  start of blocks and lets one tile overlap the next. It loses where tiles differ in
  cost or are few. sm_count is known in the launch line.
- Neighbouring threads belong on neighbouring addresses: choose which index runs
  fastest, for reads and for writes.
- Reduce within a warp by shuffles (__shfl_xor_sync) and only then across warps through
  shared memory; a tree in shared memory needs a barrier a level.
- Of two passes over the same data let the second begin where the first ended.
- Hoist what does not change, and keep borders out of the inner loop. Warps should not
  diverge inside it.
]]

return {
  name = "reordering",
  target = "sm",
  summary = "order of blocks, rows and reductions",
  prompt = prompt,
  moves = { "order", "swizzle_blocks", "persistent", "sweep", "reduce", "lanes" },
}
