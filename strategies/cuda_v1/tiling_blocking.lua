-- Tiling and blocking: the shape of what a block computes.

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
Rewrite the CUDA kernel below with other tile shapes,
and change nothing else about it.

- Reused inputs should be read from second-level cache or memory once a block: enlarge
  the block tile until shared memory or registers are full, 128 x 128 for a product.
- The inner step of a product, 16 to 64, sets how often a block meets a barrier.
- Rows or tiles of a block: one long row, or several short ones.
- Check the tail: a grid one block larger than a multiple of the multiprocessors runs
  a whole wave for it.
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
  local used, kind = percent(kernel, "l2")
  if used then
    say[#say + 1] = ("Second-level cache traffic is at %.0f%% of its peak (%s).")
      :format(used, kind)
  end
  local value1, origin1 = feature(kernel, 1)
  if value1 then
    say[#say + 1] = ("%.0f%% of second-level accesses hit (%s).")
      :format(value1, origin1)
  end
  return table.concat(say, "\n")
end

return {
  name = "tiling_blocking",
  target = "l2",
  summary = "tile shapes of blocks and their inner steps",
  prompt = prompt,
  moves = { "tile_m", "tile_n", "tile_k", "tile_rows", "tile_cols" },
}
