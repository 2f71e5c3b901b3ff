-- emit/init.lua - what the schedule.lua of a C task writes its source with: a writer
-- that indents and wraps, and the helpers that several tasks' kernels share, whose text is in c.in.
local lists = require "kernelband.base.lists"
local own = require("kernelband.base.path").own

local emit = {}

-- Pieces of code with holes: the files emit/*.in, each piece below a line "@@ NAME"; cuda.across is
-- "across" of cuda.in. In a piece ${x} is x of the values it is filled with, or an expression of
-- them. A line that begins with % is Lua, around the lines after it: % for i = 1, n do .. % end. It
-- sees the values, and the globals of Lua.
local pieces, compiled = {}, {}

-- The text of a piece.
function emit.piece(name)
  if not pieces[name] then
    local file, at = name:match "^(%w+)%.", nil
    for line in own("emit/" .. file .. ".in"):gmatch "[^\n]*\n" do
      local piece = line:match "^@@ (%S+)"
      if piece then at = file .. "." .. piece end
      if at then pieces[at] = piece and "" or pieces[at] .. line end
    end
  end
  return pieces[name]
end

local function hole(v, name)
  if v == nil then error(("no value for ${%s}"):format(name), 3) end
  return tostring(v)
end

-- A line as Lua that puts it.
local function statement(line)
  local lua = line:match "^%s*%%(.*)"
  if lua then return lua end
  local parts, at = {}, 1
  for from, name, to in line:gmatch "()%${(.-)}()" do
    parts[#parts + 1] = ("%q .. hole(%s, %q)"):format(line:sub(at, from - 1), name, name)
    at = to
  end
  parts[#parts + 1] = ("%q"):format(line:sub(at))
  return ("put(%s)"):format(table.concat(parts, " .. "))
end

-- Calls put with each line of a piece, filled in.
local function fill(name, values, put)
  if not compiled[name] then
    local out = { "local _ENV, put, hole = ..." }
    for line in emit.piece(name):gmatch "([^\n]*)\n" do out[#out + 1] = statement(line) end
    compiled[name] = assert(load(table.concat(out, "\n"), "=" .. name, "t"))
  end
  compiled[name](setmetatable({}, { __index = function(_, key)
    local v = values and values[key]
    if v == nil then return _G[key] end
    return v
  end }), put, hole)
end

-- Lines of C, indented by the braces they open and close, at most 80 wide: a
-- longer line breaks after an operator of a sum, or else after a comma.
function emit.writer()
  local lines, depth = {}, 0
  local w = {}
  local function put(text, column)
    local start = text:sub(1, 80)
    local sum = #text > 80 and start:match "= .*[+*]() "
    local cut = sum or #text > 80 and start:match ".*,() "
    if not cut then lines[#lines + 1] = text return end
    lines[#lines + 1] = text:sub(1, cut - 1)
    column = column or sum and text:find "= " + 1 or text:find "%(" or 0
    put((" "):rep(column) .. text:sub(cut + 1), column)
  end
  function w.line(text, ...)
    if select("#", ...) > 0 then text = text:format(...) end
    if text:find "^}" then depth = depth - 1 end
    local flat = text == "" or text:find "^#"
    put((flat and "" or ("    "):rep(depth)) .. text)
    if text:find "{$" then depth = depth + 1 end
  end
  -- The head of a function with its brace, and what ends it with the blank line below.
  function w.open(...)
    w.line(...)
    w.line("{")
  end
  function w.close()
    w.line("}")
    w.line("")
  end
  -- A piece of code, filled in. Its lines are set in by its own braces.
  function w.fill(name, values)
    local outer = depth
    fill(name, values, function(line)
      local inner = math.max(0, depth - outer - (line:find "^ *}" and 1 or 0))
      w.line((line:gsub("^" .. ("    "):rep(inner), "")))
    end)
  end
  function w.text() return table.concat(lines, "\n") .. "\n" end
  return w
end

-- What a processor's registers and caches suggest, for first_points of a schedule. machine:
-- as a device describes itself. A kind of machine that is not known here suggests nothing.
local registers = {                     -- how many there are, floats in one
  ["avx512f"] = { 32, 16 }, ["avx2+fma"] = { 16, 8 },
}

-- The widest vector among values that a register holds.
function emit.vector_width(machine, values)
  local known = registers[machine.roofline and machine.roofline.isa]
  return (lists.best(values, function(v) return known and v <= known[2] and v end))
end

-- The tile { rows, vectors } of sums that stay in registers beside the vectors of a row of
-- b, one element of a, and one to spare: the one with most sums, of as many the narrowest
-- that has no more loads than products. nil where nothing fits.
function emit.register_tile(machine, rows, vectors)
  local known, best = registers[machine.roofline and machine.roofline.isa], nil
  for _, r in ipairs(rows) do
    for _, v in ipairs(vectors) do
      local fits = known and r * v + v + 2 <= known[1] and r + v <= r * v
      local more = fits and best and r * v - best[1] * best[2]
      if fits and (not best or more > 0 or more == 0 and v < best[2]) then best = { r, v } end
    end
  end
  return best
end

-- The largest of values so many of which fit half of a cache: the other half is for
-- what streams by.
function emit.block(cache_bytes, bytes_each, values)
  return (lists.best(values, function(v)
    return (v == values[1] or v * bytes_each <= cache_bytes / 2) and v
  end))
end

-- first_points of a schedule that only knows vectors: as wide as a register, and with a
-- polynomial for exponentials, as a call of libm takes one float at a time.
function emit.wide(parameters)
  return function(machine)
    local point = {}
    for _, p in ipairs(parameters) do
      for _, v in ipairs(p[1] == "exp" and p[2] or {}) do
        if v == "poly" then point.exp = v end
      end
      if p[1] == "vector" then point.vector = emit.vector_width(machine, p[2]) end
    end
    return point.vector and { point }
  end
end

function emit.copy(parameters, p)
  local out = {}
  for _, parameter in ipairs(parameters) do
    out[parameter[1]] = p[parameter[1]]
  end
  return out
end

-- Puts parameters of a point back to their first values.
function emit.reset(parameters, p, names)
  for _, parameter in ipairs(parameters) do
    for _, name in ipairs(names) do
      if parameter[1] == name then p[name] = parameter[2][1] end
    end
  end
end

-- A comment that names every parameter and its value.
function emit.describe(w, parameters, p)
  local text = "/*"
  for _, parameter in ipairs(parameters) do
    local said = (" %s=%s"):format(parameter[1], p[parameter[1]])
    if #text + #said > 76 then
      w.line(text)
      text = " *"
    end
    text = text .. said
  end
  w.line(text .. " */")
end

-- opts.includes: names of headers; opts.stream: stores past the cache are used. The helpers
-- bits, least, scratch and put follow where opts names them.
function emit.head(w, vector, opts)
  local bytes = opts.stream and vector == 1    -- put copies the bits of a float
  for _, name in ipairs(opts.includes) do bytes = bytes and name ~= "string" end
  w.fill("c.head", { includes = opts.includes, stream = opts.stream or false, bytes = bytes,
                     vector = vector })
  for _, name in ipairs { "bits", "least", "scratch", "put" } do
    if opts[name] then emit[name](w, vector) end
  end
end

-- bits: the words of a vec.
function emit.bits(w, vector)
  w.line("typedef uint32_t bits __attribute__((vector_size(%d)));", vector * 4)
  w.line("")
end

function emit.least(w) w.fill "c.least" end

-- A kernel has no way to say that memory is short, so it dies visibly.
function emit.scratch(w) w.fill "c.scratch" end

-- Whether so many floats may be an array: two fit on any thread's stack, and the heap may
-- give its pages back after every call.
function emit.small(floats) return floats ~= nil and floats <= 1 << 16 end

-- A buffer of floats (text, and their number where it is known): an array or scratch.
function emit.buffer(w, name, floats, known)
  if emit.small(known) then
    w.line("float %s[%d] __attribute__((aligned(64)));", name, known)
  else
    w.line("float *%s = scratch(%s);", name, floats)
  end
end

-- name(rows, depth, a, a_row, to): whole panels of so many rows, one column after the
-- other; what lies below the last row repeats it. Calls least.
function emit.pack_rows(w, name, rows)
  w.fill("c.pack_rows", { name = name, rows = rows })
end

-- name(depth, columns, b, b_row, to): whole panels of so many columns, one row after the
-- other; what lies beside the last column is 0.
function emit.pack_columns(w, name, columns)
  w.fill("c.pack_columns", { name = name, columns = columns })
end

local intrinsics = {
  [4] = { "__SSE2__", "_mm_stream_ps", "__m128" },
  [8] = { "__AVX__", "_mm256_stream_ps", "__m256" },
  [16] = { "__AVX512F__", "_mm512_stream_ps", "__m512" },
}

-- put(to, from): a vector of 1, 4, 8 or 16 floats. Vectors go by address, so that
-- a machine without such registers has no calling convention to warn about.
function emit.put(w, vector)
  local machine, call, type = table.unpack(intrinsics[vector] or {})
  w.fill("c.put", { vector = vector, machine = machine, call = call, type = type })
end

-- After the last put: later stores must not overtake it.
function emit.stream_end(w) w.fill "c.stream_end" end

-- "x + r * row + j" and the like, for row r of those in hand.
function emit.at_row(base, r, column)
  if r == 0 then return base .. " + " .. column end
  return ("%s + %s%s_row + %s"):format(base, r == 1 and "" or r .. " * ", base, column)
end

-- "base", "base + 3", or "base + 2 * stride + 3"; a stride may be a number.
function emit.at(base, count, stride, offset)
  local by = tonumber(stride)
  if by then count, offset = 0, offset + count * by end
  if count > 0 then base = base .. " + " .. (count == 1 and "" or count .. " * ") .. stride end
  return offset > 0 and base .. " + " .. offset or base
end

-- A loop over columns 0 .. n, main part in vectors, `unroll` at a time. body(u, at)
-- writes one vector of every row, tail(at) one float. p.hint: what a prefetch says
-- besides the address. With part, its open() and close() surround every part.floats columns
-- of the main part.
function emit.loop(w, p, rows, backward, from, body, tail, part)
  local step = p.unroll * p.vector
  w.fill("c.loop", { step = step, rows = rows, backward = backward, from = from, tail = tail,
    part = part, prefetch = p.prefetch, hint = p.hint or "", at_row = emit.at_row,
    vectors = function()
      for u = 0, p.unroll - 1 do
        local offset = u * p.vector - (backward and step or 0)
        body(u, offset == 0 and "j" or ("j %s %d"):format(offset < 0 and "-" or "+",
                                                          math.abs(offset)))
      end
    end })
end

-- A loop over i from i0 to stop, i being a name: body(rows) so many at a time, then body(1).
function emit.rows(w, rows, i, stop, body)
  w.fill("c.rows", { rows = rows, i = i, stop = stop, body = body })
end

-- Begins the loop over the columns 0 .. n in blocks.
function emit.blocks(w, size, backward) w.fill("c.blocks", { size = size, backward = backward }) end

-- Adds the sums part0, part1 .. up into the first, pairwise.
function emit.fold(w, count, part)
  local half = count // 2
  while half >= 1 do
    for i = 0, half - 1 do w.line("%s%d += %s%d;", part, i, part, i + half) end
    half = half // 2
  end
end

-- Adds the first of them, all its lanes, to the sum `to`.
function emit.lanes(w, p, to, part)
  if p.vector == 1 then return w.line("%s += %s0;", to, part) end
  w.line("for (int q = 0; q < %d; q++)", p.vector)
  w.line("    %s += %s0[q];", to, part)
end

-- "x + 3 * x_row + j" as x[3 * x_row + j]
function emit.element(pointer)
  return (pointer:gsub("^(%w+) %+ (.*)$", "%1[%2]"))
end

function emit.load(p, pointer)
  if p.vector == 1 then return emit.element(pointer) end
  return ("*(const vec *)(%s)"):format(pointer)
end

function emit.store(w, p, streams, pointer, value)
  if streams then
    w.line("put(%s, &%s);", pointer, value)
  elseif p.vector == 1 then
    w.line("%s = %s;", emit.element(pointer), value)
  else
    w.line("*(vec *)(%s) = %s;", pointer, value)
  end
end

-- The polynomial of Cephes expf. x is at most 0 here; what would leave the normal
-- range becomes 0: -87.33654f is the least float whose exponential is normal (its
-- own is 1.0000045 * 2^-126, that of the next one below 0.9999969 * 2^-126).
-- exp x = 2^n exp r: adding 1.5 * 2^23 rounds to the whole n and leaves it in the
-- low bits.
--
-- exp_one(&x) and, for vectors, exp_all(&x): what p.exp says, "poly" or libm.
function emit.exp(w, p)
  if p.exp ~= "poly" then return w.fill("c.exp_libm", p) end
  w.fill("c.exp_poly", { name = "exp_one", type = "float", scalar = true })
  if p.vector > 1 then w.fill("c.exp_poly", { name = "exp_all", type = "vec", scalar = false }) end
end

return emit
