-- Access and layout: which addresses neighbours read.

local prompt = [[
Rewrite the Triton kernel below with better patterns of access,
and change nothing else about it.

- The contiguous axis of a tensor goes along the last axis of the block; then a warp reads
  whole lines. Transpose in registers (tl.trans) rather than by strided loads.
- Pass strides, and take strides of 1 as constants, instead of calling .contiguous().
- Data read once: eviction_policy="evict_first"; operands shared by programs:
  "evict_last" only where they are reused by later programs of the same launch.
- Gathers through an index: load the indices once a block, make rows contiguous.
- Block pointers or tensor descriptors where the hardware copies tiles by itself.
- Atomics to few addresses: sum inside the program first.
- Keep the names and arguments of the functions that are called from outside, and the
  result for every shape. Import nothing but torch, triton and math.
]]

return {
  name = "access_layout",
  target = "dram",
  summary = "which element lies where, and who reads it",
  prompt = prompt,
  facts = { "dram" },
  moves = {},
}
