-- Reductions, scans and atomics: combine near the thread, rarely far from it.

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
  local value7, origin7 = feature(kernel, 7)
  if value7 then
    say[#say + 1] = ("Shared-memory bank conflicts: %.0f%% (%s).")
      :format(value7, origin7)
  end
  return table.concat(say, "\n")
end

return {
  name = "reductions_scans_atomics",
  target = "sm",
  summary = "shuffles, privatised counters, few atomics",
  prompt = prompt,
  moves = { "reduce", "copies" },
}
