-- Layer normalisation of each row, fp32: y = (x - mean) / sqrt(variance + eps)
-- * weight + bias, eps = 1e-5f, variance = mean of (x - mean)^2.
-- Legal domain: rows, cols >= 1, inputs whose squares stay finite in fp32.

return {
  name = "layernorm",
  summary = "layer normalisation of each row, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "weight", "f32", "in", { "cols" } },
    { "bias", "f32", "in", { "cols" } },
    { "y", "f32", "out", { "rows", "cols" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
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
  -- Mean, difference, square and its sum, two products and a sum.
  work = function(s)
    return {
      flops = 8 * s.rows * s.cols,
      bytes = 8 * s.rows * s.cols + 8 * s.cols,
    }
  end,
  reduction = function(s) return s.cols > 256 and s.cols or 256 end,
  -- The mean is rounded before it is subtracted, and the product before the bias
  -- is added. Where these cancel, what is left of the roundings is small beside
  -- mean / deviation * weight and bias, but not beside y.
  tolerance = 1e-3,
  scale = "absolute",
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
