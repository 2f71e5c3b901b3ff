-- Scheduling: which block does what, when.

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
Rewrite the CUDA kernel below with another schedule of its blocks,
and change nothing else about it.

- Neighbouring blocks should share inputs: walk tiles in groups.
- A persistent grid of a few blocks a multiprocessor (sm_count in the launch line) loops
  over tiles, in strides or in contiguous chunks.
- Which index is fastest, in the grid and in a block.
- Avoid a last wave that fills a part of the machine.
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
  local value3, origin3 = feature(kernel, 3)
  if value3 then
    say[#say + 1] = ("Multiprocessors issue in %.0f%% of cycles (%s).")
      :format(value3, origin3)
  end
  return table.concat(say, "\n")
end

return {
  name = "scheduling_autotuning",
  target = "sm",
  summary = "order of blocks, persistent grids",
  prompt = prompt,
  moves = { "order", "swizzle_blocks", "persistent", "lanes" },
}
