-- Operation fusion: what one pass produced is used while it is on chip.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the CUDA kernel below with its passes fused,
and change nothing else about it.

- List passes and launches with what each moves. Merge those over the same data, and
  hold a row in registers (16 to 32 floats a thread) instead of reading it again.
- Online forms: maximum with a rescaled sum, Welford's mean and variance.
- Initialisation and epilogue belong into the kernel that does the work.
- One thread makes all results that share an input.
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
  return table.concat(say, "\n")
end

return {
  name = "operation_fusion",
  target = "dram",
  summary = "fewer passes and launches",
  prompt = prompt,
  moves = { "fuse_init", "fuse_softmax", "fuse_passes", "fuse_rows", "fuse_runs" },
}
