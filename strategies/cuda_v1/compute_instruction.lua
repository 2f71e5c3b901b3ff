-- Compute instructions: the units that do most for an issue slot.

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
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "sm")
  if used then
    say[#say + 1] = ("Arithmetic is at %.0f%% of its peak (%s).")
      :format(used, kind)
  end
  local value9, origin9 = feature(kernel, 9)
  if value9 then
    say[#say + 1] = ("Tensor cores are at %.0f%% of their peak (%s).")
      :format(value9, origin9)
  end
  return table.concat(say, "\n")
end

return {
  name = "compute_instruction",
  target = "sm",
  summary = "tensor cores, packed arithmetic, fused multiply-add",
  prompt = prompt,
  moves = { "instruction" },
}
