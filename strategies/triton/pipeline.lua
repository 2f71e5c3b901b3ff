-- Pipeline: loads of later steps while this one is computed.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the Triton kernel below so that loads and arithmetic overlap,
and change nothing else about it.

- A loop over blocks is pipelined by num_stages of the launch or of tl.range(.., num_stages=):
  3 to 5 for products on Hopper, 2 to 3 where shared memory is short. Each stage costs one
  tile of each operand in shared memory.
- Loads of the loop should depend on the counter alone, not on results of this turn.
- Advance pointers by a constant; hoist what does not change, masks too.
- tl.static_range unrolls short loops; long ones want tl.range.
- Two accumulators break a chain of additions.
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
  local used, kind = percent(kernel, "sm")
  if used then
    say[#say + 1] = ("Arithmetic is at %.0f%% of its peak (%s)."):format(used, kind)
  end
  local phi, kinds = kernel.phi, kernel.phi_kind
  if type(phi) == "table" and type(phi[5]) == "number" and type(kinds) == "table"
     and kinds[5] ~= "missing" then
    say[#say + 1] = ("Occupancy is %.0f%% (%s).")
      :format(100 * phi[5], tostring(kinds[5]))
  end
  return table.concat(say, "\n")
end

return {
  name = "pipeline",
  target = "sm",
  summary = "stages of loops, loads ahead of arithmetic",
  prompt = prompt,
  moves = { "stages1", "stages2", "stages3", "stages4", "stages5", "stages6" },
}
