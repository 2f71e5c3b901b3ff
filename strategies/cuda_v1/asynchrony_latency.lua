-- Asynchrony: ask early, use late.

local prompt = [[
Rewrite the kernel with its latency hidden.

- cp.async into two to four stages of shared memory; wait for the oldest stage only.
- In loops over tiles load the next one to registers before this one is reduced, or ask
  for it with prefetch.global.L2.
- All loads of a turn before the first use.
- Some 40 KB in flight on every multiprocessor saturate memory; more does not help.
]]

return {
  name = "asynchrony_latency",
  target = "dram",
  summary = "asynchronous copies, prefetch, stages",
  prompt = prompt,
  moves = { "stages", "prefetch" },
}
