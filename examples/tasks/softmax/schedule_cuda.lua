-- How softmax may be written for a GPU.
--
-- fuse_passes: "none" finds the maximum, stores exponentials while adding them
-- up, and scales what it stored; "recompute" computes the exponentials twice
-- instead; "online" finds maximum and sum in one pass; "hold" reads a row once
-- and keeps it. What else there is to choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local lowest = "-3.402823466e38f"

local top = { name = "top", none = { lowest },
              each = "p.v[0] = fmaxf(p.v[0], e);",
              merge = "a.v[0] = fmaxf(a.v[0], b.v[0]);" }

local sum = { name = "sum", none = { "0.0f" }, merge = "a.v[0] += b.v[0];" }

local function summing(each)
  return { name = sum.name, none = sum.none, merge = sum.merge, each = each }
end

local online = {
  name = "online", none = { lowest, "0.0f" },
  each = [[
    const float old = p.v[0];
    p.v[0] = fmaxf(old, e);
    p.v[1] = p.v[1] * EXP(old - p.v[0]) + EXP(e - p.v[0]);]],
  merge = [[
    const float most = fmaxf(a.v[0], b.v[0]);
    a.v[1] = a.v[1] * EXP(a.v[0] - most) + b.v[1] * EXP(b.v[0] - most);
    a.v[0] = most;]],
}

local find_top = { part = top, finish = "const float most = p.v[0];" }
local inverse = "const float inverse = 1.0f / p.v[0];"

return rows.schedule {
  name = "softmax",
  params = "const float *__restrict__ x, float *__restrict__ y, int rows, int cols",
  args = "x, y, rows, cols",
  modes = {
    none = { find_top,
             { part = summing "e = EXP(e - most);\np.v[0] += e;", value = "e",
               finish = inverse },
             { from = "y", value = "e * inverse" } },
    recompute = { find_top,
                  { part = summing "p.v[0] += EXP(e - most);", finish = inverse },
                  { value = "EXP(e - most) * inverse" } },
    online = { { part = online,
                 finish = "const float most = p.v[0];\n"
                          .. "const float inverse = 1.0f / p.v[1];" },
               { value = "EXP(e - most) * inverse" } },
    hold = { find_top,
             { part = summing "e = EXP(e - most);\np.v[0] += e;", map = "e",
               finish = inverse },
             { value = "e * inverse" } },
  },
  longest = "online",
  parameters = rows.parameters({ "none", "recompute", "online", "hold" },
                               { reduces = true, exp = true }),
}
