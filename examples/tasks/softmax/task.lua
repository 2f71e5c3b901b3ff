-- Softmax of each row: y = exp(x - max) / sum of exp(x - max), fp32.
-- Legal domain: rows, cols >= 1, inputs finite.

return {
  name = "softmax",
  summary = "softmax of each row, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "y", "f32", "out", { "rows", "cols" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 2, cols = 67 },
    },
    timed = {
      { rows = 256, cols = 1024 },       -- 1 MiB each way
      { rows = 64, cols = 16384 },       -- a row is larger than a first-level cache
      { rows = 512, cols = 128 },        -- both arrays fit a 1 MiB cache
    },
    held_out = {
      { rows = 61, cols = 127 },         -- prime, tile - 1
      { rows = 7, cols = 257 },          -- tile + 1
      { rows = 1, cols = 4099 },
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
  -- Maximum, difference, exponential, sum and product; the exponential as one.
  work = function(s)
    return { flops = 5 * s.rows * s.cols, bytes = 8 * s.rows * s.cols }
  end,
  -- x - max is rounded to fp32 before the exponential: where it is near -87 that
  -- alone is 64 units of error, as much as adding up some 256 terms.
  reduction = function(s) return s.cols > 256 and s.cols or 256 end,
  scale = "result",
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
  schedule = { c = "schedule.lua", cuda = "schedule_cuda.lua" },
}
