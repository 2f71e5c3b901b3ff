-- emit/init.lua - what the schedule.lua of a C task writes its source with: a writer
-- that indents and wraps, and the helpers that several tasks' kernels share, whose text is in c.in.
local lists    = require "kernelband.base.lists"
local template = require "kernelband.base.template"

local emit = {}

-- Lines of C, indented by the braces they open and close, at most 80 wide: a
-- longer line breaks after an operator of a sum, or else after a comma.
function emit.writer()
  local w, lines, depth = {}, {}, 0
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
  -- A piece of code, "cuda.across" of emit/cuda.in, filled in. Its lines are set in by its own
  -- braces.
  function w.fill(name, values)
    local outer = depth
    template.fill("emit/" .. name, values, function(line)
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

local function registers_of(machine) return registers[machine.roofline and machine.roofline.isa] end

-- The widest vector among values that a register holds.
function emit.vector_width(machine, values)
  local known = registers_of(machine)
  return (lists.best(values, function(v) return known and v <= known[2] and v end))
end

-- The tile { rows, vectors } of sums that stay in registers beside the vectors of a row of
-- b, one element of a, and one to spare: the one with most sums, of as many the narrowest
-- that has no more loads than products. nil where nothing fits.
function emit.register_tile(machine, rows, vectors)
  local known, best = registers_of(machine), nil
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
      if p[1] == "exp" and lists.places(p[2]).poly then point.exp = "poly" end
      if p[1] == "vector" then point.vector = emit.vector_width(machine, p[2]) end
    end
    return point.vector and { point }
  end
end

function emit.copy(parameters, p)
  local out = {}
  for _, parameter in ipairs(parameters) do out[parameter[1]] = p[parameter[1]] end
  return out
end

-- Puts parameters of a point back to their first values.
function emit.reset(parameters, p, names)
  local idle = lists.places(names)
  for _, parameter in ipairs(parameters) do
    if idle[parameter[1]] then p[parameter[1]] = parameter[2][1] end
  end
end

-- Words in lines of at most 76 characters: the first begins with head, the others with indent.
function emit.wrapped(head, indent, words)
  local out, line = {}, head
  for _, word in ipairs(words) do
    if #line + #word > 76 then out[#out + 1], line = line, indent end
    line = line .. word
  end
  out[#out + 1] = line
  return table.concat(out, "\n")
end

-- A comment that names every parameter and its value.
function emit.describe(w, parameters, p)
  local words = lists.collect(parameters, function(of)
    return (" %s=%s"):format(of[1], p[of[1]])
  end)
  for line in (emit.wrapped("/*", " *", words) .. " */"):gmatch "[^\n]+" do w.line(line) end
end

-- What a piece of c.in is filled with, as the arguments of the function that puts it:
--   bits          the type of a vec's words
--   scratch       a kernel has no way to say that memory is short, so it dies visibly
--   pack_rows     name(rows, depth, a, a_row, to): whole panels of so many rows, one column after
--                 the other; what lies below the last row repeats it. Calls least
--   pack_columns  name(depth, columns, b, b_row, to): whole panels of so many columns, one row
--                 after the other; what lies beside the last column is 0
--   stream_end    after the last put: later stores must not overtake it
--   rows          a loop over i from i0 to stop, i being a name: body(rows) so many at a time,
--                 then body(1)
--   blocks        begins the loop over the columns 0 .. n in blocks
--   put           put(to, from): a vector of 1, 4, 8 or 16 floats. Vectors go by address, so that a
--                 machine without such registers has no calling convention to warn about
--   lanes         adds the first sum of p's parts, all its lanes, to the sum `to`
local arguments = {
  bits = { "vector" }, least = {}, scratch = {}, pack_rows = { "name", "rows" },
  pack_columns = { "name", "columns" }, stream_end = {}, rows = { "rows", "i", "stop", "body" },
  blocks = { "size", "backward" }, put = { "vector" }, lanes = { "p", "to", "part" },
}

-- Arguments by their names.
function emit.named(names, ...)
  local values, given = {}, { ... }
  for i, name in ipairs(names) do values[name] = given[i] end
  return values
end

for piece, names in pairs(arguments) do
  emit[piece] = function(w, ...) w.fill("c." .. piece, emit.named(names, ...)) end
end

-- opts.includes: names of headers; opts.stream: stores past the cache are used. The helpers
-- bits, least, scratch and put follow where opts names them.
function emit.head(w, vector, opts)
  local copied = opts.stream and vector == 1 and not lists.places(opts.includes).string
  w.fill("c.head", { includes = opts.includes, stream = opts.stream or false, vector = vector,
                     bytes = copied })          -- put copies the bits of a float
  for _, name in ipairs { "bits", "least", "scratch", "put" } do
    if opts[name] then emit[name](w, vector) end
  end
end

-- Whether so many floats may be an array: two fit on any thread's stack, and the heap may
-- give its pages back after every call.
function emit.small(floats) return floats ~= nil and floats <= 1 << 16 end

-- A buffer of floats (text, and their number where it is known): an array or scratch.
function emit.buffer(w, name, floats, known)
  if not emit.small(known) then return w.line("float *%s = scratch(%s);", name, floats) end
  w.line("float %s[%d] __attribute__((aligned(64)));", name, known)
end

-- "base", "base + 3", or "base + 2 * stride + 3"; a stride may be a number.
function emit.at(base, count, stride, offset)
  local by = tonumber(stride)
  if by then count, offset = 0, offset + count * by end
  if count > 0 then base = base .. " + " .. (count == 1 and "" or count .. " * ") .. stride end
  return offset > 0 and base .. " + " .. offset or base
end

-- "x + r * x_row + j" and the like, for row r of those in hand.
function emit.at_row(base, r, column)
  return emit.at(base, r, base .. "_row", 0) .. " + " .. column
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

-- Adds the sums part0, part1 .. up into the first, pairwise.
function emit.fold(w, count, part)
  while count > 1 do
    count = count // 2
    for i = 0, count - 1 do w.line("%s%d += %s%d;", part, i, part, i + count) end
  end
end

-- "x + 3 * x_row + j" as x[3 * x_row + j]
function emit.element(pointer) return (pointer:gsub("^(%w+) %+ (.*)$", "%1[%2]")) end

function emit.load(p, pointer)
  return p.vector == 1 and emit.element(pointer) or ("*(const vec *)(%s)"):format(pointer)
end

function emit.store(w, p, streams, pointer, value)
  if streams then return w.line("put(%s, &%s);", pointer, value) end
  w.line("%s = %s;", p.vector == 1 and emit.element(pointer) or ("*(vec *)(%s)"):format(pointer),
         value)
end

-- The polynomial of Cephes expf. x is at most 0 here; what would leave the normal
-- range becomes 0: -87.33654f is the least float whose exponential is normal (its
-- own is 1.0000045 * 2^-126, that of the next one below 0.9999969 * 2^-126).
-- exp x = 2^n exp r: adding 1.5 * 2^23 rounds to the whole n and leaves it in the
-- low bits.
--
-- exp_one(&x) and, for vectors, exp_all(&x): what p.exp says, "poly" or libm.
function emit.exp(w, p) w.fill(p.exp == "poly" and "c.exp_poly" or "c.exp_libm", p) end

return emit
