-- Sum of each row, fp32. Legal domain: rows, cols >= 1, sums that stay finite.

return {
  name = "reduce_sum",
  summary = "sum of each row, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "y", "f32", "out", { "rows" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 6, cols = 67 },
    },
    timed = {
      { rows = 512, cols = 2048 },
      { rows = 64, cols = 16384 },       -- a row is larger than a first-level cache
      { rows = 4096, cols = 48 },        -- short rows; all of x fits a 1 MiB cache
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
  work = function(s)
    return { flops = s.rows * s.cols, bytes = 4 * s.rows * s.cols + 4 * s.rows }
  end,
  reduction = function(s) return s.cols end,
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
  schedule = { c = "schedule.lua", cuda = "schedule_cuda.lua" },
}
