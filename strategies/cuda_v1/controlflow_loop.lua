-- Control flow: straight loops without divergence.

local prompt = [[
Rewrite the kernel with better loops.

- Unroll loops with constant bounds (#pragma unroll), others by two to eight with the
  rest apart. Arrays in registers want constant indices.
- Take guards out of the inner loop: whole tiles on one path, cut ones on another, the
  choice the same for a block.
- Divisions and remainders by launch-time values cost some 20 instructions: once a
  thread, not once an element.
- A second pass over the same data may run backward and begin with what is in cache.
]]

return {
  name = "controlflow_loop",
  target = "sm",
  summary = "unrolling, direction of loops, no divergence",
  prompt = prompt,
  moves = { "unroll", "sweep" },
}
