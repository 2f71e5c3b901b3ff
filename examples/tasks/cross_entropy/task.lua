-- Cross-entropy of each row of logits, fp32:
-- loss = log(sum of exp(x)) - x[target], target read as unsigned, modulo cols.
-- Legal domain: rows, cols >= 1, inputs finite.

return {
  name = "cross_entropy",
  summary = "cross-entropy of each row of logits, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "target", "i32", "in", { "rows" } },
    { "loss", "f32", "out", { "rows" } },
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
      { rows = 1024, cols = 32000 },     -- a vocabulary
    },
    held_out = {
      { rows = 61, cols = 127 },         -- prime, tile - 1
      { rows = 129, cols = 1 },
      { rows = 37, cols = 4100 },        -- a little over a tile, a multiple of 4
      { rows = 33, cols = 33001 },       -- longer than any block holds
    },
  },
  -- Maximum, difference, exponential and sum.
  work = function(s)
    return { flops = 4 * s.rows * s.cols, bytes = 4 * s.rows * s.cols + 8 * s.rows }
  end,
  reduction = function(s) return s.cols > 256 and s.cols or 256 end,
  -- Where the target has nearly all the weight the loss is the small difference
  -- of the logarithm and a logit, which may be thousands.
  tolerance = 1e-3,
  scale = "result",
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
