-- Control flow: straight loops without divergence.

local prompt = [[
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
]]

return {
  name = "controlflow_loop",
  target = "sm",
  summary = "unrolling, direction of loops, no divergence",
  prompt = prompt,
  facts = { "sm", "lanes" },
  moves = { "unroll", "sweep" },
}
