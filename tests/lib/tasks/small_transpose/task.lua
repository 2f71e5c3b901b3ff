-- transpose of examples/tasks on shapes that take no time: candidates of the suites.
return {
  name = "transpose", summary = "matrix transposition, fp32, small",
  args = { { "x", "f32", "in", { "rows", "cols" } }, { "y", "f32", "out", { "cols", "rows" } },
           { "rows", "i32" }, { "cols", "i32" } },
  shapes = {
    smoke    = { { rows = 1, cols = 1 }, { rows = 18, cols = 33 } },
    timed    = { { rows = 200, cols = 240 } },
    held_out = { { rows = 127, cols = 129 }, { rows = 1, cols = 1021 }, { rows = 509, cols = 1 } },
  },
  shapes_cuda = {
    smoke    = { { rows = 1, cols = 1 }, { rows = 18, cols = 33 } },
    timed    = { { rows = 1000, cols = 1500 } },
    held_out = { { rows = 127, cols = 129 }, { rows = 1, cols = 1021 }, { rows = 509, cols = 1 } },
  },
  work = function(s) return { flops = 0, bytes = 8 * s.rows * s.cols } end,
  exact = true,
  reference = { c = "../../../../examples/tasks/transpose/reference.c",
                cuda = "../../../../examples/tasks/transpose/reference.cu" },
  baseline = { c = "../../../../examples/tasks/transpose/baseline.c",
               cuda = "../../../../examples/tasks/transpose/baseline.cu" },
}
