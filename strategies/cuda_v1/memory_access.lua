-- Memory access: every transaction full, every instruction wide.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

-- A feature of the profile, 0 .. 1, as percent.
local function feature(kernel, i)
  local phi, kinds = kernel.phi, kernel.phi_kind
  local value = type(phi) == "table" and phi[i]
  local kind = type(kinds) == "table" and kinds[i] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value * 100, tostring(kind)
end

local function prompt(kernel)
  local say = { [[
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
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "dram")
  if used then
    say[#say + 1] = ("Memory bandwidth is at %.0f%% of its peak (%s).")
      :format(used, kind)
  end
  local value8, origin8 = feature(kernel, 8)
  if value8 then
    say[#say + 1] = ("%.0f%% of loads and stores are coalesced (%s).")
      :format(value8, origin8)
  end
  return table.concat(say, "\n")
end

return {
  name = "memory_access",
  target = "dram",
  summary = "coalesced, wide, and hinted accesses",
  prompt = prompt,
  moves = { "vector", "load_hint", "store_hint" },
}
