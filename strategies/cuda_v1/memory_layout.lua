-- Memory layout: where data lies on chip.

local prompt = [[
Rewrite the CUDA kernel below with another layout in shared memory,
and change nothing else about it.

- Pad the rows of a tile by one element, by 16 bytes where vectors are stored, or
  exclusive-or the column with the row: a warp must meet 32 different banks.
- Interleave private counters so that warps meet different banks.
- Keep a row in shared memory where registers do not suffice, and in registers where
  they do.
- Repack an operand that is read many times in another order.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "memory_layout",
  target = "dram",
  summary = "padding, swizzles, packing in shared memory",
  prompt = prompt,
  facts = { "dram", "bank_conflicts" },
  moves = { "pad", "pack", "swizzle" },
}
