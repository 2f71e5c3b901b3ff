-- Reordering: which program runs when, and which loop is outside.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the Triton kernel below with another order of its work,
and change nothing else about it.

- Programs that share operands should run together: number them in groups of GROUP_M rows
  of tiles, so that what one reads is in the second-level cache for its neighbours.
- Persistent programs (one a multiprocessor, a loop over tiles) save launches and a last
  wave; heavy tiles first, so that light ones fill the end.
- Causal work: skip tiles that are masked whole, treat the diagonal apart.
- Exchange loops so that what is reused stays, and the reduction is innermost.
- Split a long reduction over programs when there are few of them, and add up at the end.
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
  name = "reordering",
  target = "sm",
  summary = "order of programs and of loops",
  prompt = prompt,
  moves = { "group1", "group2", "group3", "group4" },
}
