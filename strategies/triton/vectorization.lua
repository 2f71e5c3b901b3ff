-- Vectorization: wide loads, and as many warps as the block needs.

local prompt = [[
Rewrite the kernel so that each thread moves more bytes an instruction.

- A block of E elements on W warps gives a thread E / (32 W) of them: choose num_warps so
  that it is 4 to 16, contiguous. Two or four warps do for small blocks.
- Tell the compiler what it cannot see: tl.multiple_of and tl.max_contiguous on offsets,
  strides of 1 as constants, int32 offsets where sizes allow.
- Masks cost: where a whole block is inside, load without one; `other=` only where the
  value is used.
- Half-precision data is loaded as it is and widened in registers.
]]

return {
  name = "vectorization",
  target = "dram",
  summary = "warps, and how wide a thread loads",
  prompt = prompt,
  moves = { "warps1", "warps2", "warps3", "warps4", "warps5", "warps6" },
}
