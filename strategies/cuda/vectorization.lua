-- Vectorization: more bytes to an access, more operations to an instruction.

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
Rewrite the CUDA kernel below with wider accesses and instructions,
and change nothing else about it.

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
  name = "vectorization",
  target = "dram",
  summary = "wide loads and stores, packed and tensor-core arithmetic",
  prompt = prompt,
  moves = { "vector", "instruction", "exp" },
}
