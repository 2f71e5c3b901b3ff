-- Operation fusion: what one pass produced is used while it is on chip.

local prompt = [[
Rewrite the kernel with its passes fused.

- List passes and launches with what each moves. Merge those over the same data, and
  hold a row in registers (16 to 32 floats a thread) instead of reading it again.
- Online forms: maximum with a rescaled sum, Welford's mean and variance.
- Initialisation and epilogue belong into the kernel that does the work.
- One thread makes all results that share an input.
]]

return {
  name = "operation_fusion",
  target = "dram",
  summary = "fewer passes and launches",
  prompt = prompt,
  moves = { "fuse_init", "fuse_softmax", "fuse_passes", "fuse_rows", "fuse_runs" },
}
