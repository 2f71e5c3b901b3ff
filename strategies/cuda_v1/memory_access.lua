-- Memory access: every transaction full, every instruction wide.

local prompt = [[
Rewrite the kernel with better memory accesses.

- A warp reads 32 neighbouring vectors of 16 bytes: float4 or uint4, neighbours side
  by side. Keep a scalar path for rows whose length no vector divides.
- Inputs that no thread of the kernel writes may be loaded with __ldg; what is used
  once with __ldcs, and written with __stcs.
- Strided access on one side of a copy goes through a tile in shared memory.
- Address arithmetic in 64 bits once a row, in 32 bits inside it.
]]

return {
  name = "memory_access",
  target = "dram",
  summary = "coalesced, wide, and hinted accesses",
  prompt = prompt,
  moves = { "vector", "load_hint", "store_hint" },
}
