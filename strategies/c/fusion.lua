-- Fusion: make fewer passes over memory. What one pass produced is used by the
-- next while it is still in a register.

local prompt = [[
Rewrite the kernel so that it passes over memory fewer times.

- List its passes: which array each reads and writes, and how often every element
  is moved. Then merge passes over the same data.
- A pass that only initialises disappears into the first pass that accumulates.
- A maximum and a sum of exponentials can share one pass when the sum is rescaled
  as the maximum grows. A value that is cheap to compute may be computed again
  instead of being stored and loaded.
- Several output rows that read the same input can be computed in one pass: two to
  eight rows, each with its own accumulator in a register.
- A neighbourhood that separates into rows and columns can keep its row results
  for the following rows instead of computing them anew.
- Watch registers: about 16 vectors (32 with AVX-512). Past that, sums spill.
- Do not lose a case: one row, one column, a row count that is no multiple of
  yours. Inputs are read-only and outputs start with arbitrary contents.
]]

return {
  name = "fusion",
  target = "dram",
  summary = "fewer passes over memory, more results from each",
  prompt = prompt,
  moves = { "fuse_rows", "fuse_init", "fuse_passes" },
}
