-- Pipeline: keep the core's units busy. Independent work in flight hides the
-- latency of arithmetic, prefetches hide that of memory.

local prompt = [[
Rewrite the inner loops of the kernel so that more independent work is in flight.

- A sum into one accumulator waits for each addition, about four cycles. Unroll the
  loop by two to eight and give every unrolled step its own accumulator; add them
  together after the loop. Do not do this where a tile of eight or more
  accumulators is independent already: unroll there with the same accumulators.
- Unrolling also shares loop control and addresses. Finish the iterations left over
  in a simple loop: sizes are arbitrary, from 1 up.
- Issue the loads of the next step before the arithmetic of this one where the
  compiler cannot.
- Where memory is walked with a stride the hardware may not predict, prefetch with
  __builtin_prefetch a few hundred nanoseconds ahead, one for each 64 bytes. For
  plain sequential reads the hardware does it already, and yours costs issue slots.
- Take branches and divisions out of the loop; multiply by a reciprocal once
  computed.
]]

return {
  name = "pipeline",
  target = "sm",
  summary = "unroll with independent accumulators, prefetch",
  prompt = prompt,
  moves = { "unroll", "prefetch" },
}
