-- softmax of examples/tasks on shapes that take no time: candidates of the suites.
return {
  name = "softmax", summary = "softmax of each row, fp32, small",
  args = { { "x", "f32", "in", { "rows", "cols" } }, { "y", "f32", "out", { "rows", "cols" } },
           { "rows", "i32" }, { "cols", "i32" } },
  shapes = {
    smoke    = { { rows = 1, cols = 1 }, { rows = 3, cols = 37 } },
    timed    = { { rows = 32, cols = 1024 } },
    held_out = { { rows = 61, cols = 127 }, { rows = 2, cols = 4099 }, { rows = 129, cols = 1 } },
  },
  shapes_cuda = {
    smoke    = { { rows = 1, cols = 1 }, { rows = 3, cols = 37 } },
    timed    = { { rows = 1024, cols = 2048 } },
    held_out = { { rows = 61, cols = 127 }, { rows = 2, cols = 4099 }, { rows = 129, cols = 1 } },
  },
  work = function(s) return { flops = 5 * s.rows * s.cols, bytes = 8 * s.rows * s.cols } end,
  reduction = function(s) return s.cols > 256 and s.cols or 256 end,
  scale = "result",
  reference = { c = "../../../../examples/tasks/softmax/reference.c",
                cuda = "../../../../examples/tasks/softmax/reference.cu" },
  baseline = { c = "../../../../examples/tasks/softmax/baseline.c",
               cuda = "../../../../examples/tasks/softmax/baseline.cu" },
}
