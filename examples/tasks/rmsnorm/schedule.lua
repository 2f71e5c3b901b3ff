-- How root-mean-square normalisation may be written.
--
-- fuse_passes says which passes a row takes: "none" sums the squares, scales, then
-- applies the weights; "scale" does the last two at once; "weight" applies the
-- weights while it sums and scales afterwards. fuse_rows rows share one pass over
-- the weights. Rows go through the passes in groups of tile_rows, the passes after
-- the sum in blocks of tile_cols, loops in the order `order`.

local code = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 4, 16, 64 } },                     -- 0: no groups
  { "tile_cols", { 0, 256, 1024 } },                     -- 0: not blocked
  { "vector", { 1, 4, 8, 16 } },                         -- floats in a vector
  { "fuse_passes", { "none", "scale", "weight" } },
  { "fuse_rows", { 1, 2, 4 } },
  { "unroll", { 1, 2, 4, 8 } },                          -- vectors a loop turn
  { "prefetch", { 0, 128, 512 } },                       -- floats ahead
  { "order", { "rc", "cr" } },                           -- rows or blocks first
  { "sweep", { "forward", "backward" } },                -- of the last pass
  { "pack", { 0, 1 } },                                  -- keep the row in scratch
  { "stream", { 0, 1 } },                                -- stores past the cache
}

local function valid(p) return p.unroll * p.fuse_rows <= 16 end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if p.tile_rows <= p.fuse_rows then out.tile_rows = 0 end
  if p.tile_cols == 0 or out.tile_rows == 0 then out.order = "rc" end
  return out
end

local function type_name(p) return p.vector > 1 and "vec" or "float" end

local function each(rows, visit)
  for r = 0, rows - 1 do visit(r) end
end

-- The first pass: squares summed, and with pack or "weight" something kept.
local function emit_squares(w, p, rows)
  local weighs = p.fuse_passes == "weight"
  local keeps = weighs or p.pack == 1
  local stride = rows > 1 and ", ptrdiff_t x_row" or ""
  if keeps and rows > 1 then stride = stride .. ", ptrdiff_t k_row" end
  w.line("/* scale[r] = 1 / sqrt(mean of x^2 + eps) for %d row%s. */", rows,
         rows > 1 and "s" or "")
  w.open("static inline void squares_%d(const float *restrict x%s%s, ptrdiff_t n, "
         .. "float *restrict scale%s)", rows,
         weighs and ", const float *restrict w" or "",
         keeps and ", float *restrict k" or "", stride)
  local wide = p.vector * p.unroll > 1
  each(rows, function(r)
    w.line("double sum%d = 0.0;", r)
    for u = 0, wide and p.unroll - 1 or -1 do
      w.line(p.vector > 1 and "vec sum%d_%d = { 0.0f };"
             or "double sum%d_%d = 0.0;", r, u)
    end
  end)
  code.loop(w, p, rows, false, "x", function(u, at)
    if weighs then
      w.line("const %s w%d = %s;", type_name(p), u, code.load(p, "w + " .. at))
    end
    each(rows, function(r)
      local name = ("x%d_%d"):format(r, u)
      w.line("const %s %s = %s;", type_name(p), name,
             code.load(p, code.at_row("x", r, at)))
      w.line("sum%d_%d += %s * %s;", r, u, name, name)
      if keeps then
        code.store(w, p, false, code.at_row("k", r, at),
                   weighs and name .. " * w" .. u or name)
      end
    end)
  end, function(at)
    each(rows, function(r)
      w.line("const float x%d = %s;", r, code.element(code.at_row("x", r, at)))
      w.line("sum%d += x%d * x%d;", r, r, r)
      if keeps then
        w.line("%s = x%d%s;", code.element(code.at_row("k", r, at)), r,
               weighs and (" * w[%s]"):format(at) or "")
      end
    end)
  end)
  each(rows, function(r)
    if wide then
      local sum = "sum" .. r
      code.fold(w, p.unroll, sum .. "_")
      code.lanes(w, p, sum, sum .. "_")
    end
    w.line("scale[%d] = 1.0f / sqrtf((float)(sum%d / (double)n) + 1e-5f);", r, r)
  end)
  w.close()
end

-- A later pass: y = x times a scale a row, weights a column, or both.
local function emit_product(w, p, pass, rows)
  local in_place = pass.from == "y"
  local stride = (rows > 1 and not in_place
                  and (", ptrdiff_t %s_row"):format(pass.from) or "")
      .. (rows > 1 and ", ptrdiff_t y_row" or "")
  w.open("static inline void %s_%d(%s%s%sfloat *restrict y, ptrdiff_t n%s)",
         pass.name, rows,
         in_place and "" or ("const float *restrict %s, "):format(pass.from),
         pass.weighs and "const float *restrict w, " or "",
         pass.scales and "const float *restrict scale, " or "", stride)
  if pass.scales then
    each(rows, function(r) w.line("const float s%d = scale[%d];", r, r) end)
  end
  code.loop(w, p, rows, pass.backward, pass.from, function(u, at)
    if pass.weighs then
      w.line("const %s w%d = %s;", type_name(p), u, code.load(p, "w + " .. at))
    end
    each(rows, function(r)
      local name = ("y%d_%d"):format(r, u)
      w.line("const %s %s = %s%s%s;", type_name(p), name,
             code.load(p, code.at_row(pass.from, r, at)),
             pass.scales and " * s" .. r or "", pass.weighs and " * w" .. u or "")
      code.store(w, p, pass.streams, code.at_row("y", r, at), name)
    end)
  end, function(at)
    each(rows, function(r)
      local value = ("%s%s%s"):format(code.element(code.at_row(pass.from, r, at)),
        pass.scales and " * s" .. r or "",
        pass.weighs and (" * w[%s]"):format(at) or "")
      if pass.streams and p.vector == 1 then
        w.line("const float y%d = %s;", r, value)
        w.line("put(%s, &y%d);", code.at_row("y", r, at), r)
      else
        w.line("%s = %s;", code.element(code.at_row("y", r, at)), value)
      end
    end)
  end)
  w.close()
end

-- The passes after the first, in order.
local function later_passes(p)
  local kept = p.pack == 1 and "k" or "x"
  local passes
  if p.fuse_passes == "none" then
    passes = { { name = "scale", scales = true, from = kept },
               { name = "weigh", weighs = true, from = "y" } }
  elseif p.fuse_passes == "scale" then
    passes = { { name = "finish", scales = true, weighs = true, from = kept } }
  else
    passes = { { name = "scale", scales = true,
                 from = p.pack == 1 and "k" or "y" } }
  end
  local last = passes[#passes]
  last.backward, last.streams = p.sweep == "backward", p.stream == 1
  return passes
end

-- Calls of one pass for the rows r0 .. end, fuse_rows at a time.
local function emit_calls(w, p, call)
  if p.fuse_rows == 1 and p.tile_rows == 0 then
    call("r0", 1)
  else
    code.rows(w, p.fuse_rows, "r", "end", function(rows) call("r", rows) end)
  end
end

-- The address of row r of an array, from column c on.
local function address(_, array, r, c)
  local row
  if array == "k" then
    row = r == "r0" and "" or " + (r - r0) * n"
    return "kept" .. row .. (c and " + " .. c or "")
  end
  return ("%s + %s * n%s"):format(array, r, c and " + " .. c or "")
end

local function emit_entry(w, p)
  local passes = later_passes(p)
  local group = p.tile_rows > 0 and p.tile_rows or p.fuse_rows
  local weighs = p.fuse_passes == "weight"
  w.open("void rmsnorm(const float *x, const float *weight, float *y, "
         .. "int32_t rows, int32_t cols)")
  w.line("const ptrdiff_t n = cols;")
  if p.pack == 1 then w.line("float *kept = scratch(%d * n);", group) end
  w.line("")
  w.line("for (ptrdiff_t r0 = 0; r0 < rows; %s) {",
         group == 1 and "r0++" or "r0 += " .. group)
  if group > 1 then
    w.line("const ptrdiff_t end = least(r0 + %d, rows);", group)
  end
  w.line("float scale[%d];", group)
  w.line("")
  local function scoped(body)
    local braces = p.fuse_rows > 1
    if braces then w.line("{") end
    body()
    if braces then w.line("}") end
  end
  local function at_scale(r)
    return r == "r0" and "scale" or "scale + (r - r0)"
  end
  scoped(function()
    emit_calls(w, p, function(r, count)
      local k = p.pack == 1 and address(p, "k", r)
          or weighs and address(p, "y", r)
      w.line("squares_%d(%s%s%s, n, %s%s%s);", count, address(p, "x", r),
             weighs and ", weight" or "", k and ", " .. k or "", at_scale(r),
             count > 1 and ", n" or "", count > 1 and k and ", n" or "")
    end)
  end)
  local function call_pass(pass, c)
    return function(r, count)
      local strides = count > 1 and (pass.from == "y" and ", n" or ", n, n") or ""
      w.line("%s_%d(%s%s%s%s, %s%s);", pass.name, count,
             pass.from == "y" and "" or address(p, pass.from, r, c) .. ", ",
             pass.weighs and ("weight%s, "):format(c and " + " .. c or "") or "",
             pass.scales and at_scale(r) .. ", " or "",
             address(p, "y", r, c),
             c and ("least(%d, n - %s)"):format(p.tile_cols, c) or "n", strides)
    end
  end
  for _, pass in ipairs(passes) do
    if p.tile_cols == 0 then
      scoped(function() emit_calls(w, p, call_pass(pass)) end)
    elseif p.order == "cr" then
      code.blocks(w, p.tile_cols, pass.backward)
      emit_calls(w, p, call_pass(pass, "c"))
      w.line("}")
    else
      scoped(function()
        emit_calls(w, p, function(r, count)
          code.blocks(w, p.tile_cols, pass.backward)
          call_pass(pass, "c")(r, count)
          w.line("}")
        end)
      end)
    end
  end
  w.line("}")
  if p.pack == 1 then w.line("free(kept);") end
  if p.stream == 1 then code.stream_end(w) end
  w.line("}")
end

local function emit(point)
  local p, w = settle(point), code.writer()
  code.describe(w, parameters, p)
  code.head(w, p.vector, {
    includes = { "math", "stddef", "stdint", p.pack == 1 and "stdlib" or nil },
    stream = p.stream == 1, put = p.stream == 1, scratch = p.pack == 1,
    least = p.tile_cols > 0 or p.tile_rows > 0 or p.fuse_rows > 1,
  })
  for _, rows in ipairs(p.fuse_rows > 1 and { p.fuse_rows, 1 } or { 1 }) do
    emit_squares(w, p, rows)
    for _, pass in ipairs(later_passes(p)) do emit_product(w, p, pass, rows) end
  end
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }
