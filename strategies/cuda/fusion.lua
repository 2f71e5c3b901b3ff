-- Fusion: make fewer passes over memory. What one pass produced is used by the next
-- while it is still in a register or in shared memory.

local prompt = [[
Rewrite the kernel with fewer passes over memory.

- List passes and launches: which array each reads and writes, how often every
  element is moved. Merge passes over the same data; drop a launch that only
  initialises, or that only finishes what blocks could have finished.
- A row that fits the registers of a block (16 to 32 floats a thread) is read once:
  hold it, reduce it, write it. Index such an array with constants only, in unrolled
  loops, or it moves to local memory.
- Maximum and sum of exponentials share one pass when the sum is rescaled as the
  maximum grows; mean and variance do by Welford's update.
- Element-wise work before or after a product is done where the product's tile is
  loaded or stored.
- Several results that need the same input are made by the same thread.
- Past 64 to 128 registers a thread occupancy falls; past 255 values spill.
]]

return {
  name = "fusion",
  target = "dram",
  summary = "fewer passes and launches, values kept on chip",
  prompt = prompt,
  moves = { "fuse_init", "fuse_softmax", "fuse_passes", "fuse_rows", "fuse_runs" },
}
