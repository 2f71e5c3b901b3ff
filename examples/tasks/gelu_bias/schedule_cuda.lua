-- How gelu(x + bias) may be written for a GPU.
--
-- fuse_passes: "none" adds the bias in a pass of its own. tanh: by the library,
-- or as 1 - 2 / (1 + exp 2a), which is the sigmoid of 2a once halved. What else
-- there is to choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local function helpers(w, p)
  w.open("__device__ inline float gelu(float z)")
  w.line("const float a = 0.7978845608f * (z + 0.044715f * z * z * z);")
  w.line("")
  if p.exp == "tanhf" then
    w.line("return 0.5f * z * (1.0f + tanhf(a));")
  elseif p.exp == "expf" then
    w.line("return z / (1.0f + expf(-2.0f * a));")
  else
    w.line("return __fdividef(z, 1.0f + __expf(fminf(-2.0f * a, 80.0f)));")
  end
  w.close()
end

local parameters = rows.parameters({ "none", "fused" }, { splits = true })
parameters[#parameters + 1] = { "exp", { "tanhf", "expf", "fast" } }

return rows.schedule {
  name = "gelu_bias",
  params = "const float *__restrict__ x, const float *__restrict__ bias, "
           .. "float *__restrict__ y, int rows, int cols",
  args = "x, bias, y, rows, cols",
  modes = {
    none = { { columns = { "bias" }, value = "e + $bias" },
             { from = "y", value = "gelu(e)" } },
    fused = { { columns = { "bias" }, value = "gelu(e + $bias)" } },
  },
  helpers = helpers,
  parameters = parameters,
}
