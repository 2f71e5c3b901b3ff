-- Asynchrony: ask early, use late.

local prompt = [[
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
]]

return {
  name = "asynchrony_latency",
  target = "dram",
  summary = "asynchronous copies, prefetch, stages",
  prompt = prompt,
  facts = { "dram" },
  moves = { "stages", "prefetch" },
}
