-- Parallelism and occupancy: enough warps, each with enough to do.

local prompt = [[
Rewrite the kernel with another division among threads.

- Memory-bound kernels want some 1,000 threads a multiprocessor with 16 to 64 bytes in
  flight each; either more threads or more loads a thread will do.
- Compute-bound ones want few threads with many registers, 4 to 8 warps a block.
- __launch_bounds__(threads, blocks) bounds registers. Look for spills.
- Blocks of 128 to 512 threads; more only where a row needs them.
- A warp tile of a product, 32 x 64 or so, sets how often operands are read from
  shared memory.
]]

return {
  name = "parallelism_occupancy",
  target = "sm",
  summary = "threads, warps and registers of a block",
  prompt = prompt,
  moves = { "warp_m", "warp_n", "items", "threads", "resident" },
}
