-- Asynchrony: ask early, use late.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the CUDA kernel below with its latency hidden,
and change nothing else about it.

- cp.async into two to four stages of shared memory; wait for the oldest stage only.
- In loops over tiles load the next one to registers before this one is reduced, or ask
  for it with prefetch.global.L2.
- All loads of a turn before the first use.
- Some 40 KB in flight on every multiprocessor saturate memory; more does not help.
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
  name = "asynchrony_latency",
  target = "dram",
  summary = "asynchronous copies, prefetch, stages",
  prompt = prompt,
  moves = { "stages", "prefetch" },
}
