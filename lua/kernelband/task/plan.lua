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
local keys = require "kernelband.base.schema".keys

local plan = {}

plan.limits = {
  lines = 64, launches = 16, scratch = 8, args = 64, chars = 256, line_chars = 2048, depth = 32,
  grid = { 2 ^ 31 - 1, 65535, 65535 }, block = { 1024, 1024, 64 }, threads = 1024,
  shared_bytes = 1 << 20,               -- the device's own limit is lower
  scratch_bytes = 8 << 30, source_bytes = 4 << 20,
}
local limits = plan.limits
local too_big = 1 << 53

local bytes_of = { f64 = 8, i64 = 8, f32 = 4, i32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1 }
local integral = { i8 = true, u8 = true, i32 = true, i64 = true }

-- Refusals travel as errors of this one kind, up to parse and resolve.
local refusal = {}
local function refuse(...)
  error(setmetatable({ text = string.format(...) }, refusal), 0)
end

local function at_most(most, n, what, noun)
  if n > most then refuse("%s: more than %d %s", what, most, noun) end
end

local function not_longer(n, what)
  if n > limits.chars then refuse("%s: longer than %d characters", what, limits.chars) end
end

-- fn(...) where a refusal becomes nil and its sentence; others are bugs.
local function guarded(fn, ...)
  local ok, value = pcall(fn, ...)
  if ok then return value end
  if getmetatable(value) == refusal then return nil, value.text end
  error(value, 0)
end

-- What a message may show of a stranger's text.
local function show(s)
  if #s > 60 then s = s:sub(1, 57) .. "..." end
  return (s:gsub("[^\x20-\x7e]", "?"))
end

-- Expressions ----------------------------------------------------------------

-- A cursor over text; every take skips blanks first.
local function cursor(text, what)
  return { text = text, at = 1, what = what, depth = 0 }
end

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

local expression

-- cdiv takes two, min and max two or more.
local function call(c, name)
  local args = { expression(c) }
  while take(c, ",") do
    args[#args + 1] = expression(c)
    if #args > 16 then refuse("%s: %s of more than 16 values", c.what, name) end
  end
  expect(c, "%)", "')'")
  if #args < 2 or (name == "cdiv" and #args > 2) then
    refuse("%s: %s takes %s, got %d", c.what, name,
           name == "cdiv" and "2 values" or "2 values or more", #args)
  end
  return { op = name, args = args }
end

local function primary(c)
  c.depth = c.depth + 1
  if c.depth > limits.depth then
    refuse("%s: nested more than %d deep", c.what, limits.depth)
  end
  local out
  local digits = take(c, "%d+")
  if digits then
    local value = #digits <= 16 and math.tointeger(tonumber(digits))
    if not value or value >= too_big or c.text:find("^[%w_.]", c.at) then
      refuse("%s: expected an integer below 2^53, got '%s'", c.what,
             show(digits .. c.text:match("^[%w_.]*", c.at)))
    end
    out = { op = "int", value = value }
  elseif take(c, "%(") then
    out = expression(c)
    expect(c, "%)", "')'")
  elseif take(c, "%-") then
    out = { op = "-", { op = "int", value = 0 }, primary(c) }
  else
    local name = expect(c, "[%a_][%w_]*", "a number, a name or '('")
    if take(c, "%(") then
      if name ~= "cdiv" and name ~= "min" and name ~= "max" then
        refuse("%s: there is no function '%s' (known: cdiv, min, max)", c.what, show(name))
      end
      out = call(c, name)
    else
      out = { op = "name", name = name }
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

local function parse_expression(text, what)
  not_longer(#text, what)
  local c = cursor(text, what)
  local e = expression(c)
  if not at_end(c) then refuse("%s: expected an operator, got %s", what, rest(c)) end
  return e
end

-- Two factors below 2^53 may overflow: their float product is near enough to
-- tell, and its sign is right.
local operators = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b)
    return math.abs(a * 1.0 * b) < too_big and a * b or too_big
  end,
  ["/"] = function(a, b) return b ~= 0 and a // b or nil end,
  ["%"] = function(a, b) return b ~= 0 and a % b or nil end,
  cdiv  = function(a, b) return b ~= 0 and -(-a // b) or nil end,
  min   = math.min, max = math.max,
}

local function names_in(e, out)
  if e.op == "name" then out[#out + 1] = e.name end
  for _, child in ipairs(e.args or e) do names_in(child, out) end
  return out
end

local function evaluate(e, env, what)
  if e.op == "int" then return e.value end
  if e.op == "name" then
    local v = env[e.name]
    if v == nil then refuse("%s: '%s' has no integer value here", what, show(e.name)) end
    return v
  end
  local operands = e.args or e
  local v = evaluate(operands[1], env, what)
  for i = 2, #operands do
    v = operators[e.op](v, evaluate(operands[i], env, what))
    if not v then refuse("%s: division by zero", what) end
    if math.abs(v) >= too_big then refuse("%s: a value of 2^53 or more", what) end
  end
  return v
end

local function value_of(e, env, what, least, most)
  local v = evaluate(e, env, what)
  if v < least or v > most then
    refuse("%s is %d, and must be from %d to %d", what, v, least, math.tointeger(most))
  end
  return v
end

-- Lines ----------------------------------------------------------------------

-- The text between balanced parentheses after '(', which is taken already.
local function parenthesised(c)
  local from, depth = c.at, 1
  while depth > 0 do
    local at, _, what = c.text:find("([()])", c.at)
    if not at then refuse("%s: a '(' is never closed", c.what) end
    depth = depth + (what == "(" and 1 or -1)
    c.at = at + 1
  end
  return c.text:sub(from, c.at - 2)
end

-- "a, f(b, c)" at its outer commas; no items for blanks.
local function split(text, what, most)
  local out, depth, from = {}, 0, 1
  if not text:find "%S" then return out end
  for at, mark in text:gmatch "()([(),])" do
    if mark == "(" then depth = depth + 1 end
    if mark == ")" then depth = depth - 1 end
    if mark == "," and depth == 0 then
      out[#out + 1], from = text:sub(from, at - 1), at + 1
    end
    at_most(most, #out + 1, what, "items")
  end
  out[#out + 1] = text:sub(from)
  return out
end

local function read_tuple(c, key, what)
  expect(c, "%(", "'(' after " .. key .. "=")
  local items = split(parenthesised(c), what, 3)
  if #items == 0 then refuse("%s: %s=() needs one to three values", what, key) end
  return lists.collect(items, function(text, i)
    return parse_expression(text, ("%s: %s, value %d"):format(what, key, i))
  end)
end

-- What may stand in expressions; and which arguments go as they are.
local function known_names(task)
  local ints, args, as_is = { sm_count = true }, {}, {}
  for _, name in ipairs(task.shape_names or {}) do ints[name] = true end
  for i, a in ipairs(task.args) do
    args[a.name] = i
    local set = a.mode == "scalar" and integral[a.dtype] and ints or as_is
    set[a.name] = i
  end
  return { ints = ints, args = args, as_is = as_is }
end

local function check_names(e, known, what)
  for _, name in ipairs(names_in(e, {})) do
    if not known.ints[name] then
      refuse("%s: '%s' is no name of the shape (known: %s)", what, show(name),
             table.concat(keys(known.ints), ", "))
    end
  end
  return e
end

local function read_args(c, known, out, what)
  expect(c, "%(", "'(' after args=")
  local args = {}
  for i, text in ipairs(split(parenthesised(c), what, limits.args)) do
    local at = ("%s: argument %d"):format(what, i)
    local name = text:match "^%s*([%a_][%w_]*)%s*$"
    if name and out.scratch_index[name] then
      args[i] = { kind = "scratch", index = out.scratch_index[name] }
    elseif name and known.as_is[name] then
      args[i] = { kind = "arg", index = known.as_is[name] }
    else
      local e = parse_expression(text, at)
      if name and not known.ints[name] then
        refuse("%s: '%s' is no parameter of the task, scratch buffer or name of the shape", at,
               show(name))
      end
      args[i] = { kind = "int", value = check_names(e, known, at) }
    end
  end
  return args
end

local function read_launch(c, known, out, what)
  local kernel = expect(c, "[%a_][%w_]*", "the kernel's name after launch")
  if #kernel > 200 then refuse("%s: a kernel's name of more than 200 characters", what) end
  what = ("%s: launch %s"):format(what, show(kernel))
  c.what = what
  local l = { kernel = kernel, what = what, line = out.line }
  while not at_end(c) do
    local key = expect(c, "%a[%w_]*", "grid=, block=, shared= or args=")
    expect(c, "=", "'=' after " .. show(key))
    if l[key] then refuse("%s: %s= is given twice", what, show(key)) end
    if key == "grid" or key == "block" then
      l[key] = read_tuple(c, key, what)
      for i, e in ipairs(l[key]) do
        check_names(e, known, ("%s: %s, value %d"):format(what, key, i))
      end
    elseif key == "shared" then
      local from = c.at
      c.depth, c.what = 0, what .. ": shared"
      l.shared = check_names(expression(c), known, c.what)
      not_longer(c.at - from, c.what)
      c.what = what
    elseif key == "args" then
      l.args = read_args(c, known, out, what)
    elseif key == "cluster" then
      refuse("%s: cluster= is not supported: leave it out", what)
    else
      refuse("%s: there is no %s= (known: grid, block, shared, args)", what, show(key))
    end
  end
  for _, key in ipairs { "grid", "block", "args" } do
    if not l[key] then refuse("%s: %s=(..) is missing", what, key) end
  end
  at_most(limits.launches, #out.launches + 1, what, "launches")
  out.launches[#out.launches + 1] = l
end

local function read_scratch(c, known, out, what)
  local name = expect(c, "[%a_][%w_]*", "the buffer's name after scratch")
  what = ("%s: scratch %s"):format(what, show(name))
  c.what = what
  if known.args[name] or known.ints[name] or out.scratch_index[name] then
    refuse("%s: the name is taken already", what)
  end
  local dtype = expect(c, "%a%w*", "an element type such as f32")
  if not bytes_of[dtype] then
    refuse("%s: there is no element type '%s' (known: f64, f32, f16, bf16, i8, u8, i32, i64)",
           what, show(dtype))
  end
  expect(c, "%[", "'[' after " .. dtype)
  local count = expect(c, "[^%]]*", "the number of elements")
  expect(c, "%]", "']'")
  if not at_end(c) then refuse("%s: expected the end of the line, got %s", what, rest(c)) end
  local e = check_names(parse_expression(count, what), known, what)
  at_most(limits.scratch, #out.scratch + 1, what, "scratch buffers")
  out.scratch[#out.scratch + 1] = { name = name, dtype = dtype, count = e, what = what }
  out.scratch_index[name] = #out.scratch
end

local function parse(source, task)
  if #source > limits.source_bytes then
    refuse("the source is longer than %d bytes", limits.source_bytes)
  end
  local out = { launches = {}, scratch = {}, scratch_index = {} }
  local known = known_names(task)
  local number, found = 0, 0
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    local text = line:match "^[ \t]*//[ \t]*kb:(.*)$"
    if text then
      local what = ("line %d"):format(number)
      found = found + 1
      at_most(limits.lines, found, what, "plan lines")
      if #text > limits.line_chars then
        refuse("%s: longer than %d characters", what, limits.line_chars)
      end
      local c = cursor(text, what)
      out.line = number
      local verb = expect(c, "%a%w*", "'launch' or 'scratch' after // kb:")
      if verb == "launch" then
        read_launch(c, known, out, what)
      elseif verb == "scratch" then
        read_scratch(c, known, out, what)
      else
        refuse("%s: '%s' is neither 'launch' nor 'scratch'", what, show(verb))
      end
    end
  end
  if #out.launches == 0 then
    refuse("the source has no launch plan: it needs a line such as "
           .. "// kb: launch %s grid=(..) block=(..) args=(..)", task.entry or task.name or "k")
  end
  return out
end

-- Shapes ---------------------------------------------------------------------

local function environment(task, shape, machine)
  local env = {}
  for _, name in ipairs(task.shape_names or {}) do env[name] = math.tointeger(shape[name]) end
  for _, a in ipairs(task.args) do
    if a.mode == "scalar" and integral[a.dtype] then
      env[a.name] = math.tointeger(a.value or shape[a.name])
    end
  end
  env.sm_count = math.tointeger(machine.sm_count)
  return env
end

local function resolve_tuple(list, env, what, key, most)
  local out, product_ = { 1, 1, 1 }, 1
  for i, e in ipairs(list) do
    local at = ("%s: %s.%s"):format(what, key, ("xyz"):sub(i, i))
    out[i] = value_of(e, env, at, 1, most[i])
    product_ = product_ * out[i]
  end
  return out, product_
end

local function resolve_launch(l, env)
  local out = { kernel = l.kernel, line = l.line }
  local threads
  out.grid = resolve_tuple(l.grid, env, l.what, "grid", limits.grid)
  out.block, threads = resolve_tuple(l.block, env, l.what, "block", limits.block)
  if threads > limits.threads then
    refuse("%s: a block of %d threads, and %d is the most", l.what, threads, limits.threads)
  end
  out.shared = l.shared and value_of(l.shared, env, l.what .. ": shared", 0, limits.shared_bytes)
               or 0
  out.args = lists.collect(l.args, function(a, i)
    if a.kind ~= "int" then return { kind = a.kind, index = a.index } end
    local at = ("%s: argument %d"):format(l.what, i)
    return { kind = "int", value = value_of(a.value, env, at, 1 - too_big, too_big - 1) }
  end)
  return out
end

local function resolve(p, task, shape, machine)
  local env = environment(task, shape, machine)
  local out, total = { scratch = {} }, 0
  for i, s in ipairs(p.scratch) do
    local bytes = bytes_of[s.dtype]
    local count = value_of(s.count, env, s.what .. ": elements", 1, limits.scratch_bytes // bytes)
    total = total + count * bytes
    if total > limits.scratch_bytes then
      refuse("%s: scratch of more than %d GiB in all", s.what, limits.scratch_bytes >> 30)
    end
    out.scratch[i] = { name = s.name, dtype = s.dtype, count = count }
  end
  out.launches = lists.collect(p.launches, function(l) return resolve_launch(l, env) end)
  return out
end

function plan.parse(source, task) return guarded(parse, source, task) end

function plan.resolve(p, task, shape, machine)
  return guarded(resolve, p, task, shape, machine or {})
end

return plan
