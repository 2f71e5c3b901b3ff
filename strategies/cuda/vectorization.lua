-- Vectorization: more bytes to an access, more operations to an instruction.

local prompt = [[
Rewrite the kernel with wider accesses and instructions.

- Load and store 16 bytes a thread: float4, or eight bf16 as uint4. A warp then moves
  512 contiguous bytes with one instruction.
- Alignment: arrays are 256-byte aligned and dense, so a row starts aligned only when
  its length is a multiple of the vector. Test that once a launch, not once an access,
  and keep a scalar path beside it.
- Neighbouring threads take neighbouring vectors. Giving a thread 64 contiguous bytes
  of its own spreads a warp over 16 lines an access.
- bf16 and fp16 have packed arithmetic (__nv_bfloat162); accumulate in fp32 all the same.
- Matrix products of bf16 belong on tensor cores: wmma (mma.h) or mma.sync with ldmatrix.
- A library function such as expf may cost more than the memory: __expf and exp2f are
  one or two instructions. Check that their error stays within a few roundings.
]]

return {
  name = "vectorization",
  target = "dram",
  summary = "wide loads and stores, packed and tensor-core arithmetic",
  prompt = prompt,
  moves = { "vector", "instruction", "exp" },
}
