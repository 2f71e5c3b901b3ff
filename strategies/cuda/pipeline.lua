-- Pipeline: keep memory and arithmetic busy at once. A load takes some 600 ns, and by
-- Little's law some 40 KB must be in flight on every multiprocessor.

local prompt = [[
Rewrite the kernel with more independent work in flight.

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
]]

return {
  name = "pipeline",
  target = "sm",
  summary = "more loads in flight, copies that overlap arithmetic",
  prompt = prompt,
  moves = { "stages", "unroll", "prefetch", "resident" },
}
