-- How layernorm may be written for a GPU.
--
-- fuse_passes: "none" takes a pass each for mean, variance, normalisation, and
-- weight and bias; "recompute" does the last two in one; "online" finds mean and
-- variance in one pass (Welford; merged as by Chan, Golub & LeVeque 1979); "hold"
-- reads a row once and keeps it. The rest is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local function sum(name, each)
  return { name = name, none = { "0.0f" }, each = each, merge = "a.v[0] += b.v[0];" }
end

local mean = { part = sum("sum", "p.v[0] += e;"),
               finish = "const float mean = p.v[0] / cols;" }
local spread = { part = sum("squares", "p.v[0] += (e - mean) * (e - mean);"),
                 finish = "const float scale = 1.0f / sqrtf(p.v[0] / cols + 1e-5f);" }

-- Fields: how many, their mean, the sum of squared distances from it.
local welford = {
  part = {
    name = "spread", none = { "0.0f", "0.0f", "0.0f" },
    each = [[
      p.v[0] += 1.0f;
      const float off = e - p.v[1];
      p.v[1] += __fdividef(off, p.v[0]);
      p.v[2] += off * (e - p.v[1]);]],
    merge = [[
      const float n = a.v[0] + b.v[0], off = b.v[1] - a.v[1];
      const float share = n > 0.0f ? b.v[0] / n : 0.0f;
      a.v[1] += off * share;
      a.v[2] += b.v[2] + off * off * (a.v[0] * share);
      a.v[0] = n;]],
  },
  finish = "const float mean = p.v[1];\n"
           .. "const float scale = 1.0f / sqrtf(p.v[2] / cols + 1e-5f);",
}

local last = { columns = { "weight", "bias" },
               value = "(e - mean) * scale * $weight + $bias" }

return rows.schedule {
  name = "layernorm",
  params = "const float *__restrict__ x, const float *__restrict__ weight, "
           .. "const float *__restrict__ bias, float *__restrict__ y, int rows, int cols",
  args = "x, weight, bias, y, rows, cols",
  modes = {
    none = { mean, spread, { value = "(e - mean) * scale" },
             { from = "y", columns = { "weight", "bias" }, value = "e * $weight + $bias" } },
    recompute = { mean, spread, last },
    online = { welford, last },
    hold = { mean, spread, last },
  },
  longest = "recompute",
  parameters = rows.parameters({ "none", "recompute", "online", "hold" },
                               { reduces = true }),
}
