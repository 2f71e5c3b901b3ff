-- Scheduling: which block does what, when.

local prompt = [[
Rewrite the CUDA kernel below with another schedule of its blocks,
and change nothing else about it.

- Neighbouring blocks should share inputs: walk tiles in groups.
- A persistent grid of a few blocks a multiprocessor (sm_count in the launch line) loops
  over tiles, in strides or in contiguous chunks.
- Which index is fastest, in the grid and in a block.
- Avoid a last wave that fills a part of the machine.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "scheduling_autotuning",
  target = "sm",
  summary = "order of blocks, persistent grids",
  prompt = prompt,
  facts = { "sm", "issue" },
  moves = { "order", "swizzle_blocks", "persistent", "lanes" },
}
