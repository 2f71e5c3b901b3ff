-- gemm_f32 of examples/tasks on shapes that take little time: candidates of the suites.
return {
  name = "gemm_f32", summary = "matrix product c = a b, fp32, row-major, small",
  args = { { "a", "f32", "in", { "m", "k" } }, { "b", "f32", "in", { "k", "n" } },
           { "c", "f32", "out", { "m", "n" } }, { "m", "i32" }, { "n", "i32" }, { "k", "i32" } },
  shapes = {
    smoke    = { { m = 1, n = 1, k = 1 }, { m = 17, n = 33, k = 9 } },
    timed    = { { m = 256, n = 256, k = 2048 } },
    held_out = { { m = 127, n = 129, k = 61 }, { m = 1, n = 255, k = 131 },
                 { m = 133, n = 1, k = 67 } },
  },
  work = function(s)
    return { flops = 2 * s.m * s.n * s.k, bytes = 4 * (s.m * s.k + s.k * s.n + s.m * s.n) }
  end,
  -- 3xTF32 is up to eight units off in one product: as much as adding up eight terms.
  reduction = function(s) return s.k > 8 and s.k or 8 end,
  scale = "absolute",
  reference = { cuda = "../../../../examples/tasks/gemm_f32/reference.cu" },
  baseline = { cuda = "../../../../examples/tasks/gemm_f32/baseline.cu" },
}
