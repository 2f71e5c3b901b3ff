-- Memory layout: where data lies on chip.

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
Rewrite the CUDA kernel below with another layout in shared memory,
and change nothing else about it.

- Pad the rows of a tile by one element, by 16 bytes where vectors are stored, or
  exclusive-or the column with the row: a warp must meet 32 different banks.
- Interleave private counters so that warps meet different banks.
- Keep a row in shared memory where registers do not suffice, and in registers where
  they do.
- Repack an operand that is read many times in another order.
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
  local used, kind = percent(kernel, "dram")
  if used then
    say[#say + 1] = ("Memory bandwidth is at %.0f%% of its peak (%s).")
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
  name = "memory_layout",
  target = "dram",
  summary = "padding, swizzles, packing in shared memory",
  prompt = prompt,
  moves = { "pad", "pack", "swizzle" },
}
