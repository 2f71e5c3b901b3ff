-- How row sums may be written for a GPU.
--
-- fuse_passes: "none" leaves the partial sums of a row's threads to a second
-- launch; "one" adds them up in the block; "hold" also asks for a whole row at
-- once. What else there is to choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local part = { name = "sum", none = { "0.0f" }, each = "p.v[0] += e;",
               merge = "a.v[0] += b.v[0];" }
local one = { { part = part, last = "y[row] = p.v[0];" } }

return rows.schedule {
  name = "reduce_sum",
  params = "const float *__restrict__ x, float *__restrict__ y, int rows, int cols",
  args = "x, y, rows, cols",
  modes = { none = { { part = part, apart = true } }, one = one, hold = one },
  longest = "one",
  parameters = rows.parameters({ "none", "one", "hold" },
                               { reduces = true, no_store = true }),
}
