-- task/plan.lua - how a CUDA candidate wants its kernels launched: the comment lines
--
--   // kb: scratch partial f32[rows*8]
--   // kb: launch k grid=(cdiv(rows,4)) block=(128) shared=4*cols args=(x, y, rows, cols)
--
--   p, why = plan.parse(source, task)        -- once a candidate
--   r, why = plan.resolve(p, task, shape, { sm_count = 132 })   -- once a shape
--
-- The lines are a stranger's: neither function raises or takes long on any
-- text. Each returns nil and a sentence instead; line numbers are the source's.
--
-- Expressions: integers, the shape's names, the task's scalars, sm_count,
-- + - * / % (division rounds down and must not be by zero), ( ), cdiv(a, b),
-- min(a, b, ..) and max(a, b, ..). A value of 2^53 or beyond is refused.
--
-- r = { launches = { { kernel=, line=, grid={x,y,z}, block={x,y,z}, shared=,
--                      args = { { kind="arg", index=1 },         in task.args
--                               { kind="scratch", index=1 },     in r.scratch
--                               { kind="int", value=7 } } }, .. },
--       scratch = { { name=, dtype=, count= }, .. } }
-- A scalar of the task that is no integer, such as an epsilon, goes by
-- kind="arg", as it is; an integer goes by kind="int".
local lists = require "kernelband.base.lists"
local bytes_of = require "kernelband.task".bytes_of
local schema = require "kernelband.base.schema"
local text = require "kernelband.base.text"

local plan = {}

local limits = {
  launches = 16, scratch = 8, args = 64, chars = 256, line_chars = 2048, depth = 32,
  grid = { 2 ^ 31 - 1, 65535, 65535 }, block = { 1024, 1024, 64 }, threads = 1024,
  shared_bytes = 1 << 20,               -- the device's own limit is lower
  scratch_bytes = 8 << 30, source_bytes = 4 << 20,
}
local too_big = 1 << 53

-- Refusals travel as errors of the configuration, up to parse and resolve.
local check, refuse = schema.must, schema.raise

-- fn(...) where a refusal becomes nil and its sentence; others are bugs.
local function guarded(fn, ...)
  local ok, value = pcall(fn, ...)
  if ok then return value end
  if schema.is_config_error(value) then return nil, value.message end
  error(value, 0)
end

-- What a message may show of a stranger's text.
local function show(s) return text.cut(s:gsub("[^\x20-\x7e]", "?"), 60, "...") end

-- Expressions ----------------------------------------------------------------

-- c, a cursor over a line: its text, at, what messages call the place, and the names known there.
-- Every take skips blanks first.
local function take(c, pattern)
  local _, last, found = c.text:find("^%s*(" .. pattern .. ")", c.at)
  if last then c.at = last + 1 end
  return found
end

local function at_end(c) return c.text:find("^%s*$", c.at) ~= nil end

local function rest(c)
  local s = c.text:sub(c.at):match "^%s*(.-)%s*$"
  return s == "" and "the end" or "'" .. show(s) .. "'"
end

local function expect(c, pattern, name)
  return take(c, pattern) or refuse("%s: expected %s, got %s", c.what, name, rest(c))
end

-- Two factors below 2^53 may overflow: their float product is near enough to
-- tell, and its sign is right.
local operators = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return math.abs(a * 1.0 * b) < too_big and a * b or too_big end,
  ["/"] = function(a, b) return b ~= 0 and a // b or nil end,
  ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
  cdiv  = function(a, b) return b ~= 0 and -(-a // b) or nil end,
  min   = math.min, max = math.max,
}

-- An expression is an integer, a name, or { op = operator, operands .. }.
local expression

local function integer(c, digits)
  local value = #digits <= 16 and math.tointeger(tonumber(digits))
  if not value or value >= too_big or c.text:find("^[%w_.]", c.at) then
    refuse("%s: expected an integer below 2^53, got '%s'", c.what,
           show(digits .. c.text:match("^[%w_.]*", c.at)))
  end
  return value
end

-- cdiv takes two, min and max two or more.
local function call(c, name)
  check(operators[name], "%s: there is no function '%s' (known: cdiv, min, max)", c.what,
        show(name))
  local e = { op = name, expression(c) }
  while take(c, ",") do
    e[#e + 1] = expression(c)
    check(#e <= 16, "%s: %s of more than 16 values", c.what, name)
  end
  expect(c, "%)", "')'")
  check(#e == 2 or #e > 2 and name ~= "cdiv", "%s: %s takes 2 values%s, got %d", c.what, name,
        name == "cdiv" and "" or " or more", #e)
  return e
end

local function primary(c)
  c.depth = c.depth + 1
  check(c.depth <= limits.depth, "%s: nested more than %d deep", c.what, limits.depth)
  local out
  local digits = take(c, "%d+")
  if digits then
    out = integer(c, digits)
  elseif take(c, "%(") then
    out = expression(c)
    expect(c, "%)", "')'")
  elseif take(c, "%-") then
    out = { op = "-", 0, primary(c) }
  else
    out = expect(c, "[%a_][%w_]*", "a number, a name or '('")
    if take(c, "%(") then
      out = call(c, out)
    else
      check(c.known.ints[out], "%s: '%s' is no name of the shape (known: %s)", c.what, show(out),
            c.known.listed)
    end
  end
  c.depth = c.depth - 1
  return out
end

-- Operands that operators of one kind join, from the left.
local function chain(c, operand, signs)
  local left = operand(c)
  local op = take(c, signs)
  while op do
    left = { op = op, left, operand(c) }
    op = take(c, signs)
  end
  return left
end

local function product(c) return chain(c, primary, "[*/%%]") end

function expression(c) return chain(c, product, "[+-]") end

-- An expression that is no part of another.
local function whole(c)
  local from = c.at
  c.depth = 0
  local e = expression(c)
  check(c.at - from <= limits.chars, "%s: longer than %d characters", c.what, limits.chars)
  return e
end

local function evaluate(e, env, what)
  if math.type(e) then return e end
  if type(e) == "string" then
    return check(env[e], "%s: '%s' has no integer value here", what, show(e))
  end
  local v = evaluate(e[1], env, what)
  for i = 2, #e do
    v = check(operators[e.op](v, evaluate(e[i], env, what)), "%s: division by zero", what)
    check(math.abs(v) < too_big, "%s: a value of 2^53 or more", what)
  end
  return v
end

local function value_of(e, env, what, least, most)
  local v = evaluate(e, env, what)
  return check(v >= least and v <= most and v, "%s is %d, and must be from %d to %d", what, v,
               least, math.tointeger(most))
end

-- Lines ----------------------------------------------------------------------

-- What item(c) reads at each place between '(' and its ')'.
local function items(c, key, most, item)
  local out, what, place = {}, c.what, key == "args" and "argument" or key .. ", value"
  expect(c, "%(", "'(' after " .. key .. "=")
  check(c.text:find("^%b()", c.at - 1), "%s: a '(' is never closed", what)
  if take(c, "%)") then return out end
  repeat
    check(#out < most, "%s: more than %d items", what, most)
    c.what = ("%s: %s %d"):format(what, place, #out + 1)
    out[#out + 1] = item(c)
  until not take(c, ",")
  expect(c, "%)", "an operator")
  return out
end

-- Of a launch line: key = function(cursor, key), which may say more of where it is.
local fields = {}

function fields.grid(c, key)
  local values = items(c, key, 3, whole)
  return check(#values > 0 and values, "%s: %s=() needs one to three values", c.what, key)
end
fields.block = fields.grid

function fields.shared(c)
  c.what = c.what .. ": shared"
  return whole(c)
end

function fields.args(c, key)
  return items(c, key, limits.args, function()
    local name = c.text:match("^%s*([%a_][%w_]*)%s*[,)]", c.at)
    local buffer = c.known.as_is[name]
    if buffer then return take(c, name) and buffer end
    check(not name or c.known.ints[name],
          "%s: '%s' is no parameter of the task, scratch buffer or name of the shape", c.what,
          show(name or ""))
    return { kind = "int", value = whole(c) }
  end)
end

function fields.cluster(c) refuse("%s: cluster= is not supported: leave it out", c.what) end

local verbs = {}                        -- of plan lines: verb = function(cursor, plan)

function verbs.launch(c, out)
  local kernel = expect(c, "[%a_][%w_]*", "the kernel's name after launch")
  check(#kernel <= 200, "%s: a kernel's name of more than 200 characters", c.what)
  local what = ("%s: launch %s"):format(c.what, show(kernel))
  local l = { kernel = kernel, what = what, line = c.line }
  while not at_end(c) do
    c.what = what
    local key = expect(c, "%a[%w_]*", "grid=, block=, shared= or args=")
    expect(c, "=", "'=' after " .. show(key))
    check(fields[key], "%s: there is no %s= (known: grid, block, shared, args)", what, show(key))
    check(not l[key], "%s: %s= is given twice", what, key)
    l[key] = fields[key](c, key)
  end
  for _, key in ipairs { "grid", "block", "args" } do
    check(l[key], "%s: %s=(..) is missing", what, key)
  end
  check(#out.launches < limits.launches, "%s: more than %d launches", what, limits.launches)
  out.launches[#out.launches + 1] = l
end

function verbs.scratch(c, out)
  local name = expect(c, "[%a_][%w_]*", "the buffer's name after scratch")
  local known, what = c.known, ("%s: scratch %s"):format(c.what, show(name))
  c.what = what
  check(not (known.as_is[name] or known.ints[name]), "%s: the name is taken already", what)
  local dtype = expect(c, "%a%w*", "an element type such as f32")
  check(bytes_of[dtype], "%s: there is no element type '%s' (known: f64, f32, f16, bf16, i8, u8, "
                         .. "i32, i64)", what, show(dtype))
  expect(c, "%[", "'[' after " .. dtype)
  local count = whole(c)
  expect(c, "%]", "']'")
  check(at_end(c), "%s: expected the end of the line, got %s", what, rest(c))
  check(#out.scratch < limits.scratch, "%s: more than %d scratch buffers", what, limits.scratch)
  out.scratch[#out.scratch + 1] = { name = name, dtype = dtype, count = count, what = what }
  known.as_is[name] = { kind = "scratch", index = #out.scratch }
end

-- What may stand in expressions: the integers of a task by their names, each an argument, or {} for
-- a dimension of its shapes; and which arguments, scratch buffers among them, go as they are.
local function known_names(task)
  local ints, as_is = { sm_count = {} }, {}
  for _, name in ipairs(task.shape_names or {}) do ints[name] = {} end
  for i, a in ipairs(task.args) do
    if a.mode == "scalar" and a.dtype:find "^[iu]" then
      ints[a.name] = a
    elseif not ints[a.name] then
      as_is[a.name] = { kind = "arg", index = i }
    end
  end
  return { ints = ints, as_is = as_is, listed = table.concat(lists.keys(ints), ", ") }
end

local function parse(source, task)
  check(#source <= limits.source_bytes, "the source is longer than %d bytes", limits.source_bytes)
  local out = { launches = {}, scratch = {} }
  local known = known_names(task)
  for number, line in ipairs(text.lines(source)) do
    local said = line:match "^[ \t]*//[ \t]*kb:(.*)$"
    if said then
      local c = { text = said, at = 1, line = number, what = "line " .. number, known = known }
      check(#said <= limits.line_chars, "%s: longer than %d characters", c.what, limits.line_chars)
      local verb = expect(c, "%a%w*", "'launch' or 'scratch' after // kb:")
      check(verbs[verb], "%s: '%s' is neither 'launch' nor 'scratch'", c.what, show(verb))
      verbs[verb](c, out)
    end
  end
  check(#out.launches > 0, "the source has no launch plan: it needs a line such as "
    .. "// kb: launch %s grid=(..) block=(..) args=(..)", task.entry or task.name or "k")
  return out
end

-- Shapes ---------------------------------------------------------------------

local function environment(task, shape, machine)
  local env, ints = {}, known_names(task).ints
  for name, a in pairs(ints) do env[name] = math.tointeger(a.value or shape[name]) end
  env.sm_count = env.sm_count or math.tointeger((machine or {}).sm_count)
  return env
end

local function resolve_tuple(l, key, env)
  local out, volume = { 1, 1, 1 }, 1
  for i, e in ipairs(l[key]) do
    local what = ("%s: %s.%s"):format(l.what, key, ("xyz"):sub(i, i))
    out[i] = value_of(e, env, what, 1, limits[key][i])
    volume = volume * out[i]
  end
  return out, volume
end

local function resolve_launch(l, env)
  local grid = resolve_tuple(l, "grid", env)
  local block, threads = resolve_tuple(l, "block", env)
  check(threads <= limits.threads, "%s: a block of %d threads, and %d is the most", l.what, threads,
        limits.threads)
  local shared = value_of(l.shared or 0, env, l.what .. ": shared", 0, limits.shared_bytes)
  return { kernel = l.kernel, line = l.line, grid = grid, block = block, shared = shared,
    args = lists.collect(l.args, function(a, i)
      if a.kind ~= "int" then return a end
      local what = ("%s: argument %d"):format(l.what, i)
      return { kind = "int", value = value_of(a.value, env, what, 1 - too_big, too_big - 1) }
    end) }
end

-- machine: what else an expression may name; nil where nothing is known of it.
local function resolve(p, task, shape, machine)
  local env, total = environment(task, shape, machine), 0
  local scratch = lists.collect(p.scratch, function(s)
    local bytes = bytes_of[s.dtype]
    local count = value_of(s.count, env, s.what .. ": elements", 1, limits.scratch_bytes // bytes)
    total = total + count * bytes
    check(total <= limits.scratch_bytes, "%s: scratch of more than %d GiB in all", s.what,
          limits.scratch_bytes >> 30)
    return { name = s.name, dtype = s.dtype, count = count }
  end)
  return { scratch = scratch,
           launches = lists.collect(p.launches, function(l) return resolve_launch(l, env) end) }
end

function plan.parse(source, task) return guarded(parse, source, task) end

function plan.resolve(...) return guarded(resolve, ...) end

return plan
