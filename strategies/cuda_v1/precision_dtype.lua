-- Precision: as much as the result needs, and no more.

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
Rewrite the CUDA kernel below with cheaper arithmetic of the same accuracy,
and change nothing else about it.

- Accumulate in fp32. Results are compared with a float64 reference to a few roundings,
  growing with the length of a sum: TF32 or bf16 in place of fp32 is found out.
- Fast variants with errors of a few units in the last place may replace library
  functions: __expf, exp2f with a scaled argument, __fdividef, rsqrtf.
- No double in inner loops: constants end in f. Integer indices of 32 bits where sizes
  allow.
- bf16 and fp16 inputs are converted once, in pairs.
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
  name = "precision_dtype",
  target = "sm",
  summary = "cheaper arithmetic of sufficient precision",
  prompt = prompt,
  moves = { "exp" },
}
