-- Vectorization: wide loads, and as many warps as the block needs.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the Triton kernel below so that each thread moves more bytes an instruction,
and change nothing else about it.

- A block of E elements on W warps gives a thread E / (32 W) of them: choose num_warps so
  that it is 4 to 16, contiguous. Two or four warps do for small blocks.
- Tell the compiler what it cannot see: tl.multiple_of and tl.max_contiguous on offsets,
  strides of 1 as constants, int32 offsets where sizes allow.
- Masks cost: where a whole block is inside, load without one; `other=` only where the
  value is used.
- Half-precision data is loaded as it is and widened in registers.
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
  name = "vectorization",
  target = "dram",
  summary = "warps, and how wide a thread loads",
  prompt = prompt,
  moves = { "warps1", "warps2", "warps3", "warps4", "warps5", "warps6" },
}
