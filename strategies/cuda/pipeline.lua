-- Pipeline: keep memory and arithmetic busy at once. A load takes some 600 ns, and by
-- Little's law some 40 KB must be in flight on every multiprocessor.

local prompt = [[
Rewrite the CUDA kernel below with more independent work in flight,
and change nothing else about it.

- Issue several loads before the first use: unroll by two to eight into an array of
  registers, then compute.
- Copy the next tile while this one is computed: cp.async (__pipeline_memcpy_async of
  cuda_pipeline_primitives.h) into two to four stages of shared memory, one commit a
  stage, and wait for the oldest only.
- In a loop over tiles, ask for the next one early: to registers, or with
  prefetch.global.L2, which costs no register.
- Long sums into one register wait for each addition: use two to four accumulators.
- __launch_bounds__(threads, blocks) tells the compiler how many registers a thread may
  have. Too few spill to local memory, too many leave few warps.
- Barriers stop everyone: one after writing a tile and one before overwriting it, none
  at all where two buffers take turns.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]]

return {
  name = "pipeline",
  target = "sm",
  summary = "more loads in flight, copies that overlap arithmetic",
  prompt = prompt,
  facts = { "sm", "occupancy", "issue" },
  moves = { "stages", "unroll", "prefetch", "resident" },
}
