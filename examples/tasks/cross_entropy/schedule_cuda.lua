-- How the loss of each row may be written for a GPU.
--
-- fuse_passes: "none" finds the maximum of a row, then the sum; "online" finds
-- both in one pass; "hold" reads a row once and keeps it. What else there is to
-- choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local lowest = "-3.402823466e38f"

local find_top = {
  part = { name = "top", none = { lowest }, each = "p.v[0] = fmaxf(p.v[0], e);",
           merge = "a.v[0] = fmaxf(a.v[0], b.v[0]);" },
  finish = "const float most = p.v[0];",
}

local function loss(sum)
  return "const int at_target = unsigned(target[row]) % unsigned(cols);\n"
         .. ("loss[row] = logf(%s) + (most - x[at + at_target]);"):format(sum)
end

local sum = {
  part = { name = "sum", none = { "0.0f" }, each = "p.v[0] += EXP(e - most);",
           merge = "a.v[0] += b.v[0];" },
  last = loss "p.v[0]",
}

local online = {
  part = {
    name = "online", none = { lowest, "0.0f" },
    each = [[
      const float old = p.v[0];
      p.v[0] = fmaxf(old, e);
      p.v[1] = p.v[1] * EXP(old - p.v[0]) + EXP(e - p.v[0]);]],
    merge = [[
      const float most = fmaxf(a.v[0], b.v[0]);
      a.v[1] = a.v[1] * EXP(a.v[0] - most) + b.v[1] * EXP(b.v[0] - most);
      a.v[0] = most;]],
  },
  finish = "const float most = p.v[0];",
  last = loss "p.v[1]",
}

return rows.schedule {
  name = "cross_entropy",
  params = "const float *__restrict__ x, const int *__restrict__ target, "
           .. "float *__restrict__ loss, int rows, int cols",
  args = "x, target, loss, rows, cols",
  modes = { none = { find_top, sum }, online = { online }, hold = { find_top, sum } },
  longest = "online",
  parameters = rows.parameters({ "none", "online", "hold" },
                               { reduces = true, exp = true,
                                 no_store = true }),
}
