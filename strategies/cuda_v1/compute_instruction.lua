-- Compute instructions: the units that do most for an issue slot.

local prompt = [[
Rewrite the kernel with stronger instructions.

- Products of bf16 or fp16 on tensor cores: wmma of mma.h, or mma.sync with operands
  loaded by ldmatrix. fp32 products stay on the fp32 units unless the task allows less.
- Fused multiply-add; multiply by a reciprocal computed once.
- Packed pairs for bf16 and fp16, byte permutes and dot products for int8.
- Outer products in registers: 8 + 8 loads for 64 multiply-adds.
]]

return {
  name = "compute_instruction",
  target = "sm",
  summary = "tensor cores, packed arithmetic, fused multiply-add",
  prompt = prompt,
  moves = { "instruction" },
}
