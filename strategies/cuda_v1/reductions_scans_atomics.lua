-- Reductions, scans and atomics: combine near the thread, rarely far from it.

local prompt = [[
Rewrite the CUDA kernel below with a better way to combine partial results,
and change nothing else about it.

- In a thread first, then by __shfl_xor_sync in a warp, then once through shared memory.
  A tree in shared memory needs a barrier a level.
- Counters: private copies in shared memory, one for a few warps, merged at the end.
  Combine equal keys before the atomic. Global atomics are for the merge.
- No float atomics: their order changes the result from run to run.
- Alternate between two buffers and save the barrier that protects one.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "reductions_scans_atomics",
  target = "sm",
  summary = "shuffles, privatised counters, few atomics",
  prompt = prompt,
  facts = { "sm", "bank_conflicts" },
  moves = { "reduce", "copies" },
}
