-- Pipeline: keep the core's units busy. Independent work in flight hides the
-- latency of arithmetic, prefetches hide that of memory.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the inner loops of the C kernel below so that more independent work is in
flight, and change nothing else about it.

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
- The order of a float sum may change. Do not touch the signature or the precision,
  and add no threads.
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
    say[#say + 1] = ("Arithmetic is at %.0f%% of the core's peak (%s)."):format(used, kind)
  end
  return table.concat(say, "\n")
end

return {
  name = "pipeline",
  target = "sm",
  summary = "unroll with independent accumulators, prefetch",
  prompt = prompt,
  moves = { "unroll", "prefetch" },
}
