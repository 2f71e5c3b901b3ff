-- Tiling: how the work is cut into tiles for grids, blocks, warps and threads.

local prompt = [[
Rewrite the kernel with another division of its work.

- Find what is read more than once, and by whom: threads of a warp, of a block, or
  several blocks. Choose a block tile whose reused data fits shared memory (the
  machine's, above; the launch line asks for it) and a thread tile that fits registers.
- A matrix product wants a block tile of 128 x 128 or so, an inner step of 16 to 32,
  and 8 x 8 results or a tensor-core fragment tile a warp. Larger tiles cut traffic
  in proportion to their side.
- Rows that are reduced want as many threads as leave each 8 to 32 elements: one warp
  for short rows and several rows a block, 256 to 1024 threads for long ones.
- Tables that blocks count or sum into belong in shared memory, one copy a block or
  more, added to global memory once at the end.
- Every multiprocessor should get several blocks; a last wave of few blocks wastes it.
- Tile sizes are named constants. Warps hold 32 threads: blocks are multiples of 32.
]]

return {
  name = "tiling",
  target = "l2",
  summary = "tiles sized for registers, shared memory and occupancy",
  prompt = prompt,
  moves = { "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "tile_rows",
            "tile_cols", "items", "threads", "copies" },
}
