-- A 7-point stencil on a box, fp32: y = 0.4f x + 0.1f (sum of the six neighbours),
-- those outside being 0. x and y are [nz][ny][nx].
-- Legal domain: nz, ny, nx >= 1, ny and nz at most 65535.

return {
  name = "stencil3d",
  summary = "7-point stencil on a box, fp32",
  args = {
    { "x", "f32", "in", { "nz", "ny", "nx" } },
    { "y", "f32", "out", { "nz", "ny", "nx" } },
    { "nz", "i32" }, { "ny", "i32" }, { "nx", "i32" },
  },
  shapes = {
    smoke = {
      { nz = 1, ny = 1, nx = 1 },
      { nz = 3, ny = 5, nx = 4 },
      { nz = 9, ny = 17, nx = 68 },
    },
    timed = {
      { nz = 256, ny = 256, nx = 512 },            -- 128 MiB
      { nz = 200, ny = 300, nx = 400 },
    },
    held_out = {
      { nz = 31, ny = 33, nx = 127 },
      { nz = 1, ny = 129, nx = 36 },
      { nz = 67, ny = 1, nx = 5 },
    },
  },
  work = function(s)
    local n = s.nz * s.ny * s.nx
    return { flops = 8 * n, bytes = 8 * n }
  end,
  reduction = function() return 7 end,
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
