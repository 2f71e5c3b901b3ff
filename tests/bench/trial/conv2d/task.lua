-- The convolution of examples/tasks/conv2d at sizes for one core.
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
    smoke = { { n = 1, c = 1, h = 1, w = 1, k = 1 }, { n = 2, c = 3, h = 5, w = 4, k = 2 } },
    timed = { { n = 1, c = 16, h = 56, w = 56, k = 16 }, { n = 1, c = 32, h = 28, w = 28, k = 32 },
              { n = 2, c = 3, h = 64, w = 64, k = 8 } },
    held_out = { { n = 1, c = 3, h = 7, w = 5, k = 2 }, { n = 1, c = 13, h = 17, w = 33, k = 19 },
                 { n = 3, c = 5, h = 1, w = 127, k = 7 } },
  },
  work = function(s)
    local pixels = s.n * s.h * s.w
    return { flops = 18 * pixels * s.c * s.k,
             bytes = 4 * (pixels * (s.c + s.k) + 9 * s.c * s.k) }
  end,
  reduction = function(s) return 9 * s.c end,
  scale = "absolute",
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
}
