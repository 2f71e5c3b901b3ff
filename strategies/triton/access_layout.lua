-- Access and layout: which addresses neighbours read.

local prompt = [[
Rewrite the kernel with better patterns of access.

- The contiguous axis of a tensor goes along the last axis of the block; then a warp reads
  whole lines. Transpose in registers (tl.trans) rather than by strided loads.
- Pass strides, and take strides of 1 as constants, instead of calling .contiguous().
- Data read once: eviction_policy="evict_first"; operands shared by programs:
  "evict_last" only where they are reused by later programs of the same launch.
- Gathers through an index: load the indices once a block, make rows contiguous.
- Block pointers or tensor descriptors where the hardware copies tiles by itself.
- Atomics to few addresses: sum inside the program first.
]]

return {
  name = "access_layout",
  target = "dram",
  summary = "which element lies where, and who reads it",
  prompt = prompt,
  moves = {},
}
