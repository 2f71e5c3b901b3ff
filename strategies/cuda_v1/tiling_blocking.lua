-- Tiling and blocking: the shape of what a block computes.

local prompt = [[
Rewrite the kernel with other tile shapes.

- Reused inputs should be read from second-level cache or memory once a block: enlarge
  the block tile until shared memory or registers are full, 128 x 128 for a product.
- The inner step of a product, 16 to 64, sets how often a block meets a barrier.
- Rows or tiles of a block: one long row, or several short ones.
- Check the tail: a grid one block larger than a multiple of the multiprocessors runs
  a whole wave for it.
]]

return {
  name = "tiling_blocking",
  target = "l2",
  summary = "tile shapes of blocks and their inner steps",
  prompt = prompt,
  moves = { "tile_m", "tile_n", "tile_k", "tile_rows", "tile_cols" },
}
