-- How the sums of rows may be written.
--
-- A row is added up in `vectors` accumulators of `vector` floats, or of one double
-- when vector is 1; `unroll` times these are a loop turn. fuse_rows rows go side by
-- side. Rows go in groups of tile_rows, in blocks of tile_cols, loops in the order
-- `order`. A block's lanes are added up at once, in a double, or with pack stay
-- apart, in scratch, until the group has been read.

local code = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 4, 16, 64 } },                     -- 0: no groups
  { "tile_cols", { 0, 256, 1024, 4096 } },               -- 0: not blocked
  { "vector", { 1, 4, 8, 16 } },                         -- floats in a vector
  { "vectors", { 1, 2, 4, 8 } },                         -- accumulators a row
  { "fuse_rows", { 1, 2, 4 } },
  { "unroll", { 1, 2, 4 } },                             -- times all accumulators
  { "prefetch", { 0, 128, 512 } },                       -- floats ahead
  { "order", { "rc", "cr" } },                           -- rows or blocks first
  { "sweep", { "forward", "backward" } },                -- along a row
  { "pack", { 0, 1 } },                                  -- keep lanes in scratch
  { "stream", { 0, 1 } },                                -- prefetch past the cache
}

local function valid(p)
  return p.vectors * p.fuse_rows <= 16 and p.vectors * p.fuse_rows * p.unroll <= 32
end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if p.tile_rows <= p.fuse_rows then out.tile_rows = 0 end
  if p.tile_cols == 0 or out.tile_rows == 0 then out.order = "rc" end
  if p.prefetch == 0 then out.stream = 0 end
  return out
end

-- Adds n columns of `rows` rows to what the sums of these rows hold so far.
local function emit_add(w, p, rows)
  local wide = p.vector * p.vectors > 1
  local one = p.vector > 1 and "vec sum%d_%d = { 0.0f };" or "double sum%d_%d = 0.0;"
  w.line("/* to %s the sum%s of %d row%s. */",
         p.pack == 1 and "holds, lane by lane," or "holds", rows > 1 and "s" or "",
         rows, rows > 1 and "s" or "")
  w.open("static inline void add_%d(const float *restrict x%s, ptrdiff_t n, %s *restrict to)",
         rows, rows > 1 and ", ptrdiff_t x_row" or "", p.pack == 1 and "float" or "double")
  for r = 0, rows - 1 do
    w.line("double sum%d = 0.0;", r)
    for a = 0, wide and p.vectors - 1 or -1 do w.line(one, r, a) end
  end
  local turn = { vector = p.vector, unroll = p.vectors * p.unroll, prefetch = p.prefetch,
                 hint = p.stream == 1 and ", 0, 0" or "" }
  code.loop(w, turn, rows, p.sweep == "backward", "x", function(u, at)
    for r = 0, rows - 1 do
      w.line("sum%d%s += %s;", r, wide and "_" .. u % p.vectors or "",
             code.load(p, code.at_row("x", r, at)))
    end
  end, function(at)
    for r = 0, rows - 1 do
      w.line("sum%d += %s;", r, code.element(code.at_row("x", r, at)))
    end
  end)
  for r = 0, rows - 1 do
    local sum, lane = "sum" .. r, r * p.vector
    code.fold(w, wide and p.vectors or 0, sum .. "_")
    if p.pack == 1 and p.vector > 1 then
      w.line("*(vec *)(to + %d) += %s_0;", lane, sum)
    elseif wide then
      code.lanes(w, p, sum, sum .. "_")
    end
    w.line(p.pack == 1 and "to[%d] += (float)sum%d;" or "to[%d] += sum%d;",
           p.pack == 1 and lane or r, r)
  end
  w.close()
end

-- Calls for the rows r0 .. end, fuse_rows at a time.
local function emit_calls(w, p, call)
  w.line("ptrdiff_t r = r0;")
  w.line("")
  w.line("for (; r + %d <= end; r += %d) {", p.fuse_rows, p.fuse_rows)
  call(p.fuse_rows)
  w.line("}")
  if p.fuse_rows > 1 then
    w.line("for (; r < end; r++) {")
    call(1)
    w.line("}")
  end
end

-- All blocks of all rows of a group.
local function emit_group(w, p)
  local blocked = p.tile_cols > 0
  local lanes = p.pack == 1 and p.vector > 1 and ("%d * (r - r0)"):format(p.vector) or "(r - r0)"
  local function call(rows)
    w.line("add_%d(x + r * n%s%s, %s, sum + %s);", rows, blocked and " + c" or "",
           rows > 1 and ", n" or "",
           blocked and ("least(%d, n - c)"):format(p.tile_cols) or "n", lanes)
  end
  if blocked and p.order == "cr" then
    code.blocks(w, p.tile_cols, p.sweep == "backward")
    emit_calls(w, p, call)
    w.line("}")
    return
  end
  w.line("{")
  emit_calls(w, p, function(rows)
    if blocked then code.blocks(w, p.tile_cols, p.sweep == "backward") end
    call(rows)
    if blocked then w.line("}") end
  end)
  w.line("}")
end

local function emit_entry(w, p)
  local group = p.tile_rows > 0 and p.tile_rows or p.fuse_rows
  local lanes = p.pack == 1 and p.vector or 1
  w.open("void reduce_sum(const float *x, float *y, int32_t rows, int32_t cols)")
  w.line("const ptrdiff_t n = cols;")
  if p.pack == 1 then w.line("float *sum = scratch(%d);", group * lanes) end
  w.line("")
  w.line("for (ptrdiff_t r0 = 0; r0 < rows; r0 += %d) {", group)
  w.line("const ptrdiff_t end = least(r0 + %d, rows);", group)
  if p.pack == 1 then
    w.line("")
    w.line("for (int i = 0; i < %d; i++)", group * lanes)
    w.line("    sum[i] = 0.0f;")
  else
    w.line("double sum[%d] = { 0.0 };", group)
    w.line("")
  end
  emit_group(w, p)
  w.line("for (ptrdiff_t r = r0; r < end; r++) {")
  if lanes > 1 then
    w.line("double all = 0.0;")
    w.line("")
    w.line("for (int q = 0; q < %d; q++)", lanes)
    w.line("    all += sum[%d * (r - r0) + q];", lanes)
    w.line("y[r] = (float)all;")
  else
    w.line("y[r] = (float)sum[r - r0];")
  end
  w.line("}")
  w.line("}")
  if p.pack == 1 then w.line("free(sum);") end
  w.line("}")
end

local function emit(point)
  local p, w = settle(point), code.writer()
  code.describe(w, parameters, p)
  code.head(w, p.vector, {
    includes = { "stddef", "stdint", p.pack == 1 and "stdlib" or nil },
    least = true, scratch = p.pack == 1,
  })
  for _, rows in ipairs(p.fuse_rows > 1 and { p.fuse_rows, 1 } or { 1 }) do
    emit_add(w, p, rows)
  end
  emit_entry(w, p)
  return w.text()
end

return { parameters = parameters, valid = valid, emit = emit,
         first_points = code.wide(parameters) }
