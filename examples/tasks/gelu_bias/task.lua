-- Gaussian error linear unit of x + bias, tanh form, fp32: with z = x + bias,
-- y = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))).
-- Legal domain: rows, cols >= 1, inputs finite.

return {
  name = "gelu_bias",
  summary = "gelu(x + bias), tanh form, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "bias", "f32", "in", { "cols" } },
    { "y", "f32", "out", { "rows", "cols" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 6, cols = 67 },
    },
    timed = {
      { rows = 64, cols = 1024 },        -- 256 KiB each way
      { rows = 8, cols = 8192 },
      { rows = 128, cols = 128 },
    },
    held_out = {
      { rows = 61, cols = 127 },         -- prime, tile - 1
      { rows = 7, cols = 257 },          -- tile + 1
      { rows = 2, cols = 4099 },
      { rows = 129, cols = 1 },
    },
  },
  shapes_cuda = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 6, cols = 268 },
    },
    timed = {
      { rows = 8192, cols = 4096 },      -- 128 MiB, tokens x hidden size
      { rows = 4096, cols = 8192 },
    },
    held_out = {
      { rows = 61, cols = 127 },         -- prime, tile - 1
      { rows = 129, cols = 1 },
      { rows = 37, cols = 4100 },        -- a little over a tile, a multiple of 4
      { rows = 33, cols = 33001 },       -- longer than any block holds
    },
  },
  -- Ten products and sums, the hyperbolic tangent as one.
  work = function(s)
    return {
      flops = 10 * s.rows * s.cols,
      bytes = 8 * s.rows * s.cols + 4 * s.cols,
    }
  end,
  -- A chain of some ten roundings, the worst where 1 + tanh cancels.
  reduction = function() return 16 end,
  scale = "absolute",
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
  schedule = { c = "schedule.lua", cuda = "schedule_cuda.lua" },
}
