-- How a matrix product may be written.
--
-- Three layers of loops: cache blocks (tile_*, in the order block_order), tiles
-- of fuse_rows x (vectors * vector) results (in the order `order`), and the
-- terms of one tile, `unroll` at a time. When k is innermost in `order` a tile
-- is summed in registers; otherwise its results go through memory, `unroll`
-- terms a visit. Packing copies a block into panels as wide as a tile.

local code = require "kernelband.emit"

local block_orders = { "ijk", "jki", "kij", "jik" }

local parameters = {
  { "tile_m", { 0, 24, 48, 96, 192 } },             -- 0: not blocked
  { "tile_n", { 0, 64, 128, 256 } },
  { "tile_k", { 0, 64, 128, 256 } },
  { "vector", { 1, 4, 8, 16 } },                    -- floats in a vector
  { "vectors", { 1, 2, 3, 4 } },                    -- vectors across a tile
  { "fuse_rows", { 1, 2, 4, 6, 8, 12 } },           -- rows of c a pass over b
  { "fuse_init", { 0, 1 } },                        -- no pass that zeroes c
  { "unroll", { 1, 2, 4, 8 } },                     -- terms a loop turn
  { "prefetch", { 0, 4, 16, 64 } },                 -- rows of b ahead
  { "order", { "ijk", "ikj", "jik", "kij" } },      -- loops over tiles
  { "block_order", block_orders },
  { "pack_a", { 0, 1 } },
  { "pack_b", { 0, 1 } },
}

local tile_of = { i = "tile_m", j = "tile_n", k = "tile_k" }

-- The letters of a block order whose loops exist.
local function loops(p, order)
  return (order:gsub(".", function(d) return p[tile_of[d]] > 0 and d or "" end))
end

local function in_registers(p) return p.order:sub(3) == "k" end

-- c is visited more than once, so somebody must begin with zero.
local function revisits(p) return p.tile_k > 0 or not in_registers(p) end

-- Keeps a tile from growing into thousands of lines.
local function valid(p)
  local results = p.fuse_rows * p.vectors
  return results <= 32 and results * p.unroll <= 96
end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if not revisits(p) then out.fuse_init = 0 end
  for _, order in ipairs(block_orders) do
    if loops(p, order) == loops(p, p.block_order) then
      out.block_order = order
      break
    end
  end
  return out
end

-- Floats of a packed block, where its sides are known.
local function packed(p, dimension, step)
  local across = (p[dimension] + step - 1) // step * step
  return p[dimension] * p.tile_k > 0 and across * p.tile_k or nil
end

-- Everything the pieces below share: sizes, and how a and b are indexed.
local function plan(p)
  local f = {
    rows = p.fuse_rows, columns = p.vectors * p.vector,
    type = p.vector > 1 and "vec" or "float",
    chains = 1, add = "",
    a_row = p.pack_a == 1 and "1" or "a_row",
    a_step = p.pack_a == 1 and p.fuse_rows or 1,
    b_row = p.pack_b == 1 and tostring(p.vectors * p.vector) or "b_row",
  }
  f.heap_a = p.pack_a == 1 and not code.small(packed(p, "tile_m", f.rows))
  f.heap_b = p.pack_b == 1 and not code.small(packed(p, "tile_n", f.columns))
  -- Partial sums hide the latency of an addition where a tile has few results.
  while in_registers(p) and f.chains * 2 <= p.unroll
      and f.rows * p.vectors * f.chains * 2 <= 8 do
    f.chains = f.chains * 2
  end
  if revisits(p) then f.add = p.fuse_init == 1 and "flag" or "always" end
  -- Formal and actual arguments that only some points need.
  f.strides = (p.pack_a == 0 and ", ptrdiff_t a_row" or "")
      .. (p.pack_b == 0 and ", ptrdiff_t b_row" or "")
  f.pass_strides = (p.pack_a == 0 and ", a_row" or "")
      .. (p.pack_b == 0 and ", b_row" or "")
  -- A tile asks for the strides it uses and no others.
  local far = f.rows > 1
  local deep = in_registers(p) or p.unroll > 1 or p.prefetch > 0
  f.tile_formals = (far and ", ptrdiff_t c_row" or "")
      .. (far and p.pack_a == 0 and ", ptrdiff_t a_row" or "")
      .. (deep and p.pack_b == 0 and ", ptrdiff_t b_row" or "")
  f.tile_actuals = f.tile_formals:gsub("ptrdiff_t ", "")
  f.flag = f.add == "flag" and ", int add" or ""
  f.pass_flag = f.add == "flag" and ", add" or ""
  return f
end

-- "*x", "x[3]" or "*(x + y)"
local function at_float(pointer)
  local base, offset = pointer:match("^(%w+) %+ (%w+)$")
  if base then return base .. "[" .. offset .. "]" end
  return "*" .. (pointer:find(" ") and "(" .. pointer .. ")" or pointer)
end

local function at_vector(p, pointer, constant)
  if p.vector == 1 then return at_float(pointer) end
  if pointer:find(" ") then pointer = "(" .. pointer .. ")" end
  return "*(" .. constant .. "vec *)" .. pointer
end

local function load(p, pointer) return at_vector(p, pointer, "const ") end
local function store(p, pointer) return at_vector(p, pointer, "") end

local chain_names = { "s", "t", "u", "v", "w", "x", "y", "z" }

local function sum_name(chain, r, q)
  return ("%s%d_%d"):format(chain_names[chain], r, q)
end

-- One term: a[., step] b[step, .] into the sums of one chain.
local function emit_term(w, p, f, step, chain)
  w.line("{")
  w.line("const float *bp = %s;", code.at("b", step, f.b_row, 0))
  for q = 0, p.vectors - 1 do
    w.line("const %s b%d = %s;", f.type, q, load(p, code.at("bp", 0, "", q * p.vector)))
  end
  for r = 0, f.rows - 1 do              -- one of a at a time, or registers run out
    w.line("const float a%d = %s;", r,
           at_float(code.at("a", r, f.a_row, step * f.a_step)))
    for q = 0, p.vectors - 1 do
      w.line("%s += a%d * b%d;", sum_name(chain, r, q), r, q)
    end
  end
  w.line("}")
end

local function emit_prefetch(w, p, f)
  if p.prefetch == 0 then return end
  for line = 0, f.columns - 1, 16 do
    w.line("__builtin_prefetch(%s);", code.at("b", p.prefetch, f.b_row, line))
  end
end

local function each_sum(p, f, visit)
  for r = 0, f.rows - 1 do
    for q = 0, p.vectors - 1 do
      visit(r, q, code.at("c", r, "c_row", q * p.vector))
    end
  end
end

local function emit_sums(w, p, f)
  for chain = 1, f.chains do
    each_sum(p, f, function(r, q)
      w.line("%s %s = %s;", f.type, sum_name(chain, r, q),
             p.vector == 1 and "0.0f" or "{ 0.0f }")
    end)
  end
end

local function emit_tile_head(w, f, depth)
  w.line("static inline void tile(%sconst float *restrict a, const float "
         .. "*restrict b, float *restrict c%s%s)", depth, f.tile_formals, f.flag)
end

-- A whole tile, all of its terms, in registers.
local function emit_register_tile(w, p, f)
  w.line("/* A tile of c, %d x %d, summed in registers. */", f.rows, f.columns)
  emit_tile_head(w, f, "ptrdiff_t depth, ")
  w.line("{")
  emit_sums(w, p, f)
  w.line("")
  if p.unroll > 1 then
    w.line("for (; depth >= %d; depth -= %d) {", p.unroll, p.unroll)
    emit_prefetch(w, p, f)
    for step = 0, p.unroll - 1 do
      emit_term(w, p, f, step, step % f.chains + 1)
    end
    w.line("a += %d;", p.unroll * f.a_step)
    w.line("b += %s;", p.pack_b == 1 and p.unroll * f.columns
           or p.unroll .. " * b_row")
    w.line("}")
  end
  w.line("for (; depth > 0; depth--) {")
  if p.unroll == 1 then emit_prefetch(w, p, f) end
  emit_term(w, p, f, 0, 1)
  w.line("a += %d;", f.a_step)
  w.line("b += %s;", f.b_row)
  w.line("}")
  local half = f.chains // 2
  while half >= 1 do
    for chain = 1, half do
      each_sum(p, f, function(r, q)
        w.line("%s += %s;", sum_name(chain, r, q), sum_name(chain + half, r, q))
      end)
    end
    half = half // 2
  end
  if f.add == "flag" then
    w.line("if (add) {")
    each_sum(p, f, function(r, q, c)
      w.line("%s += %s;", sum_name(1, r, q), load(p, c))
    end)
    w.line("}")
  end
  each_sum(p, f, function(r, q, c)
    w.line("%s %s %s;", store(p, c), f.add == "always" and "+=" or "=",
           sum_name(1, r, q))
  end)
  w.close()
end

-- `unroll` terms of a tile whose sums live in memory.
local function emit_memory_tile(w, p, f)
  w.line("/* Depth %d of a tile of c, %d x %d. */", p.unroll, f.rows, f.columns)
  emit_tile_head(w, f, "")
  w.line("{")
  if f.add == "flag" then
    emit_sums(w, p, f)
    w.line("if (add) {")
    each_sum(p, f, function(r, q, c)
      w.line("%s = %s;", sum_name(1, r, q), load(p, c))
    end)
    w.line("}")
  else
    each_sum(p, f, function(r, q, c)
      w.line("%s %s = %s;", f.type, sum_name(1, r, q), load(p, c))
    end)
  end
  w.line("")
  emit_prefetch(w, p, f)
  for step = 0, p.unroll - 1 do emit_term(w, p, f, step, 1) end
  each_sum(p, f, function(r, q, c)
    w.line("%s = %s;", store(p, c), sum_name(1, r, q))
  end)
  w.close()
end

-- What a whole tile does not cover; rows, columns and depth as they come. Packed panels
-- are whole: so is the tile, of which only a part is kept.
local function emit_edge(w, p, f)
  w.line("/* What is left beside the whole tiles. */")
  w.open("static void edge(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, "
         .. "const float *restrict a, const float *restrict b, "
         .. "float *restrict c, ptrdiff_t c_row%s%s)", f.strides, f.flag)
  if in_registers(p) and p.pack_a + p.pack_b == 2 then
    w.line("float whole[%d] = { 0.0f };", f.rows * f.columns)
    w.line("")
    w.line("tile(depth, a, b, whole%s%s);", f.rows > 1 and ", " .. f.columns or "",
           f.add == "flag" and ", 0" or "")
    w.line("for (ptrdiff_t i = 0; i < rows; i++)")
    w.line("    for (ptrdiff_t j = 0; j < columns; j++)")
    w.line("        c[i * c_row + j] %s whole[i * %d + j]%s;", f.add == "always" and "+=" or "=",
           f.columns, f.add == "flag" and " + (add ? c[i * c_row + j] : 0.0f)" or "")
    w.close()
    return
  end
  w.line("for (ptrdiff_t i = 0; i < rows; i++) {")
  w.line("float *ci = c + i * c_row;")
  w.line("")
  if f.add ~= "always" then
    w.line("for (ptrdiff_t j = 0; %sj < columns; j++)",
           f.add == "flag" and "!add && " or "")
    w.line("    ci[j] = 0.0f;")
  end
  w.line("for (ptrdiff_t p = 0; p < depth; p++) {")
  w.line("const float x = a[%s];", p.pack_a == 0 and "i * a_row + p"
         or f.rows == 1 and "p" or ("p * %d + i"):format(f.rows))
  w.line("")
  w.line("for (ptrdiff_t j = 0; j < columns; j++)")
  w.line("    ci[j] += x * b[p * %s + j];", f.b_row)
  w.line("}")
  w.line("}")
  w.close()
end

-- The loops over the tiles of one block.
local function emit_block(w, p, f)
  local registers = in_registers(p)
  local size = { i = "rows", j = "columns", k = "depth" }
  local index = { i = "i", j = "j", k = "p" }
  local step = { i = f.rows, j = f.columns, k = p.unroll }
  w.line("/* c += a b for one block. */")
  w.open("static void block(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, "
         .. "const float *restrict a, const float *restrict b, "
         .. "float *restrict c, ptrdiff_t c_row%s%s)", f.strides,
         f.add ~= "flag" and "" or registers and ", int add" or ", int later")
  local whole, opened = {}, 0
  for d in p.order:gmatch(".") do
    if not (d == "k" and registers) then
      w.line("for (ptrdiff_t %s = 0; %s < %s; %s%s) {", index[d], index[d],
             size[d], index[d], step[d] == 1 and "++" or " += " .. step[d])
      opened = opened + 1
      if step[d] > 1 then
        whole[#whole + 1] = ("%s + %d <= %s"):format(index[d], step[d], size[d])
      end
    end
  end
  local at_a = p.pack_a == 1 and "a + i * depth" or "a + i * a_row"
  local at_b = p.pack_b == 1 and "b + j * depth" or "b + j"
  if not registers then
    at_a = at_a .. (p.pack_a == 1 and " + p * " .. f.rows or " + p")
    at_b = at_b .. " + p * " .. f.b_row
  end
  w.line("const float *ai = %s;", at_a)
  w.line("const float *bj = %s;", at_b)
  w.line("float *cij = c + i * c_row + j;")
  if not registers and f.add == "flag" then
    w.line("const int add = later || p > 0;")
  end
  w.line("")
  local call = ("tile(%sai, bj, cij%s%s);"):format(
    registers and "depth, " or "", f.tile_actuals, f.pass_flag)
  if #whole == 0 then
    w.line(call)
  else
    local function least(d)
      if step[d] == 1 then return "1" end
      return ("least(%d, %s - %s)"):format(step[d], size[d], index[d])
    end
    w.line("if (%s)", table.concat(whole, " && "))
    w.line("    %s", call)
    w.line("else")
    w.line("    edge(%s, %s, %s, ai, bj, cij, c_row%s%s);", least "i",
           least "j", registers and "depth" or least "k", f.pass_strides,
           f.pass_flag)
  end
  for _ = 1, opened do w.line("}") end
  w.close()
end

local function side(p, dimension, name)
  return p[dimension] > 0 and ("least(%d, %s)"):format(p[dimension], name) or name
end

local function emit_scratch(w, p, f)
  local depth = side(p, "tile_k", "k")
  if p.pack_a == 1 then
    code.buffer(w, "packed_a", ("up(%s, %d) * %s"):format(side(p, "tile_m", "m"), f.rows, depth),
                packed(p, "tile_m", f.rows))
  end
  if p.pack_b == 1 then
    code.buffer(w, "packed_b", ("%s * up(%s, %d)"):format(depth, side(p, "tile_n", "n"),
                f.columns), packed(p, "tile_n", f.columns))
  end
end

local function emit_entry(w, p, f)
  w.line("void matmul(const float *a, const float *b, float *c,")
  w.open("            int32_t m, int32_t n, int32_t k)")
  emit_scratch(w, p, f)
  if p.pack_a + p.pack_b > 0 then w.line("") end
  if f.add == "always" then
    w.line("for (ptrdiff_t x = 0; x < (ptrdiff_t)m * n; x++)")
    w.line("    c[x] = 0.0f;")
  end
  local size = { i = "m", j = "n", k = "k" }
  local first = { i = "i0", j = "j0", k = "p0" }
  local span = { i = "rows", j = "columns", k = "depth" }
  local seen, opened = {}, 0
  local function open(d)
    local tile = p[tile_of[d]]
    if tile > 0 then
      w.line("for (ptrdiff_t %s = 0; %s < %s; %s += %d) {", first[d], first[d],
             size[d], first[d], tile)
      w.line("const ptrdiff_t %s = least(%d, %s - %s);", span[d], tile, size[d],
             first[d])
      opened = opened + 1
    end
    seen[d] = true
  end
  -- Offsets vanish with the loop that would move them.
  local function from(base, row, row_size, column)
    local text = base
    if p[tile_of[row]] > 0 then
      text = text .. " + " .. first[row] .. " * " .. row_size
    end
    return p[tile_of[column]] > 0 and text .. " + " .. first[column] or text
  end
  local function extent(d) return p[tile_of[d]] > 0 and span[d] or size[d] end
  local packed_a, packed_b = p.pack_a == 0, p.pack_b == 0
  local function pack()
    if not packed_b and seen.j and seen.k then
      w.line("pack_b(%s, %s, %s, n, packed_b);", extent "k", extent "j",
             from("b", "k", "n", "j"))
      packed_b = true
    end
    if not packed_a and seen.i and seen.k then
      w.line("pack_a(%s, %s, %s, k, packed_a);", extent "i", extent "k",
             from("a", "i", "k", "k"))
      packed_a = true
    end
  end
  -- Dimensions without a loop are there from the start.
  for _, d in ipairs { "i", "j", "k" } do
    if p[tile_of[d]] == 0 then seen[d] = true end
  end
  pack()
  for d in p.block_order:gmatch(".") do
    if p[tile_of[d]] > 0 then open(d) end
    pack()
  end
  w.line("block(%s, %s, %s, %s, %s, %s, n%s%s%s);",
         extent "i", extent "j", extent "k",
         p.pack_a == 1 and "packed_a" or from("a", "i", "k", "k"),
         p.pack_b == 1 and "packed_b" or from("b", "k", "n", "j"),
         from("c", "i", "n", "j"),
         p.pack_a == 0 and ", k" or "", p.pack_b == 0 and ", n" or "",
         f.add == "flag" and (p.tile_k > 0 and ", p0 > 0" or ", 0") or "")
  for _ = 1, opened do w.line("}") end
  if f.heap_a then w.line("free(packed_a);") end
  if f.heap_b then w.line("free(packed_b);") end
  w.line("}")
end

local function emit_helpers(w, p, f)
  local tiled = p.tile_m + p.tile_n + p.tile_k > 0
  if tiled or p.pack_b == 1 or f.rows * f.columns > 1
      or (not in_registers(p) and p.unroll > 1) then
    code.least(w)
  end
  if f.heap_a or f.heap_b then
    w.open("static inline ptrdiff_t up(ptrdiff_t x, ptrdiff_t to)")
    w.line("return (x + to - 1) / to * to;")
    w.close()
    code.scratch(w)
  end
end

local function emit(point)
  local p = settle(point)
  local w, f = code.writer(), plan(p)
  code.describe(w, parameters, p)
  code.head(w, p.vector, {
    includes = { "stddef", "stdint", (f.heap_a or f.heap_b) and "stdlib" or nil },
  })
  emit_helpers(w, p, f)
  if p.pack_a == 1 then code.pack_rows(w, "pack_a", f.rows) end
  if p.pack_b == 1 then code.pack_columns(w, "pack_b", f.columns) end
  if in_registers(p) then
    emit_register_tile(w, p, f)
  else
    emit_memory_tile(w, p, f)
  end
  if f.rows * f.columns > 1 or (not in_registers(p) and p.unroll > 1) then
    emit_edge(w, p, f)
  end
  emit_block(w, p, f)
  emit_entry(w, p, f)
  return w.text()
end

-- The point that the analysis of cache-blocked products gives (Low et al., Analytical
-- Modeling is Enough for High-Performance BLIS, TOMS 2016): a tile that fills the
-- registers; depth such that a panel of b stays in the first cache, rows such that a
-- block of a stays in the second; both packed, each block of b packed once. So many sums
-- hide the latency of an addition: nothing is unrolled.
local function first_points(machine)
  local values, roof = {}, machine.roofline
  for _, p in ipairs(parameters) do values[p[1]] = p[2] end
  local vector = code.vector_width(machine, values.vector)
  local tile = code.register_tile(machine, values.fuse_rows, values.vectors)
  if not tile then return {} end
  local depth = code.block(roof.l1d_bytes, 4 * tile[2] * vector, values.tile_k)
  return { { vector = vector, vectors = tile[2], fuse_rows = tile[1], fuse_init = 1,
             unroll = 1, prefetch = 0, pack_a = 1, pack_b = 1, tile_k = depth,
             tile_m = code.block(roof.l2_bytes, 4 * math.max(depth, 1), values.tile_m),
             tile_n = code.block(roof.l3_bytes, 4 * math.max(depth, 1), values.tile_n),
             order = "jik", block_order = "jki" } }
end

return { parameters = parameters, valid = valid, emit = emit, first_points = first_points }
