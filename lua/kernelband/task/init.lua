-- task/init.lua - loads a task folder and refuses one that cannot work.
--
--   t = task.load "examples/tasks/matmul"
--   t.name t.summary t.dir t.args t.shapes t.work t.reduction t.schedule ..
--   task.arguments(t, shape)  -> what device:buffers takes
--   task.source(t, "baseline")  -> text of the file the task names
--   task.for_language(t, "cuda")     -> the task on a GPU
--
-- Task files are the user's own and trusted; they are plain Lua.
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local fence  = require "kernelband.base.fence"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"

local task = {}

local dtypes = { "f64", "f32", "f16", "bf16", "i8", "u8", "i32", "i64" }

local fills = { "normal", "wide", "uniform", "lognormal", "spikes", "ties", "integers",
                "denormal" }

-- What inputs are drawn from, see core/measure/tensor.h. The first is the plainest.
task.distributions = fills

-- Is the error scale the reference on absolute inputs? A task may say; without
-- a word, sums have it and element-wise work has not.
function task.needs_scale(t)
  if t.exact then return false end
  if t.scale then return t.scale == "absolute" end
  return t.reduction ~= nil
end

local fence_steps = 1e6

local shape_list = { type = "list", item = { type = "table" } }
local shapes = {
  { "smoke",    "list", at_least = 1, item = shape_list.item, doc = "small shapes, checked first" },
  { "timed",    "list", at_least = 1, item = shape_list.item,
    doc = "the shapes that are checked and timed" },
  { "held_out", "list", default = {}, item = shape_list.item,
    doc = "checked, and never shown to a generator" },
}
local languages = { { "c", "string", optional = true, doc = "the file for the CPU" },
                    { "cuda", "string", optional = true, doc = "the file for a GPU" } }

local rules = schema.declare("task.lua", {
  { "name", "string", doc = "the kernel's name, a C identifier", check = function(s)
      return s:match "^[%a_][%w_]*$" ~= nil, "a C identifier" end },
  { "summary", "string", doc = "one line for people and models" },
  { "args", "list", at_least = 1, at_most = 32, item = { type = "table" },
    doc = "the kernel's parameters in order: { name, dtype, \"in\"|\"out\", { dimension, .. } }" },
  { "shapes", "table", rules = shapes, doc = "values of the dimensions: { n = 4096 }" },
  { "shapes_cuda", "table", optional = true, rules = shapes, doc = "other shapes for a GPU" },
  { "accumulate", "string", optional = true, one_of = dtypes,
    doc = "the least precise type a kernel may sum in; else by the outputs' types" },
  { "work", "function",
    doc = "function(shape) returning { flops =, bytes = }: the least a kernel must do" },
  { "tolerance", "number", optional = true, at_least = 0,
    doc = "relative error allowed; else it follows from dtypes and reduction" },
  { "reduction", "function", optional = true,
    doc = "function(shape) returning the terms summed into one output; else 1" },
  { "underflow", "function", optional = true,
    doc = "function(shape) returning how many smallest normal numbers of error are allowed" },
  { "scale", "string", optional = true, one_of = { "absolute", "result" },
    doc = "what errors are relative to: the terms' absolute sum, or the result" },
  { "absolute", "list", optional = true, item = { type = "string" },
    doc = "inputs whose absolute values give that sum; else all" },
  { "distributions", "list", optional = true, at_least = 1,
    item = { type = "string", one_of = fills }, doc = "what inputs are drawn from; else all" },
  { "exact", "boolean", optional = true, doc = "true: outputs must be equal bit for bit" },
  { "reference", "table", rules = languages,
    doc = "trusted source, NAME_f64: slow, clear, in double" },
  { "baseline", "table", rules = languages,
    doc = "the kernel to be made faster; speed-ups are measured against it" },
  { "schedule", { "string", "table" }, optional = true, rules = languages,
    doc = "a file of what the built-in generator may do, see schedule.lua" },
})

local schedule_rules = schema.declare("schedule.lua", {
  { "parameters", "list", at_least = 1, item = { type = "list", at_least = 2, at_most = 2 },
    doc = "{ name, { value, .. } }: the first value is the baseline's" },
  { "valid", "function", doc = "function(point) returning whether it makes sense" },
  { "emit", "function", doc = "function(point) returning the source of the candidate" },
  { "first_points", "function", optional = true,
    doc = "function(device) returning points to try first" },
})

-- fenced: the file is a stranger's, and can compute and nothing else.
local function run_file(file, fenced)
  if fenced then return fence.load(file, {}, fence_steps) end
  local env = setmetatable({}, { __index = _G })
  local chunk = schema.load_file(file, env)
  local ok, value = pcall(chunk)
  if not ok then schema.raise("%s", tostring(value)) end
  return value
end

local contains = schema.contains

-- { "x", "f32", "in", { "rows", 4 } } or { "rows", "i32" }.
local function read_arg(a, i, where)
  local function refuse(...) schema.raise("%s: args[%d]: %s", where, i, string.format(...)) end
  if type(a[1]) ~= "string" or not a[1]:match "^[%a_][%w_]*$" then
    refuse("the first item must be the parameter's name, got %s", schema.show(a[1]))
  end
  if not contains(dtypes, a[2]) then
    refuse("'%s' has element type %s%s", a[1], schema.show(a[2]), schema.hint(a[2], dtypes))
  end
  if a[3] == nil then return { name = a[1], dtype = a[2], mode = "scalar", value = a.value } end
  if not contains({ "in", "out", "inout" }, a[3]) then
    refuse("'%s' must be 'in', 'out' or 'inout', got %s", a[1], schema.show(a[3]))
  end
  if type(a[4]) ~= "table" or #a[4] == 0 then
    refuse("'%s' needs its dimensions, such as { \"rows\", \"cols\" }", a[1])
  end
  for _, d in ipairs(a[4]) do
    if type(d) ~= "string" and not (math.tointeger(d) and d >= 1) then
      refuse("'%s': a dimension is a shape's name or a positive integer, got %s", a[1],
             schema.show(d))
    end
  end
  return { name = a[1], dtype = a[2], mode = a[3], dims = a[4], below = a.below }
end

local function check_args(args, where)
  local outputs, at = 0, {}
  for i, a in ipairs(args) do
    if at[a.name] then
      schema.raise("%s: args[%d]: the name '%s' is that of args[%d] already", where, i, a.name,
                   at[a.name])
    end
    at[a.name] = i
    if task.is_made(a) then outputs = outputs + 1 end
  end
  if outputs == 0 then
    schema.raise("%s: args: expected an argument that is 'out' or 'inout', got none", where)
  end
end

-- The names a shape must give: dimensions, and scalars without a value.
local function shape_names(args)
  local names = {}
  for _, a in ipairs(args) do
    for _, d in ipairs(a.dims or {}) do
      if type(d) == "string" and not contains(names, d) then names[#names + 1] = d end
    end
    if a.mode == "scalar" and a.value == nil and not contains(names, a.name) then
      names[#names + 1] = a.name
    end
  end
  return names
end

local most_elements = 2 ^ 40            -- of an array: no machine holds more

local function check_shape(shape, names, args, where)
  local out = schema.check(shape, lists.collect(names, function(name)
    return { name, "integer", at_least = 1 }
  end), where)
  for _, a in ipairs(args) do
    local count = 1.0
    for _, d in ipairs(a.dims or {}) do count = count * (out[d] or d) end
    if count > most_elements then
      schema.raise("%s: %s has %.3g elements, expected at most 2^40", where, a.name, count)
    end
  end
  return out
end

local function check_work(t, where)
  for _, shape in ipairs(t.shapes.timed) do
    local ok, work = pcall(t.work, shape)
    if not ok then schema.raise("%s: work: %s", where, work) end
    if type(work) ~= "table" or type(work.flops) ~= "number" or type(work.bytes) ~= "number"
       or work.flops < 0 or work.bytes <= 0 then
      schema.raise("%s: work(shape) must return { flops =, bytes = } with bytes > 0", where)
    end
  end
end

-- What the tasks' functions of a shape may give, but for work: at least 1, and at most.
local most = { reduction = math.huge, underflow = 2 ^ 40 }

-- reduction: the terms summed into one output. underflow: how many times the smallest normal
-- number of fp32 (fp64 where the outputs are) it may be off, because a kernel flushes to 0 what
-- it multiplies and sums on the way. 1 where the task says nothing.
function task.terms(t, field, shape)
  if not t[field] then return 1 end
  local where = ("%s: %s"):format(t.file, t.name)
  local ok, k = pcall(t[field], shape)
  if not ok then schema.raise("%s: %s: %s", where, field, k) end
  if type(k) ~= "number" or not (k >= 1 and k <= most[field] and k < math.huge) then
    schema.raise("%s: %s(shape) must return a number >= 1%s, got %s", where, field,
                 field == "underflow" and " and <= 2^40" or "", schema.show(k))
  end
  return k
end

-- The bound on an element's error at a shape, for core.bound and b:compare. atomics: of a kernel
-- that adds by them. Those of float32 in a GPU's global memory flush denormal sums to 0 (PTX ISA,
-- red.add.f32): each term of a sum once.
function task.bound(t, shape, atomics)
  local k, flushed = task.terms(t, "reduction", shape), task.terms(t, "underflow", shape)
  return { reduction = k, underflow = atomics and math.max(flushed, k) or flushed,
           exact = t.exact, tolerance = t.tolerance, accumulate = t.accumulate }
end

-- Calls fn(shape, role, i) for each shape of a task's `shapes`.
function task.each_shape(by_role, fn)
  for _, role in ipairs { "smoke", "timed", "held_out" } do
    for i, shape in ipairs(by_role and by_role[role] or {}) do fn(shape, role, i) end
  end
end

local function check_terms(t)
  for _, field in ipairs { "shapes", "shapes_cuda" } do
    task.each_shape(t[field], function(shape) task.bound(t, shape) end)
  end
end

local function find_sources(t, kind, where)
  for _, language in ipairs { "c", "cuda" } do
    local name = t[kind][language]
    if name then
      local file = path.join(t.dir, name)
      if core.system.exists(file) ~= "file" then
        schema.raise("%s: %s.%s: there is no file %s", where, kind, language, file)
      end
      t[kind][language] = file
    end
  end
end

local plain = { string = true, number = true, boolean = true }

local function check_parameter(p, i, known, file)
  if type(p[1]) ~= "string" or type(p[2]) ~= "table" or #p[2] == 0 then
    schema.raise("%s: parameters[%d] must be { \"name\", { value, .. } }", file, i)
  elseif known[p[1]] then
    schema.raise("%s: parameters[%d]: the name '%s' is that of parameters[%d] already", file, i,
                 p[1], known[p[1]])
  end
  known[p[1]] = i
  local seen = {}
  for _, v in ipairs(p[2]) do
    if not plain[type(v)] or v ~= v then
      schema.raise("%s: parameters[%d]: a value of '%s' must be a text, a number or a boolean, "
                   .. "got %s", file, i, p[1], schema.show(v))
    elseif seen[v] then
      schema.raise("%s: parameters[%d]: '%s' has the value %s twice", file, i, p[1],
                   schema.show(v))
    end
    seen[v] = true
  end
end

local function load_schedule(t, name)
  local file = path.join(t.dir, name)
  if core.system.exists(file) ~= "file" then
    schema.raise("%s: %s: schedule: there is no file %s", t.file, t.name, file)
  end
  local schedule, known = schema.check(run_file(file), schedule_rules, file), {}
  for i, p in ipairs(schedule.parameters) do check_parameter(p, i, known, file) end
  schedule.file = file
  return schedule
end

-- options.fenced: as run_file; there is no schedule then.
function task.load(name, options)
  if type(name) == "table" then return name end     -- loaded already, or synthetic
  if type(name) ~= "string" then
    schema.raise_at_call("kb.task", "expected the path of a folder, got %s", schema.show(name))
  end
  local dir = path.found(name, "kb.task", "there is no task folder " .. name:gsub("%%", "%%%%")
                                         .. " (looked at %s)")
  if core.system.exists(dir) == "file" then dir = path.dir(dir) end
  dir = core.system.realpath(dir) or dir
  local file = path.join(dir, "task.lua")
  if core.system.exists(file) ~= "file" then
    schema.raise_at_call("kb.task", "%s holds no task.lua", dir)
  end
  local fenced = options and options.fenced
  local t = schema.check(run_file(file, fenced), rules, file)
  if fenced then
    for _, field in ipairs { "work", "reduction", "underflow" } do
      t[field] = t[field] and fence.wrap(fence_steps, t[field])
    end
    t.schedule = nil
  end
  local where = file .. ": " .. t.name
  t.dir, t.file = dir, file
  t.args = lists.collect(t.args, function(a, i) return read_arg(a, i, where) end)
  check_args(t.args, where)
  local names = shape_names(t.args)
  for _, field in ipairs { "shapes", "shapes_cuda" } do
    task.each_shape(t[field], function(shape, role, i)
      t[field][role][i] = check_shape(shape, names, t.args,
                                      ("%s: %s.%s[%d]"):format(where, field, role, i))
    end)
  end
  t.shape_names = names
  check_work(t, where)
  check_terms(t)
  find_sources(t, "reference", where)
  find_sources(t, "baseline", where)
  local files = type(t.schedule) == "table" and t.schedule or { c = t.schedule }
  t.schedule, t.schedules = nil, {}
  for _, language in ipairs { "c", "cuda" } do
    if files[language] then t.schedules[language] = load_schedule(t, files[language]) end
  end
  return task.for_language(t, "c")
end

-- The same task as one language sees it: its shapes, its schedule.
function task.for_language(t, language)
  local own = setmetatable({ language = language }, { __index = t.all or t })
  own.all = t.all or t
  own.shapes = language == "cuda" and own.all.shapes_cuda or own.all.shapes
  own.schedule = own.all.schedules and own.all.schedules[language]
  return own
end

function task.source(t, kind)
  local language = t.language
  local file = t[kind][language]
  if not file then
    schema.raise("%s: %s has no %s.%s, so it cannot run on this device", t.file, t.name, kind,
                 language)
  end
  local text, why = core.system.read_file(file)
  if not text then schema.raise("%s: %s", file, why) end
  return text
end

-- Whether a kernel is given the contents of an argument, and whether it makes them.
function task.is_given(a) return a.mode == "in" or a.mode == "inout" end
function task.is_made(a) return a.mode == "out" or a.mode == "inout" end

-- The dimensions of an array at a shape, and how many elements they make.
function task.dims(a, shape)
  local out, count = {}, 1
  for i, d in ipairs(a.dims) do
    out[i] = type(d) == "string" and shape[d] or d
    count = count * out[i]
  end
  return out, count
end

-- wide: outputs are float64, as a reference's are.
function task.arguments(t, shape, wide)
  return lists.collect(t.args, function(a)
    return { mode = a.mode, dtype = wide and task.is_made(a) and "f64" or a.dtype,
             count = a.dims and select(2, task.dims(a, shape)),
             value = a.mode == "scalar" and (a.value or shape[a.name]) or nil,
             below = type(a.below) == "string" and shape[a.below] or a.below }
  end)
end

-- The arrays whose last bits an answer may hang on: given, and as wide as the sums. (A rounding
-- of a narrower type is more than any kernel may lose.)
function task.nudged(t)
  return lists.collect(t.args, function(a, i)
    return (a.dtype == "f32" or a.dtype == "f64") and task.is_given(a) and i
  end)
end

-- Does the error scale take this input by its absolute value? All of them, or
-- those that the task lists.
function task.is_absolute(t, name)
  return not t.absolute or contains(t.absolute, name)
end

-- "m=512 n=512 k=512", in the order the task names them.
function task.show_shape(t, shape)
  return table.concat(lists.collect(t.shape_names, function(name)
    return ("%s=%d"):format(name, shape[name])
  end), " ")
end

-- Devices ----------------------------------------------------------------------------

local devices = { "^cpu$", "^cpu:%d+$", "^cuda$", "^cuda:%d+$" }

-- Which device a name means for a task, and its language. "auto" is the first GPU where there
-- is one and the task has a kernel for it, else the CPU.
function task.device(name, t)
  if name == "auto" then
    local fits = t.baseline and t.baseline.cuda and t.reference.cuda
    name = fits and core.gpus() > 0 and "cuda:0" or "cpu"
  end
  local known = lists.find(devices, function(form) return name:find(form) end)
  local language = known and core.language(name)
  if not language then
    schema.raise_at_call("device", "expected auto, cpu, cpu:N or cuda:N, got '%s'", name)
  end
  return name, language
end

return task
