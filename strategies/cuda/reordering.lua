-- Reordering: the same operations in an order that the machine likes better.

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
Rewrite the CUDA kernel below with its work in a better order,
and change nothing else about it.

- Blocks run roughly in the order of blockIdx.x. Let neighbours in that order share
  what they read: walk tiles in groups of 4 to 16 rows rather than whole rows of tiles,
  so that their inputs stay in the second-level cache.
- A persistent grid (a few blocks a multiprocessor, each looping over tiles) saves the
  start of blocks and lets one tile overlap the next. It loses where tiles differ in
  cost or are few. sm_count is known in the launch line.
- Neighbouring threads belong on neighbouring addresses: choose which index runs
  fastest, for reads and for writes.
- Reduce within a warp by shuffles (__shfl_xor_sync) and only then across warps through
  shared memory; a tree in shared memory needs a barrier a level.
- Of two passes over the same data let the second begin where the first ended.
- Hoist what does not change, and keep borders out of the inner loop. Warps should not
  diverge inside it.
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
  local value4, origin4 = feature(kernel, 4)
  if value4 then
    say[#say + 1] = ("%.0f%% of the lanes of an issued warp are active (%s).")
      :format(value4, origin4)
  end
  return table.concat(say, "\n")
end

return {
  name = "reordering",
  target = "sm",
  summary = "order of blocks, rows and reductions",
  prompt = prompt,
  moves = { "order", "swizzle_blocks", "persistent", "sweep", "reduce", "lanes" },
}
