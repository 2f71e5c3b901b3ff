-- How rmsnorm may be written for a GPU.
--
-- fuse_passes: "none" scales and multiplies by the weight in passes of their own;
-- "recompute" does both while it reads x again; "hold" reads a row once and
-- keeps it. What else there is to choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local squares = {
  part = { name = "squares", none = { "0.0f" }, each = "p.v[0] += e * e;",
           merge = "a.v[0] += b.v[0];" },
  finish = "const float scale = 1.0f / sqrtf(p.v[0] / cols + 1e-5f);",
}

local fused = { squares, { columns = { "weight" }, value = "e * scale * $weight" } }

return rows.schedule {
  name = "rmsnorm",
  params = "const float *__restrict__ x, const float *__restrict__ weight, "
           .. "float *__restrict__ y, int rows, int cols",
  args = "x, weight, y, rows, cols",
  modes = {
    none = { squares, { value = "e * scale" },
             { from = "y", columns = { "weight" }, value = "e * $weight" } },
    recompute = fused,
    hold = fused,
  },
  longest = "recompute",
  parameters = rows.parameters({ "none", "recompute", "hold" },
                               { reduces = true }),
}
