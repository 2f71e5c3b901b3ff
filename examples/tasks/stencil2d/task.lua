-- A 3 x 3 smoothing filter, fp32: weights 1 2 1 / 2 4 2 / 1 2 1 over 16. Outside
-- the image the nearest element inside counts, so a border row or column is its
-- own neighbour. Legal domain: rows, cols >= 1.

return {
  name = "stencil2d",
  summary = "3 x 3 smoothing filter with clamped borders, fp32",
  args = {
    { "x", "f32", "in", { "rows", "cols" } },
    { "y", "f32", "out", { "rows", "cols" } },
    { "rows", "i32" }, { "cols", "i32" },
  },
  shapes = {
    smoke = {
      { rows = 1, cols = 1 },
      { rows = 3, cols = 5 },
      { rows = 2, cols = 37 },
    },
    timed = {
      { rows = 1024, cols = 1024 },
      { rows = 2000, cols = 600 },
      { rows = 240, cols = 320 },        -- both arrays fit a 1 MiB cache
    },
    held_out = {
      { rows = 61, cols = 127 },         -- prime, tile - 1
      { rows = 33, cols = 257 },         -- tile + 1
      { rows = 1, cols = 1021 },
      { rows = 131, cols = 1 },
    },
  },
  -- Eight additions, four products by two (the centre's counts as one) and a
  -- scaling: what the formula says, not what a separable kernel needs.
  work = function(s)
    return { flops = 13 * s.rows * s.cols, bytes = 8 * s.rows * s.cols }
  end,
  reduction = function() return 9 end,
  scale = "absolute",
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
  schedule = "schedule.lua",
}
