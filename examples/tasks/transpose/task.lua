-- Transposition y = x', fp32, row-major. Legal domain: rows, cols >= 1.
-- Nothing is computed, so the result is checked bit for bit.

return {
  name = "transpose",
  summary = "matrix transposition, fp32, row-major",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "y", "f32", "out", { "cols", "rows" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 18, cols = 33 },
    },
    timed = {
      { rows = 1024, cols = 1024 },
      { rows = 1000, cols = 1500 },
      { rows = 240, cols = 320 },        -- both arrays fit a 1 MiB cache
    },
    held_out = {
      { rows = 127, cols = 129 },        -- tile - 1, tile + 1
      { rows = 61, cols = 257 },
      { rows = 1, cols = 1021 },
      { rows = 509, cols = 1 },
    },
  },
  shapes_cuda = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 68, cols = 132 },
    },
    timed = {
      { rows = 8192, cols = 4096 },      -- 128 MiB
      { rows = 5000, cols = 6000 },      -- no multiples of a tile
    },
    held_out = {
      { rows = 127, cols = 129 },        -- tile - 1, tile + 1
      { rows = 61, cols = 257 },
      { rows = 1, cols = 1021 },
      { rows = 509, cols = 1 },
    },
  },
  work = function(s)
    return { flops = 0, bytes = 8 * s.rows * s.cols }
  end,
  exact = true,
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
  schedule = { c = "schedule.lua", cuda = "schedule_cuda.lua" },
}
