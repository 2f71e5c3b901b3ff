-- How gelu(x + bias) may be written.
--
-- fuse_passes "none" adds the bias in one pass and applies gelu in a second, in
-- place; "all" does both at once. Tiles of tile_rows x tile_cols go through the
-- passes one after the other, in the order `order`; fuse_rows rows share what is
-- read of the bias. exp says what the curve is computed with: tanhf, expf, or the
-- polynomial of softmax.

local code = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 4, 16, 64 } },                     -- 0: no groups
  { "tile_cols", { 0, 256, 1024 } },                     -- 0: not blocked
  { "vector", { 1, 4, 8, 16 } },                         -- floats in a vector
  { "exp", { "tanh", "libm", "poly" } },
  { "fuse_passes", { "none", "all" } },
  { "fuse_rows", { 1, 2, 4 } },
  { "unroll", { 1, 2, 4 } },                             -- vectors a loop turn
  { "prefetch", { 0, 128, 512 } },                       -- floats ahead
  { "order", { "rc", "cr" } },                           -- rows or blocks first
  { "sweep", { "forward", "backward" } },                -- of the last pass
  { "pack", { 0, 1 } },                                  -- sums apart from y
  { "stream", { 0, 1 } },                                -- stores past the cache
}

local function valid(p) return p.unroll * p.fuse_rows <= 8 end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  local whole = p.fuse_passes == "all"
  if whole then out.pack = 0 end
  if p.tile_rows <= p.fuse_rows or whole and p.tile_cols == 0 then out.tile_rows = 0 end
  if p.tile_cols == 0 then out.order = "rc" end
  return out
end

-- gelu of one float and of a vector. With z = x + bias and a = sqrt(2 / pi)
-- (z + 0.044715 z^3) it is z / 2 (1 + tanh a), which is z / (1 + exp -2a): with
-- e = exp(-2|a|), which no z makes overflow, z or, for negative z, z e over 1 + e.
local function emit_gelu(w, p, name, type, all)
  w.open("static inline void %s(%s *at)", name, type)
  w.line("const %s z = *at;", type)
  if p.exp == "tanh" then
    w.line("%s a = 0.7978845608f * (z + 0.044715f * z * z * z);", type)
    w.line("")
    if all then
      w.line("for (int q = 0; q < %d; q++)", p.vector)
      w.line("    a[q] = tanhf(a[q]);")
    end
    w.line("*at = 0.5f * z * (1.0f + %s);", all and "a" or "tanhf(a)")
  else
    w.line("const %s a = 1.5957691216f * (z + 0.044715f * z * z * z);", type)
    if all then
      w.line("const bits positive = (bits)(z >= 0.0f);")
      w.line("vec e = (vec)((bits)a | 0x80000000u), top;")
    else
      w.line("float e = -fabsf(a);")
    end
    w.line("")
    w.line("%s(&e);", all and "exp_all" or "exp_one")
    if all then
      w.line("top = (vec)((positive & (bits)z) | (~positive & (bits)(z * e)));")
    end
    w.line("*at = %s / (1.0f + e);", all and "top" or "(z >= 0.0f ? z : z * e)")
  end
  w.close()
end

-- One pass over n columns of `rows` rows: y = x + bias, gelu of x, or both.
local function emit_pass(w, p, pass, rows)
  local in_place = pass.from == "y"
  local type = p.vector > 1 and "vec" or "float"
  local streams_one = pass.streams and p.vector == 1
  w.open("static inline void %s_%d(%s%sfloat *restrict y, ptrdiff_t n%s%s)", pass.name, rows,
         in_place and "" or ("const float *restrict %s, "):format(pass.from),
         pass.adds and "const float *restrict bias, " or "",
         (in_place or rows == 1) and "" or (", ptrdiff_t %s_row"):format(pass.from),
         rows > 1 and ", ptrdiff_t y_row" or "")
  code.loop(w, p, rows, pass.backward, pass.from, function(u, at)
    if pass.adds then
      w.line("const %s b%d = %s;", type, u, code.load(p, "bias + " .. at))
    end
    for r = 0, rows - 1 do
      local z = ("z%d_%d"):format(r, u)
      w.line("%s %s = %s%s;", type, z, code.load(p, code.at_row(pass.from, r, at)),
             pass.adds and " + b" .. u or "")
      if pass.curves then w.line("%s(&%s);", p.vector > 1 and "gelu_all" or "gelu_one", z) end
      code.store(w, p, pass.streams, code.at_row("y", r, at), z)
    end
  end, function(at)
    for r = 0, rows - 1 do
      w.line("float z%d = %s%s;", r, code.element(code.at_row(pass.from, r, at)),
             pass.adds and (" + bias[%s]"):format(at) or "")
      if pass.curves then w.line("gelu_one(&z%d);", r) end
      local to = code.at_row("y", r, at)
      if streams_one then
        w.line("put(%s, &z%d);", to, r)
      else
        w.line("%s = z%d;", code.element(to), r)
      end
    end
  end)
  w.close()
end

local function passes_of(p)
  local passes
  if p.fuse_passes == "all" then
    passes = { { name = "finish", adds = true, curves = true, from = "x" } }
  else
    passes = { { name = "add", adds = true, from = "x" },
               { name = "curve", curves = true, from = p.pack == 1 and "z" or "y" } }
  end
  local last = passes[#passes]
  last.backward, last.streams = p.sweep == "backward", p.stream == 1
  return passes
end

-- Calls of a pass for the rows of a tile, fuse_rows at a time.
local function emit_calls(w, p, pass)
  local c = p.tile_cols > 0 and " + c" or ""
  local function address(array)
    if array == "z" then return "kept + (r - r0) * wide" end
    return ("%s + r * n%s"):format(array, c)
  end
  local function call(rows)
    local to = pass.name == "add" and p.pack == 1 and "z" or "y"
    local in_place = pass.from == "y"
    local strides = ""
    for _, array in ipairs(rows > 1 and { in_place and "" or pass.from, to } or {}) do
      if array ~= "" then strides = strides .. (array == "z" and ", wide" or ", n") end
    end
    w.line("%s_%d(%s%s%s, %s%s);", pass.name, rows,
           in_place and "" or address(pass.from) .. ", ",
           pass.adds and ("bias%s, "):format(c) or "", address(to),
           p.tile_cols > 0 and "wide" or "n", strides)
  end
  w.line("for (r = r0; r + %d <= end; r += %d) {", p.fuse_rows, p.fuse_rows)
  call(p.fuse_rows)
  w.line("}")
  if p.fuse_rows > 1 then
    w.line("for (; r < end; r++) {")
    call(1)
    w.line("}")
  end
end

local function emit_entry(w, p)
  local group = p.tile_rows > 0 and p.tile_rows or p.fuse_rows
  local blocked = p.tile_cols > 0
  w.open("void gelu_bias(const float *x, const float *bias, float *y, "
         .. "int32_t rows, int32_t cols)")
  w.line("const ptrdiff_t n = cols;")
  if p.pack == 1 then
    w.line("float *kept = scratch(%d * %s);", group,
           blocked and ("least(%d, n)"):format(p.tile_cols) or "n")
  end
  w.line("")
  local function rows()
    w.line("for (ptrdiff_t r0 = 0; r0 < rows; r0 += %d) {", group)
  end
  local function columns()
    if blocked then w.line("for (ptrdiff_t c = 0; c < n; c += %d) {", p.tile_cols) end
  end
  if p.order == "cr" then
    columns()
    rows()
  else
    rows()
    columns()
  end
  w.line("const ptrdiff_t end = least(r0 + %d, rows);", group)
  if blocked then
    w.line("const ptrdiff_t wide = least(%d, n - c);", p.tile_cols)
  elseif p.pack == 1 then
    w.line("const ptrdiff_t wide = n;")
  end
  w.line("ptrdiff_t r;")
  w.line("")
  for _, pass in ipairs(passes_of(p)) do emit_calls(w, p, pass) end
  w.line("}")
  if blocked then w.line("}") end
  if p.pack == 1 then w.line("free(kept);") end
  if p.stream == 1 then code.stream_end(w) end
  w.line("}")
end

local function emit(point)
  local p, w = settle(point), code.writer()
  code.describe(w, parameters, p)
  local includes = { "math", "stddef", "stdint" }
  if p.pack == 1 then includes[#includes + 1] = "stdlib" end
  if p.exp == "poly" then includes[#includes + 1] = "string" end
  local curved, streams = p.exp ~= "tanh", p.stream == 1
  code.head(w, p.vector, { includes = includes, stream = streams, put = streams, least = true,
                           bits = p.vector > 1 and curved, scratch = p.pack == 1 })
  if curved then code.exp(w, p) end
  emit_gelu(w, p, "gelu_one", "float", false)
  if p.vector > 1 then emit_gelu(w, p, "gelu_all", "vec", true) end
  for _, rows in ipairs(p.fuse_rows > 1 and { p.fuse_rows, 1 } or { 1 }) do
    for _, pass in ipairs(passes_of(p)) do emit_pass(w, p, pass, rows) end
  end
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }
