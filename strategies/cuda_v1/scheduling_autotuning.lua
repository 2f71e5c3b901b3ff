-- Scheduling: which block does what, when.

local prompt = [[
Rewrite the kernel with another schedule of its blocks.

- Neighbouring blocks should share inputs: walk tiles in groups.
- A persistent grid of a few blocks a multiprocessor (sm_count in the launch line) loops
  over tiles, in strides or in contiguous chunks.
- Which index is fastest, in the grid and in a block.
- Avoid a last wave that fills a part of the machine.
]]

return {
  name = "scheduling_autotuning",
  target = "sm",
  summary = "order of blocks, persistent grids",
  prompt = prompt,
  moves = { "order", "swizzle_blocks", "persistent", "lanes" },
}
