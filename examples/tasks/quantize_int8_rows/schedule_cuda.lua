-- How quantisation of rows may be written for a GPU.
--
-- fuse_passes: "none" reads a row for its largest magnitude, then again; "hold"
-- reads it once and keeps it. The arithmetic is fixed by the task, so that the
-- result is exact. What else there is to choose is in kernelband/emit/rows.lua.
local rows = require "kernelband.emit.rows"

local passes = {
  {
    part = { name = "top", none = { "0.0f" }, each = "p.v[0] = fmaxf(p.v[0], fabsf(e));",
             merge = "a.v[0] = fmaxf(a.v[0], b.v[0]);" },
    finish = "const float top = p.v[0];\n"
             .. "const float inverse = top < 0x1p-100f ? 0.0f : 127.0f / top;",
    last = "scale[row] = top / 127.0f;",
  },
  { value = "e * inverse" },
}

local stores = { [1] = "signed char", [2] = "char2", [4] = "char4" }

-- A vector of whole steps, stored as bytes.
local function helpers(w, p)
  w.open("__device__ inline signed char whole(float x)")
  w.line("return (signed char)__float2int_rn(x);")
  w.close()
  w.open("template <int V> __device__ inline void store_bytes(signed char *to, vec<V> v)")
  for n = 1, p.vector do
    if stores[n] then
      local parts = {}
      for i = 1, n do parts[i] = ("whole(v.e[%d])"):format(i - 1) end
      local value = table.concat(parts, ", ")
      if n > 1 then value = ("make_%s(%s)"):format(stores[n], value) end
      local at = n > 1 and ("reinterpret_cast<%s *>(to)"):format(stores[n]) or "to"
      w.line("if constexpr (V == %d)", n)
      w.line(p.store_hint == "stream" and "    __stcs(%s, %s);" or "    *(%s) = %s;", at,
             value)
    end
  end
  w.close()
end

return rows.schedule {
  name = "quantize_int8_rows",
  params = "const float *__restrict__ x, signed char *__restrict__ q, "
           .. "float *__restrict__ scale, int rows, int cols",
  args = "x, q, scale, rows, cols",
  put = "store_bytes<V>(q + at + c, v)",
  modes = { none = passes, hold = passes },
  longest = "none",
  helpers = helpers,
  parameters = rows.parameters({ "none", "hold" }, { reduces = true }),
}
