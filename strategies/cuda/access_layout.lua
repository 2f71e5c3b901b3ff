-- Access layout: how data lies in shared memory and which way it takes through the caches.

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
Rewrite the CUDA kernel below with better paths for its data,
and change nothing else about it.

- Where one side of a copy is strided, stage a tile in shared memory and walk both
  sides along rows.
- Shared memory has 32 banks of 4 bytes. A column of a tile 32 wide lies in one bank:
  pad rows by one element (by 16 bytes where vectors are stored), or exclusive-or the
  column with the row.
- What is read once and written once should not push out what is used again:
  __ldcs and __stcs. What all blocks read again is loaded plainly or with __ldg.
- Repack an operand once when it is read many times in another order.
- A row may be kept in shared memory instead of registers; dynamic shared memory is
  asked for in the launch line, 48 KiB at most without more ado.
- Structures of arrays, not arrays of structures.
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
  local value8, origin8 = feature(kernel, 8)
  if value8 then
    say[#say + 1] = ("%.0f%% of loads and stores are coalesced (%s).")
      :format(value8, origin8)
  end
  local value7, origin7 = feature(kernel, 7)
  if value7 then
    say[#say + 1] = ("Shared-memory bank conflicts: %.0f%% (%s).")
      :format(value7, origin7)
  end
  return table.concat(say, "\n")
end

return {
  name = "access_layout",
  target = "dram",
  summary = "coalescing, bank conflicts, cache hints",
  prompt = prompt,
  moves = { "pad", "pack", "swizzle", "load_hint", "store_hint" },
}
