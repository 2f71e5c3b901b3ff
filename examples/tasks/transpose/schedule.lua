-- How a transposition may be written.
--
-- Blocks of tile_rows x tile_cols (in the order block_order) of small tiles (in
-- the order `order`). A small tile is fuse_rows x unroll squares, `vector` wide,
-- each turned in registers. A block may pass through a padded scratch buffer:
-- pack = 1 copies it in and turns it on the way out, pack = 2 turns it on the way
-- in and copies it out, whole lines at a time.

local code = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 16, 32, 64, 128 } },       -- rows of x; 0: not blocked
  { "tile_cols", { 0, 16, 32, 64, 128 } },
  { "vector", { 1, 4, 8, 16 } },                 -- side of a square
  { "fuse_rows", { 1, 2, 4, 8 } },               -- squares down x, along y
  { "unroll", { 1, 2, 4 } },                     -- squares along x
  { "prefetch", { 0, 4, 16 } },                  -- rows of x ahead
  { "order", { "rc", "cr" } },
  { "block_order", { "rc", "cr" } },
  { "pack", { 0, 1, 2 } },
  { "stream", { 0, 1 } },                        -- stores that bypass the cache
}

local PAD = 16

local function valid(p)
  local area = p.fuse_rows * p.unroll
  return area * p.vector <= 64
end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if p.tile_rows == 0 or p.tile_cols == 0 then
    out.block_order, out.pack = "rc", 0
  end
  return out
end

-- The lanes that stage d of the butterfly takes from rows i and i + d.
local function lanes(width, d, high)
  local out = {}
  for lane = 0, width - 1 do
    local set = lane // d % 2 == 1
    out[#out + 1] = (high and lane + d or lane) + (set and width - d or 0)
  end
  return table.concat(out, ", ")
end

local function emit_square(w, p, streams)
  if p.vector == 1 then return end
  local n = p.vector
  w.line("/* Turns a square of %d x %d. */", n, n)
  w.open("static inline void turn(const float *restrict x, ptrdiff_t x_row, "
         .. "float *restrict y, ptrdiff_t y_row)")
  for i = 0, n - 1 do
    w.line("vec a%d = *(const vec *)(x + %d * x_row);", i, i)
  end
  local from, d = "a", n // 2
  while d >= 1 do
    local to = string.char(from:byte() + 1)     -- the next stage's rows: b0, b1 .., c0 ..
    w.line("")
    for i = 0, n - 1 do
      local high = i // d % 2 == 1
      local pair = high and i - d or i
      w.line("vec %s%d = __builtin_shufflevector(%s%d, %s%d, %s);", to, i,
             from, pair, from, pair + d, lanes(n, d, high))
    end
    from, d = to, d // 2
  end
  w.line("")
  for i = 0, n - 1 do
    if streams then
      w.line("put(y + %d * y_row, &%s%d);", i, from, i)
    else
      w.line("*(vec *)(y + %d * y_row) = %s%d;", i, from, i)
    end
  end
  w.close()
end

local function emit_block(w, p, streams)
  local down, along = p.fuse_rows * p.vector, p.unroll * p.vector
  w.line("/* y = x' for one block, %d x %d at a time. */", down, along)
  w.open("static inline void block(ptrdiff_t rows, ptrdiff_t cols, "
         .. "const float *restrict x, ptrdiff_t x_row, "
         .. "float *restrict y, ptrdiff_t y_row)")
  local step = { r = down, c = along }
  local size = { r = "rows", c = "cols" }
  for d in p.order:gmatch(".") do
    w.line("for (ptrdiff_t %s = 0; %s < %s; %s%s) {", d, d, size[d], d,
           step[d] == 1 and "++" or " += " .. step[d])
  end
  w.line("const float *from = x + r * x_row + c;")
  w.line("float *to = y + c * y_row + r;")
  w.line("")
  local checks = {}
  for _, d in ipairs { "r", "c" } do
    if step[d] > 1 then
      checks[#checks + 1] = ("%s + %d > %s"):format(d, step[d], size[d])
    end
  end
  if #checks > 0 then
    w.line("if (%s) {", table.concat(checks, " || "))
    w.line("for (ptrdiff_t j = c; j < cols && j < c + %d; j++)", along)
    w.line("    for (ptrdiff_t i = r; i < rows && i < r + %d; i++)", down)
    w.line("        y[j * y_row + i] = x[i * x_row + j];")
    w.line("continue;")
    w.line("}")
  end
  if p.prefetch > 0 and p.pack ~= 1 then
    for i = 0, down - 1 do
      w.line("__builtin_prefetch(%s);", code.at("from", p.prefetch + i, "x_row", 0))
    end
  end
  for u = 0, p.unroll - 1 do
    for f = 0, p.fuse_rows - 1 do
      local from = code.at("from", f * p.vector, "x_row", u * p.vector)
      local to = code.at("to", u * p.vector, "y_row", f * p.vector)
      if p.vector > 1 then
        w.line("turn(%s, x_row, %s, y_row);", from, to)
      elseif streams then
        w.line("put(%s, %s);", to, from)
      else
        w.line("*(%s) = *(%s);", to, from)
      end
    end
  end
  w.line("}")
  w.line("}")
  w.close()
end

-- A block from one layout of rows to another, unchanged.
local function emit_copy(w, p, streams)
  if p.pack == 0 then return end
  w.open("static inline void copy(ptrdiff_t rows, ptrdiff_t cols, "
         .. "const float *restrict x, ptrdiff_t x_row, "
         .. "float *restrict y, ptrdiff_t y_row)")
  w.line("for (ptrdiff_t r = 0; r < rows; r++) {")
  w.line("ptrdiff_t c = 0;")
  w.line("")
  if p.prefetch > 0 and p.pack == 1 then
    w.line("for (ptrdiff_t line = 0; line < cols; line += 16)")
    w.line("    __builtin_prefetch(x + (r + %d) * x_row + line);", p.prefetch)
  end
  if p.vector > 1 then
    w.line("for (; c + %d <= cols; c += %d)", p.vector, p.vector)
    if streams then
      w.line("    put(y + r * y_row + c, (const vec *)(x + r * x_row + c));")
    else
      w.line("    *(vec *)(y + r * y_row + c) = "
             .. "*(const vec *)(x + r * x_row + c);")
    end
  end
  w.line("for (; c < cols; c++)")
  if streams and p.vector == 1 then
    w.line("    put(y + r * y_row + c, x + r * x_row + c);")
  else
    w.line("    y[r * y_row + c] = x[r * x_row + c];")
  end
  w.line("}")
  w.close()
end

local function emit_entry(w, p)
  w.open("void transpose(const float *x, float *y, int32_t rows, int32_t cols)")
  if p.pack > 0 then
    local size = p.pack == 1 and { p.tile_rows, p.tile_cols }
        or { p.tile_cols, p.tile_rows }
    w.line("float buffer[%d * %d] __attribute__((aligned(64)));", size[1],
           size[2] + PAD)
    w.line("")
  end
  local tile = { r = p.tile_rows, c = p.tile_cols }
  local size = { r = "rows", c = "cols" }
  local opened = 0
  for d in p.block_order:gmatch(".") do
    if tile[d] > 0 then
      w.line("for (ptrdiff_t %s0 = 0; %s0 < %s; %s0 += %d) {", d, d, size[d], d,
             tile[d])
      w.line("const ptrdiff_t %s1 = %s - %s0 < %d ? %s - %s0 : %d;", d, size[d],
             d, tile[d], size[d], d, tile[d])
      opened = opened + 1
    end
  end
  local r1 = tile.r > 0 and "r1" or "rows"
  local c1 = tile.c > 0 and "c1" or "cols"
  local from = "x" .. (tile.r > 0 and " + r0 * cols" or "")
      .. (tile.c > 0 and " + c0" or "")
  local to = "y" .. (tile.c > 0 and " + c0 * rows" or "")
      .. (tile.r > 0 and " + r0" or "")
  if opened > 0 then w.line("") end
  if p.pack == 0 then
    w.line("block(%s, %s, %s, cols, %s, rows);", r1, c1, from, to)
  elseif p.pack == 1 then
    w.line("copy(r1, c1, %s, cols, buffer, %d);", from, p.tile_cols + PAD)
    w.line("block(r1, c1, buffer, %d, %s, rows);", p.tile_cols + PAD, to)
  else
    w.line("block(r1, c1, %s, cols, buffer, %d);", from, p.tile_rows + PAD)
    w.line("copy(c1, r1, buffer, %d, %s, rows);", p.tile_rows + PAD, to)
  end
  for _ = 1, opened do w.line("}") end
  if p.stream == 1 then code.stream_end(w) end
  w.line("}")
end

local function emit(point)
  local p, w = settle(point), code.writer()
  code.describe(w, parameters, p)
  code.head(w, p.vector, {
    includes = { "stddef", "stdint" },
    stream = p.stream == 1, put = p.stream == 1,
  })
  emit_square(w, p, p.stream == 1 and p.pack < 2)
  emit_block(w, p, p.stream == 1 and p.pack < 2)
  emit_copy(w, p, p.stream == 1 and p.pack == 2)
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }
