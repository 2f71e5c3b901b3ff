-- Convolution of images with 3 x 3 filters, fp32, NCHW, stride 1, a border of
-- zeros: y[n][k][i][j] = sum of f[k][c][p][q] x[n][c][i + p - 1][j + q - 1].
-- Legal domain: every size >= 1.

return {
  name = "conv2d",
  summary = "3 x 3 convolution, fp32, NCHW, stride 1, same size",
  args = {
    { "x", "f32", "in", { "n", "c", "h", "w" } },
    { "f", "f32", "in", { "k", "c", 3, 3 } },
    { "y", "f32", "out", { "n", "k", "h", "w" } },
    { "n", "i32" }, { "c", "i32" }, { "h", "i32" }, { "w", "i32" }, { "k", "i32" },
  },
  shapes = {
    smoke = {
      { n = 1, c = 1, h = 1, w = 1, k = 1 },
      { n = 2, c = 3, h = 5, w = 4, k = 2 },
      { n = 1, c = 9, h = 18, w = 35, k = 17 },
    },
    timed = {
      { n = 16, c = 128, h = 56, w = 56, k = 128 },
      { n = 2, c = 320, h = 64, w = 64, k = 320 },     -- of a diffusion model
    },
    held_out = {
      { n = 1, c = 3, h = 7, w = 5, k = 2 },
      { n = 2, c = 13, h = 17, w = 33, k = 19 },       -- prime, tile + 1
      { n = 1, c = 31, h = 9, w = 31, k = 65 },
      { n = 3, c = 5, h = 1, w = 127, k = 33 },
    },
  },
  work = function(s)
    local pixels = s.n * s.h * s.w
    return {
      flops = 18 * pixels * s.c * s.k,
      bytes = 4 * (pixels * (s.c + s.k) + 9 * s.c * s.k),
    }
  end,
  reduction = function(s) return 9 * s.c end,
  scale = "absolute",
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
