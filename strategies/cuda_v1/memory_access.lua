-- Memory access: every transaction full, every instruction wide.

local prompt = [[
Rewrite the CUDA kernel below with better memory accesses,
and change nothing else about it.

- A warp reads 32 neighbouring vectors of 16 bytes: float4 or uint4, neighbours side
  by side. Keep a scalar path for rows whose length no vector divides.
- Inputs that no thread of the kernel writes may be loaded with __ldg; what is used
  once with __ldcs, and written with __stcs.
- Strided access on one side of a copy goes through a tile in shared memory.
- Address arithmetic in 64 bits once a row, in 32 bits inside it.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "memory_access",
  target = "dram",
  summary = "coalesced, wide, and hinted accesses",
  prompt = prompt,
  facts = { "dram", "coalesced" },
  moves = { "vector", "load_hint", "store_hint" },
}
