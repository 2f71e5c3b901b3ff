-- Control flow: straight loops without divergence.

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
Rewrite the CUDA kernel below with better loops,
and change nothing else about it.

- Unroll loops with constant bounds (#pragma unroll), others by two to eight with the
  rest apart. Arrays in registers want constant indices.
- Take guards out of the inner loop: whole tiles on one path, cut ones on another, the
  choice the same for a block.
- Divisions and remainders by launch-time values cost some 20 instructions: once a
  thread, not once an element.
- A second pass over the same data may run backward and begin with what is in cache.
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
  name = "controlflow_loop",
  target = "sm",
  summary = "unrolling, direction of loops, no divergence",
  prompt = prompt,
  moves = { "unroll", "sweep" },
}
