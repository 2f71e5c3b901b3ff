-- Reductions, scans and atomics: combine near the thread, rarely far from it.

local prompt = [[
Rewrite the kernel with a better way to combine partial results.

- In a thread first, then by __shfl_xor_sync in a warp, then once through shared memory.
  A tree in shared memory needs a barrier a level.
- Counters: private copies in shared memory, one for a few warps, merged at the end.
  Combine equal keys before the atomic. Global atomics are for the merge.
- No float atomics: their order changes the result from run to run.
- Alternate between two buffers and save the barrier that protects one.
]]

return {
  name = "reductions_scans_atomics",
  target = "sm",
  summary = "shuffles, privatised counters, few atomics",
  prompt = prompt,
  moves = { "reduce", "copies" },
}
