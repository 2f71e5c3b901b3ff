-- How a 3 x 3 filter may be written.
--
-- fuse_passes: "direct" makes each result from its nine neighbours; "split" adds up
-- along rows into scratch, then down columns; "rolling" keeps three rows of such
-- sums and renews one a row. fuse_rows results below each other share what they
-- read. Blocks of tile_rows x tile_cols are taken in the order block_order, results
-- in a block in the order `order`. peel takes the border columns out of the loop;
-- pack copies a block with its border filled in, so that nothing is clamped.

local code = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 8, 32, 128 } },                    -- 0: not blocked
  { "tile_cols", { 0, 128, 512 } },
  { "vector", { 1, 4, 8, 16 } },                         -- floats in a vector
  { "fuse_passes", { "direct", "split", "rolling" } },
  { "fuse_rows", { 1, 2, 4 } },
  { "unroll", { 1, 2, 4 } },                             -- vectors a loop turn
  { "prefetch", { 0, 1, 4 } },                           -- rows ahead
  { "order", { "rc", "cr" } },
  { "block_order", { "rc", "cr" } },
  { "peel", { 0, 1 } },
  { "pack", { 0, 1 } },
  { "stream", { 0, 1 } },                                -- stores past the cache
}

local function valid(p) return p.fuse_rows * p.unroll <= 8 end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if p.tile_rows == 0 or p.tile_cols == 0 then out.block_order = "rc" end
  if p.fuse_passes == "rolling" then out.fuse_rows, out.order = 1, "rc" end
  if p.fuse_passes ~= "direct" then out.pack = 0 end
  if out.pack == 1 then out.peel = 0 end
  -- One result at a time, each as if on a border: stores and loads are plain.
  if out.fuse_passes == "direct" and out.pack + out.peel == 0
      and p.vector * p.unroll * p.fuse_rows == 1 then
    out.prefetch, out.stream = 0, 0
  end
  return out
end

local function width(p) return p.vector * p.unroll end
local function type_name(p) return p.vector > 1 and "vec" or "float" end

local function load(p, base, offset)
  local sign = offset < 0 and " - " or " + "
  if p.vector == 1 then
    return offset == 0 and "*" .. base or base .. "[" .. offset .. "]"
  end
  local at = offset == 0 and base
      or "(" .. base .. sign .. math.abs(offset) .. ")"
  return "*(const vec *)" .. at
end

local function emit_store(w, p, pointer, value)
  if p.stream == 1 then
    w.line("put(%s, &%s);", pointer, value)
  elseif p.vector == 1 then
    w.line(pointer == "y" and "*%s = %s;" or "*(%s) = %s;", pointer, value)
  else
    w.line(pointer == "y" and "*(vec *)%s = %s;" or "*(vec *)(%s) = %s;", pointer,
           value)
  end
end

-- "const float *x0, const float *x1, ..."
local function row_list(rows, format)
  local out = {}
  for k = 0, rows + 1 do out[#out + 1] = format:format(k) end
  return table.concat(out, ", ")
end

-- rows x width results away from every border. The rows x0 .. are the filter's
-- input, or with `summed` sums along it.
local function emit_tile(w, p, rows, summed)
  w.line("/* %d x %d results away from the borders. */", rows, width(p))
  w.open("static inline void tile_%d(%s, float *restrict y%s)", rows,
         row_list(rows, "const float *restrict x%d"),
         rows > 1 and ", ptrdiff_t y_row" or "")
  for u = 0, p.unroll - 1 do
    local o = u * p.vector
    for k = 0, rows + 1 do
      local x = "x" .. k
      if summed then
        w.line("const %s h%d_%d = %s;", type_name(p), k, u, load(p, x, o))
      else
        w.line("const %s h%d_%d = %s + 2.0f * %s + %s;", type_name(p), k, u,
               load(p, x, o - 1), load(p, x, o), load(p, x, o + 1))
      end
    end
    for r = 0, rows - 1 do
      w.line("const %s y%d_%d = (h%d_%d + 2.0f * h%d_%d + h%d_%d) * 0.0625f;",
             type_name(p), r, u, r, u, r + 1, u, r + 2, u)
      emit_store(w, p, code.at("y", r, "y_row", o), ("y%d_%d"):format(r, u))
    end
  end
  w.close()
end

local function emit_clamp(w)
  w.open("static inline ptrdiff_t clamp(ptrdiff_t i, ptrdiff_t size)")
  w.line("return i < 0 ? 0 : i >= size ? size - 1 : i;")
  w.close()
end

-- One result, wherever it is; with pack everything is away from the borders.
local function emit_point(w, p)
  w.line("/* One result. */")
  if p.pack == 1 then
    w.open("static inline float point(const float *x, ptrdiff_t x_row)")
    w.line("const float *up = x - x_row, *down = x + x_row;")
    w.line("")
    w.line("return (up[-1] + 2.0f * up[0] + up[1] +")
    w.line("        2.0f * x[-1] + 4.0f * x[0] + 2.0f * x[1] +")
    w.line("        down[-1] + 2.0f * down[0] + down[1]) * 0.0625f;")
  else
    w.open("static inline float point(const float *x, ptrdiff_t i, ptrdiff_t j, "
           .. "ptrdiff_t rows, ptrdiff_t cols)")
    w.line("const float *up = x + clamp(i - 1, rows) * cols;")
    w.line("const float *here = x + i * cols;")
    w.line("const float *down = x + clamp(i + 1, rows) * cols;")
    w.line("const ptrdiff_t left = clamp(j - 1, cols);")
    w.line("const ptrdiff_t right = clamp(j + 1, cols);")
    w.line("")
    w.line("return (up[left] + 2.0f * up[j] + up[right] +")
    w.line("        2.0f * here[left] + 4.0f * here[j] + 2.0f * here[right] +")
    w.line("        down[left] + 2.0f * down[j] + down[right]) * 0.0625f;")
  end
  w.close()
end

-- The loops over columns j0 .. j1. main() writes `width` columns from j on, away
-- from the borders; single(q) one column, anywhere. clamps: "none" when nothing
-- is, "check" to ask at every step, "peel" to treat the borders apart.
local function emit_columns(w, p, clamps, simple, main, single)
  local s = width(p)
  local function by(n) return n == 1 and "j++" or "j += " .. n end
  if clamps == "check" then
    if s == 1 and simple then
      w.line("for (ptrdiff_t j = j0; j < j1; j++) {")
      single("j")
      w.line("}")
      return
    end
    w.line("for (ptrdiff_t j = j0; j < j1; %s) {", by(s))
    w.line("if (j > 0 && j + %d < cols && j + %d <= j1) {", s, s)
    main()
    w.line("} else {")
    w.line("for (ptrdiff_t q = j; q < j1 && q < j + %d; q++) {", s)
    single("q")
    w.line("}")
    w.line("}")
    w.line("}")
    return
  end
  w.line("ptrdiff_t j = j0;")
  local stop = "j1"
  if clamps == "peel" then
    w.line("const ptrdiff_t inside = j1 < cols ? j1 : cols - 1;")
    w.line("")
    w.line("if (j == 0) {")
    single("j")
    w.line("j++;")
    w.line("}")
    stop = "inside"
  else
    w.line("")
  end
  w.line("for (; j + %d <= %s; %s) {", s, stop, by(s))
  main()
  w.line("}")
  w.line("for (; j < j1; j++) {")
  single("j")
  w.line("}")
end

-- One row of sums along x, from the columns j0 .. j1 of a row.
local function emit_across(w, p)
  w.line("/* h[j] = x[j - 1] + 2 x[j] + x[j + 1] for one row. */")
  w.open("static inline void across(const float *restrict x, float *restrict h, "
         .. "ptrdiff_t j0, ptrdiff_t j1, ptrdiff_t cols)")
  emit_columns(w, p, p.peel == 1 and "peel" or "check", true, function()
    if p.prefetch > 0 then
      w.line("__builtin_prefetch(x + %d * cols + j);", p.prefetch)
    end
    for u = 0, p.unroll - 1 do
      local o = u * p.vector
      local function at(d)
        local offset = o + d
        local text = offset == 0 and "j"
            or ("j %s %d"):format(offset < 0 and "-" or "+", math.abs(offset))
        return p.vector == 1 and "x[" .. text .. "]"
            or "*(const vec *)(x + " .. text .. ")"
      end
      local to = o == 0 and "j - j0" or "j - j0 + " .. o
      w.line("%s = %s + 2.0f * %s + %s;",
             p.vector == 1 and ("h[%s]"):format(to)
             or ("*(vec *)(h + %s)"):format(to), at(-1), at(0), at(1))
    end
  end, function(q)
    w.line("h[%s - j0] = x[clamp(%s - 1, cols)] + 2.0f * x[%s] + "
           .. "x[clamp(%s + 1, cols)];", q, q, q, q)
  end)
  w.close()
end

-- Loops over the rows i0 .. i1, fuse_rows at a time, then singly.
local function emit_rows(w, p, body) code.rows(w, p.fuse_rows, "i", "i1", body) end

-- "i - 1", "i", "i + 1", ...
local function row_index(k)
  if k == 1 then return "i" end
  return k == 0 and "i - 1" or "i + " .. k - 1
end

-- The results of a block in the order `order`: tile(rows, pointers) makes whole ones from the
-- rows of x that row(k) says, at column j less what begins the block; single(q, r) makes one.
local function emit_results(w, p, clamps, simple, begin, row, tile, single)
  if p.order == "rc" then
    emit_rows(w, p, function(rows)
      for k = 0, clamps == "check" and simple and -1 or rows + 1 do
        w.line("const float *x%d = %s;", k, row(k))
      end
      emit_columns(w, p, clamps, simple, function()
        tile(rows, row_list(rows, "x%d + j" .. begin))
      end, function(q)
        for r = 0, rows - 1 do single(q, r) end
      end)
    end)
    return
  end
  emit_columns(w, p, clamps, simple, function()
    emit_rows(w, p, function(rows)
      local pointers = {}
      for k = 0, rows + 1 do pointers[k + 1] = row(k) .. " + j" .. begin end
      tile(rows, table.concat(pointers, ", "))
    end)
  end, function(q)
    w.line("for (ptrdiff_t i = i0; i < i1; i++) {")
    single(q, 0)
    w.line("}")
  end)
end

-- Results from their nine neighbours: x is the image, or a packed block of it.
local function emit_direct_block(w, p)
  local packed = p.pack == 1
  local function row(k)
    if packed or k == 1 then
      return ("x + %s * %s"):format(k == 1 and "i" or "(" .. row_index(k) .. ")",
                                    packed and "x_row" or "cols")
    end
    return ("x + clamp(%s, rows) * cols"):format(row_index(k))
  end
  local function single(q, r)
    local i = r == 0 and "i" or "i + " .. r
    if packed then
      w.line("y[%s * y_row + %s] = point(x + %s * x_row + %s, x_row);",
             r == 0 and i or "(" .. i .. ")", q, r == 0 and i or "(" .. i .. ")",
             q)
    else
      w.line("y[%s * cols + %s] = point(x, %s, %s, rows, cols);",
             r == 0 and i or "(" .. i .. ")", q, i, q)
    end
  end
  local function tile(rows, pointers)
    if p.prefetch > 0 and not packed then
      w.line("__builtin_prefetch(x + (i + %d) * cols + j);",
             rows + p.prefetch)
    end
    w.line("tile_%d(%s, y + i * %s + j%s);", rows, pointers,
           packed and "y_row" or "cols",
           rows > 1 and (packed and ", y_row" or ", cols") or "")
  end
  if packed then
    w.open("static inline void block(const float *restrict x, ptrdiff_t x_row, "
           .. "float *restrict y, ptrdiff_t y_row, ptrdiff_t i1, ptrdiff_t j1)")
    w.line("const ptrdiff_t i0 = 0, j0 = 0;")
    w.line("")
  else
    w.open("static inline void block(const float *restrict x, float *restrict y, "
           .. "ptrdiff_t i0, ptrdiff_t i1, ptrdiff_t j0, ptrdiff_t j1, "
           .. "ptrdiff_t rows, ptrdiff_t cols)")
  end
  emit_results(w, p, packed and "none" or p.peel == 1 and "peel" or "check",
               width(p) == 1 and p.fuse_rows == 1, "", row, tile, single)
  w.close()
end

-- One result from three sums along x.
local function down(q)
  return ("(h0[%s] + 2.0f * h1[%s] + h2[%s]) * 0.0625f"):format(q, q, q)
end

-- Sums along x for the whole block and one row more each way, then down.
local function emit_split_block(w, p)
  w.open("static inline void block(const float *restrict x, float *restrict y, "
         .. "ptrdiff_t i0, ptrdiff_t i1, ptrdiff_t j0, ptrdiff_t j1, "
         .. "ptrdiff_t rows, ptrdiff_t cols, float *restrict sums)")
  w.line("const ptrdiff_t n = j1 - j0;")
  w.line("")
  w.line("for (ptrdiff_t i = i0 - 1; i <= i1; i++)")
  w.line("    across(x + clamp(i, rows) * cols, sums + (i - i0 + 1) * n,")
  w.line("           j0, j1, cols);")
  w.line("")
  local function sum_row(k)
    local d = k == 0 and "i - i0" or "i - i0 + " .. k
    return ("sums + (%s) * n"):format(d)
  end
  local function tile(rows, pointers)
    w.line("tile_%d(%s, y + i * cols + j%s);", rows, pointers,
           rows > 1 and ", cols" or "")
  end
  local function single(q, r)
    w.line("const float *h%s = sums + (i - i0%s) * n + %s - j0;", r,
           r == 0 and "" or " + " .. r, q)
    w.line("y[%s * cols + %s] = (h%s[0] + 2.0f * h%s[n] + h%s[2 * n]) * 0.0625f;",
           r == 0 and "i" or ("(i + %d)"):format(r), q, r, r, r)
  end
  emit_results(w, p, "none", false, " - j0", sum_row, tile, single)
  w.close()
end

-- Three rows of sums in turn; each row of x is summed once.
local function emit_rolling_block(w, p)
  w.open("static inline void block(const float *restrict x, float *restrict y, "
         .. "ptrdiff_t i0, ptrdiff_t i1, ptrdiff_t j0, ptrdiff_t j1, "
         .. "ptrdiff_t rows, ptrdiff_t cols, float *sums)")
  w.line("float *h0 = sums, *h1 = sums + (j1 - j0), *h2 = sums + 2 * (j1 - j0);")
  w.line("")
  w.line("across(x + clamp(i0 - 1, rows) * cols, h0, j0, j1, cols);")
  w.line("across(x + i0 * cols, h1, j0, j1, cols);")
  w.line("for (ptrdiff_t i = i0; i < i1; i++) {")
  w.line("float *oldest = h0;")
  w.line("")
  w.line("across(x + clamp(i + 1, rows) * cols, h2, j0, j1, cols);")
  w.line("{")
  emit_columns(w, p, "none", false, function()
    w.line("tile_1(h0 + j - j0, h1 + j - j0, h2 + j - j0, y + i * cols + j);")
  end, function(q)
    w.line("y[i * cols + %s] = %s;", q, down(q .. " - j0"))
  end)
  w.line("}")
  w.line("h0 = h1;")
  w.line("h1 = h2;")
  w.line("h2 = oldest;")
  w.line("}")
  w.close()
end

local function emit_pack(w, p)
  w.line("/* A block and a border of one, clamped, to rows of `row` floats. */")
  w.open("static void pack(const float *restrict x, ptrdiff_t i0, ptrdiff_t i1, "
         .. "ptrdiff_t j0, ptrdiff_t j1, ptrdiff_t rows, ptrdiff_t cols, "
         .. "float *restrict to, ptrdiff_t row)")
  w.line("for (ptrdiff_t i = i0 - 1; i <= i1; i++) {")
  w.line("const float *from = x + clamp(i, rows) * cols;")
  w.line("")
  if p.prefetch > 0 then
    w.line("for (ptrdiff_t j = j0; j < j1; j += 16)")
    w.line("    __builtin_prefetch(from + %d * cols + j);", p.prefetch)
  end
  w.line("to[15] = from[clamp(j0 - 1, cols)];")
  w.line("for (ptrdiff_t j = j0; j < j1; j++)")
  w.line("    to[16 + j - j0] = from[j];")
  w.line("to[16 + j1 - j0] = from[clamp(j1, cols)];")
  w.line("to += row;")
  w.line("}")
  w.close()
end

local function emit_entry(w, p)
  local tile = { r = p.tile_rows, c = p.tile_cols }
  local size = { r = "rows", c = "cols" }
  local index = { r = "i", c = "j" }
  local high = tile.r > 0 and ("least(%d, rows)"):format(tile.r) or "rows"
  local wide = tile.c > 0 and ("least(%d, cols)"):format(tile.c) or "cols"
  w.open("void stencil2d(const float *x, float *y, int32_t rows, int32_t cols)")
  if p.pack == 1 then
    w.line("const ptrdiff_t row = ((ptrdiff_t)%s + 17 + 15) / 16 * 16;", wide)
    w.line("float *packed = scratch(((ptrdiff_t)%s + 2) * row);", high)
  elseif p.fuse_passes == "split" then
    w.line("float *sums = scratch(((ptrdiff_t)%s + 2) * %s);", high, wide)
  elseif p.fuse_passes == "rolling" then
    w.line("float *sums = scratch((ptrdiff_t)3 * %s);", wide)
  end
  if p.pack == 1 or p.fuse_passes ~= "direct" then w.line("") end
  local opened = 0
  for d in p.block_order:gmatch(".") do
    local i = index[d]
    if tile[d] > 0 then
      w.line("for (ptrdiff_t %s0 = 0; %s0 < %s; %s0 += %d) {", i, i, size[d], i,
             tile[d])
      w.line("const ptrdiff_t %s1 = least(%s0 + %d, %s);", i, i, tile[d], size[d])
      opened = opened + 1
    end
  end
  if opened > 0 then w.line("") end
  local i0, i1 = "0", "rows"
  local j0, j1 = "0", "cols"
  if tile.r > 0 then i0, i1 = "i0", "i1" end
  if tile.c > 0 then j0, j1 = "j0", "j1" end
  local area = ("%s, %s, %s, %s, rows, cols"):format(i0, i1, j0, j1)
  if p.pack == 1 then
    w.line("pack(x, %s, packed, row);", area)
    w.line("block(packed + row + 16, row, y%s%s, cols, %s, %s);",
           tile.r > 0 and " + i0 * cols" or "", tile.c > 0 and " + j0" or "",
           tile.r > 0 and "i1 - i0" or "rows", tile.c > 0 and "j1 - j0" or "cols")
  else
    w.line("block(x, y, %s%s);", area,
           p.fuse_passes == "direct" and "" or ", sums")
  end
  for _ = 1, opened do w.line("}") end
  if p.pack == 1 then w.line("free(packed);") end
  if p.fuse_passes ~= "direct" then w.line("free(sums);") end
  if p.stream == 1 then code.stream_end(w) end
  w.line("}")
end

local function emit_head(w, p)
  code.describe(w, parameters, p)
  local scratch = p.pack == 1 or p.fuse_passes ~= "direct"
  code.head(w, p.vector, {
    includes = { "stddef", "stdint", scratch and "stdlib" or nil },
    stream = p.stream == 1, least = p.tile_rows + p.tile_cols > 0, scratch = scratch,
  })
  emit_clamp(w)
end

local function emit(point)
  local p, w = settle(point), code.writer()
  emit_head(w, p)
  local direct = p.fuse_passes == "direct"
  -- The naive kernel computes every result as if it lay on a border.
  local tiles = not direct or p.pack == 1 or p.peel == 1
      or width(p) * p.fuse_rows > 1
  if tiles then
    if p.stream == 1 then code.put(w, p.vector) end
    for _, rows in ipairs(p.fuse_rows > 1 and { p.fuse_rows, 1 } or { 1 }) do
      emit_tile(w, p, rows, not direct)
    end
  end
  if direct then
    emit_point(w, p)
    if p.pack == 1 then emit_pack(w, p) end
    emit_direct_block(w, p)
  else
    emit_across(w, p)
    if p.fuse_passes == "split" then
      emit_split_block(w, p)
    else
      emit_rolling_block(w, p)
    end
  end
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }
