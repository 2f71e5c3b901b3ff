-- Memory layout: where data lies on chip.

local prompt = [[
Rewrite the kernel with another layout in shared memory.

- Pad the rows of a tile by one element, by 16 bytes where vectors are stored, or
  exclusive-or the column with the row: a warp must meet 32 different banks.
- Interleave private counters so that warps meet different banks.
- Keep a row in shared memory where registers do not suffice, and in registers where
  they do.
- Repack an operand that is read many times in another order.
]]

return {
  name = "memory_layout",
  target = "dram",
  summary = "padding, swizzles, packing in shared memory",
  prompt = prompt,
  moves = { "pad", "pack", "swizzle" },
}
