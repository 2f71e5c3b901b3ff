-- Compute instructions: the units that do most for an issue slot.

local prompt = [[
Rewrite the CUDA kernel below with stronger instructions,
and change nothing else about it.

- Products of bf16 or fp16 on tensor cores: wmma of mma.h, or mma.sync with operands
  loaded by ldmatrix. fp32 products stay on the fp32 units unless the task allows less.
- Fused multiply-add; multiply by a reciprocal computed once.
- Packed pairs for bf16 and fp16, byte permutes and dot products for int8.
- Outer products in registers: 8 + 8 loads for 64 multiply-adds.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "compute_instruction",
  target = "sm",
  summary = "tensor cores, packed arithmetic, fused multiply-add",
  prompt = prompt,
  facts = { "sm", "tensor" },
  moves = { "instruction" },
}
