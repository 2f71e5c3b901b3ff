-- Pipeline: keep memory and arithmetic busy at once. A load takes some 600 ns, and by
-- Little's law some 40 KB must be in flight on every multiprocessor.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

-- A feature of the profile, 0 .. 1, as percent.
local function feature(kernel, i)
  local phi, kinds = kernel.phi, kernel.phi_kind
  local value = type(phi) == "table" and phi[i]
  local kind = type(kinds) == "table" and kinds[i] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value * 100, tostring(kind)
end

local function prompt(kernel)
  local say = { [[
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
    say[#say + 1] = ("Arithmetic is at %.0f%% of its peak (%s).")
      :format(used, kind)
  end
  local value5, origin5 = feature(kernel, 5)
  if value5 then
    say[#say + 1] = ("Achieved occupancy is %.0f%% (%s).")
      :format(value5, origin5)
  end
  local value3, origin3 = feature(kernel, 3)
  if value3 then
    say[#say + 1] = ("Multiprocessors issue in %.0f%% of cycles (%s).")
      :format(value3, origin3)
  end
  return table.concat(say, "\n")
end

return {
  name = "pipeline",
  target = "sm",
  summary = "more loads in flight, copies that overlap arithmetic",
  prompt = prompt,
  moves = { "stages", "unroll", "prefetch", "resident" },
}
