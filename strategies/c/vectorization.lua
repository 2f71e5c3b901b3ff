-- Vectorization: do the work of the inner loop on whole vectors, and replace what
-- cannot be done on vectors, such as a call to expf, by what can.

local prompt = [[
Rewrite the inner loops of the C kernel below with explicit vectors, and change
nothing else about it.

- Use the compiler's vector extension, not intrinsics of one machine:
  typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
  Loads and stores go through pointers to it; a scalar times a vec broadcasts.
- Vectorize along contiguous memory: independent results side by side in the
  lanes. A sum along contiguous memory takes one partial sum a lane, added up
  once at the end.
- Compilers may not reorder a float sum or maximum, so such loops stay scalar
  until you write the lanes yourself. The order of a sum may change.
- A scalar libm call in the loop keeps it scalar: write expf as a reduction by
  multiples of ln 2 and a polynomial, exact to about two units in the last
  place, flushing below the normal range. Do not use a coarser approximation.
- Finish the columns that do not fill a vector with a scalar loop. Sizes are
  arbitrary, from 1 up, and rows need not be aligned.
- Do not touch the signature, use fp16 or fast-math flags, or change the loops
  around the inner one.
]]

return {
  name = "vectorization",
  target = "dram",
  summary = "explicit vectors in the inner loop, several at a time",
  prompt = prompt,
  facts = { "dram" },
  moves = { "vector", "vectors", "exp" },
}
