-- Vectorization: do the work of the inner loop on whole vectors, and replace what
-- cannot be done on vectors, such as a call to expf, by what can.

local prompt = [[
Rewrite the inner loops of the kernel with explicit vectors.

- Use the compiler's vector extension, or intrinsics that the machine has:
  typedef float vec __attribute__((vector_size(BYTES), aligned(4), may_alias));
  with BYTES as the machine's vectors have them above.
  Loads and stores go through pointers to it; a scalar times a vec broadcasts.
- Vectorize along contiguous memory: independent results side by side in the
  lanes. A sum along contiguous memory takes one partial sum a lane, added up
  once at the end.
- Compilers may not reorder a float sum or maximum, so such loops stay scalar
  until you write the lanes yourself.
- A scalar libm call in the loop keeps it scalar: write expf as a reduction by
  multiples of ln 2 and a polynomial, exact to about two units in the last
  place, flushing below the normal range. Do not use a coarser approximation.
- Finish the columns that do not fill a vector with a scalar loop.
]]

return {
  name = "vectorization",
  target = "dram",
  summary = "explicit vectors in the inner loop, several at a time",
  prompt = prompt,
  moves = { "vector", "vectors", "exp" },
}
