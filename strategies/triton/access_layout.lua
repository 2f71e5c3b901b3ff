-- Access and layout: which addresses neighbours read.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the Triton kernel below with better patterns of access,
and change nothing else about it.

- The contiguous axis of a tensor goes along the last axis of the block; then a warp reads
  whole lines. Transpose in registers (tl.trans) rather than by strided loads.
- Pass strides, and take strides of 1 as constants, instead of calling .contiguous().
- Data read once: eviction_policy="evict_first"; operands shared by programs:
  "evict_last" only where they are reused by later programs of the same launch.
- Gathers through an index: load the indices once a block, make rows contiguous.
- Block pointers or tensor descriptors where the hardware copies tiles by itself.
- Atomics to few addresses: sum inside the program first.
- Keep the names and arguments of the functions that are called from outside, and the
  result for every shape. Import nothing but torch, triton and math.
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
    say[#say + 1] = ("Memory bandwidth is at %.0f%% of its peak (%s)."):format(used, kind)
  end
  return table.concat(say, "\n")
end

return {
  name = "access_layout",
  target = "dram",
  summary = "which element lies where, and who reads it",
  prompt = prompt,
  moves = {},
}
