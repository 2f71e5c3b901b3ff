-- Rows to signed bytes, a scale a row, in these fp32 operations, each rounded to
-- nearest even, so that the result is one and the same everywhere:
--   top = largest |x| of the row,   scale = top / 127
--   inverse = top < 2^-100 ? 0 : 127 / top,   q = x * inverse rounded to nearest even
-- Legal domain: rows, cols >= 1, inputs finite.

return {
  name = "quantize_int8_rows",
  summary = "rows to int8 with a scale each, exact",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "q", "i8", "out", { "rows", "cols" } },
    { "scale", "f32", "out", { "rows" } },
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
  -- Magnitude, maximum, product, rounding.
  work = function(s)
    return { flops = 4 * s.rows * s.cols, bytes = 5 * s.rows * s.cols + 4 * s.rows }
  end,
  exact = true,
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
