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
local languages = { "c", "cuda" }
task.bytes_of = { f64 = 8, i64 = 8, f32 = 4, i32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1 }
local contains = lists.contains

-- What inputs are drawn from, see core/measure/tensor.h. The first is the plainest.
task.distributions = { "normal", "wide", "uniform", "lognormal", "spikes", "ties", "integers",
                       "denormal" }

-- Is the error scale the reference on absolute inputs? A task may say; without
-- a word, sums have it and element-wise work has not.
function task.needs_scale(t)
  return not t.exact and (t.scale == "absolute" or not t.scale and t.reduction ~= nil)
end

local fence_steps = 1e6

local a_shape = { type = "table" }
local shapes = {
  { "smoke",    "list", at_least = 1, item = a_shape, doc = "small shapes, checked first" },
  { "timed",    "list", at_least = 1, item = a_shape,
    doc = "the shapes that are checked and timed" },
  { "held_out", "list", default = {}, item = a_shape,
    doc = "checked, and never shown to a generator" },
}
local files = { { "c", "string", optional = true, doc = "the file for the CPU" },
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
    doc = "absolute error of an element allowed besides rounding; the RMS error is held against "
          .. "the baseline's all the same" },
  { "reduction", "function", optional = true,
    doc = "function(shape) returning the terms summed into one output; else 1" },
  { "underflow", "function", optional = true,
    doc = "function(shape) returning how many smallest normal numbers of error are allowed" },
  { "scale", "string", optional = true, one_of = { "absolute", "result" },
    doc = "what errors are relative to: the terms' absolute sum, or the result" },
  { "absolute", "list", optional = true, item = { type = "string" },
    doc = "inputs whose absolute values give that sum; else all" },
  { "distributions", "list", optional = true, at_least = 1,
    item = { type = "string", one_of = task.distributions },
    doc = "what inputs are drawn from; else all" },
  { "exact", "boolean", optional = true, doc = "true: outputs must be equal bit for bit" },
  { "reference", "table", rules = files, doc = "trusted source, NAME_f64: slow, clear, in double" },
  { "baseline", "table", rules = files,
    doc = "the kernel to be made faster; speed-ups are measured against it" },
  { "schedule", { "string", "table" }, optional = true, rules = files,
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
  local ok, value = pcall(schema.load_file(file, setmetatable({}, { __index = _G })))
  if not ok then schema.raise("%s", tostring(value)) end
  return value
end

-- Arguments and shapes ------------------------------------------------------------------

-- { "x", "f32", "in", { "rows", 4 } } or { "rows", "i32" }. at: where the names before it stand.
local function read_arg(a, i, at, where)
  local name, dtype, mode, dims = a[1], a[2], a[3], a[4]
  local function check(ok, say, ...) schema.must(ok, "%s: args[%d]: " .. say, where, i, ...) end
  check(type(name) == "string" and name:match "^[%a_][%w_]*$",
        "the first item must be the parameter's name, got %s", schema.show(name))
  check(not at[name], "the name '%s' is that of args[%s] already", name, at[name])
  at[name] = i
  check(contains(dtypes, dtype), "'%s' has element type %s%s", name, schema.show(dtype),
        schema.hint(dtype, dtypes))
  if mode == nil then return { name = name, dtype = dtype, mode = "scalar", value = a.value } end
  check(contains({ "in", "out", "inout" }, mode), "'%s' must be 'in', 'out' or 'inout', got %s",
        name, schema.show(mode))
  check(type(dims) == "table" and #dims > 0,
        "'%s' needs its dimensions, such as { \"rows\", \"cols\" }", name)
  for _, d in ipairs(dims) do
    check(type(d) == "string" or math.tointeger(d) and d >= 1,
          "'%s': a dimension is a shape's name or a positive integer, got %s", name, schema.show(d))
  end
  return { name = name, dtype = dtype, mode = mode, dims = dims, below = a.below }
end

local function read_args(list, where)
  local at = {}
  local args = lists.collect(list, function(a, i) return read_arg(a, i, at, where) end)
  return lists.find(args, task.is_made) and args
    or schema.raise("%s: args: expected an argument that is 'out' or 'inout', got none", where)
end

-- The names a shape must give: dimensions, and scalars without a value.
local function shape_names(args)
  local names = {}
  for _, a in ipairs(args) do
    for _, d in ipairs(a.dims or {}) do
      if type(d) == "string" then names[#names + 1] = d end
    end
    if a.mode == "scalar" and a.value == nil then names[#names + 1] = a.name end
  end
  return lists.distinct(names)
end

local most_elements = 2 ^ 40            -- of an array: no machine holds more

local function check_shape(shape, t, where)
  local out = schema.check(shape, lists.collect(t.shape_names, function(name)
    return { name, "integer", at_least = 1 }
  end), where)
  for _, a in ipairs(t.args) do
    local count = 1.0
    for _, d in ipairs(a.dims or {}) do count = count * (out[d] or d) end
    schema.must(count <= most_elements, "%s: %s has %.3g elements, expected at most 2^40", where,
      a.name, count)
  end
  return out
end

-- Calls fn(shape, role, i) for each shape of a task's `shapes`.
function task.each_shape(by_role, fn)
  for _, role in ipairs { "smoke", "timed", "held_out" } do
    for i, shape in ipairs(by_role and by_role[role] or {}) do fn(shape, role, i) end
  end
end

-- Functions of a shape ------------------------------------------------------------------

local function where_of(t) return ("%s: %s"):format(t.file, t.name) end

local function ask(t, field, shape)
  local ok, value = pcall(t[field], shape)
  if not ok then schema.raise("%s: %s: %s", where_of(t), field, value) end
  return value
end

local function check_work(t, shape)
  local work = ask(t, "work", shape)
  if type(work) ~= "table" or type(work.flops) ~= "number" or type(work.bytes) ~= "number"
     or work.flops < 0 or work.bytes <= 0 then
    schema.raise("%s: work(shape) must return { flops =, bytes = } with bytes > 0", where_of(t))
  end
end

-- reduction: the terms summed into one output. underflow: how many times the smallest normal
-- number of fp32 (fp64 where the outputs are) it may be off, because a kernel flushes to 0 what
-- it multiplies and sums on the way. 1 where the task says nothing.
function task.terms(t, field, shape)
  if not t[field] then return 1 end
  local k, most, words = ask(t, field, shape), math.huge, ""
  if field == "underflow" then most, words = 2 ^ 40, " and <= 2^40" end
  if type(k) == "number" and k >= 1 and k <= most and k < math.huge then return k end
  schema.raise("%s: %s(shape) must return a number >= 1%s, got %s", where_of(t), field, words,
               schema.show(k))
end

-- The bound on an element's error at a shape, for core.bound and b:compare. atomics: of a kernel
-- that adds by them. Those of float32 in a GPU's global memory flush denormal sums to 0 (PTX ISA,
-- red.add.f32): each term of a sum once.
function task.bound(t, shape, atomics)
  local k, flushed = task.terms(t, "reduction", shape), task.terms(t, "underflow", shape)
  return { reduction = k, underflow = atomics and math.max(flushed, k) or flushed,
           exact = t.exact, tolerance = t.tolerance, accumulate = t.accumulate }
end

-- Files ---------------------------------------------------------------------------------

-- what: the field that names the file.
local function existing(t, what, name)
  local file = path.join(t.dir, name)
  return core.system.exists(file) == "file" and file
    or schema.raise("%s: %s: there is no file %s", where_of(t), what, file)
end

local function check_parameter(p, i, known, file)
  local function check(ok, say, ...) schema.must(ok, "%s: parameters[%d]" .. say, file, i, ...) end
  check(type(p[1]) == "string" and type(p[2]) == "table" and #p[2] > 0,
        " must be { \"name\", { value, .. } }")
  check(not known[p[1]], ": the name '%s' is that of parameters[%s] already", p[1], known[p[1]])
  known[p[1]] = i
  local seen = {}
  for _, v in ipairs(p[2]) do
    check(v == v and contains({ "string", "number", "boolean" }, type(v)),
          ": a value of '%s' must be a text, a number or a boolean, got %s", p[1], schema.show(v))
    check(not seen[v], ": '%s' has the value %s twice", p[1], schema.show(v))
    seen[v] = true
  end
end

local function load_schedule(file)
  local schedule, known = schema.check(run_file(file), schedule_rules, file), {}
  for i, p in ipairs(schedule.parameters) do check_parameter(p, i, known, file) end
  schedule.file = file
  return schedule
end

local function find_files(t)
  local schedule = type(t.schedule) == "table" and t.schedule or { c = t.schedule }
  t.schedule, t.schedules = nil, {}
  for _, language in ipairs(languages) do
    for _, kind in ipairs { "reference", "baseline" } do
      local name = t[kind][language]
      t[kind][language] = name and existing(t, kind .. "." .. language, name)
    end
    local name = schedule[language]
    t.schedules[language] = name and load_schedule(existing(t, "schedule", name))
  end
end

local function folder_of(name)
  schema.must_at_call(type(name) == "string", "kb.task", "expected the path of a folder, got %s",
    schema.show(name))
  local dir = path.found(name, "kb.task", "there is no task folder " .. name:gsub("%%", "%%%%")
                                         .. " (looked at %s)")
  if core.system.exists(dir) == "file" then dir = path.dir(dir) end
  dir = core.system.realpath(dir) or dir
  local file = path.join(dir, "task.lua")
  if core.system.exists(file) == "file" then return dir, file end
  schema.raise_at_call("kb.task", "%s holds no task.lua", dir)
end

-- options.fenced: as run_file; there is no schedule then.
function task.load(name, options)
  if type(name) == "table" then return name end     -- loaded already, or synthetic
  local dir, file = folder_of(name)
  local fenced = options and options.fenced
  local t = schema.check(run_file(file, fenced), rules, file)
  if fenced then
    for _, field in ipairs { "work", "reduction", "underflow" } do
      t[field] = t[field] and fence.wrap(fence_steps, t[field])
    end
    t.schedule = nil
  end
  t.dir, t.file = dir, file
  t.args = read_args(t.args, where_of(t))
  t.shape_names = shape_names(t.args)
  for _, field in ipairs { "shapes", "shapes_cuda" } do
    task.each_shape(t[field], function(shape, role, i)
      shape = check_shape(shape, t, ("%s: %s.%s[%d]"):format(where_of(t), field, role, i))
      t[field][role][i] = shape
      if role == "timed" then check_work(t, shape) end
      task.bound(t, shape)
    end)
  end
  find_files(t)
  return task.for_language(t, "c")
end

-- The same task as one language sees it: its shapes, its schedule.
function task.for_language(t, language)
  local all = t.all or t
  return setmetatable({ language = language, all = all,
    shapes = language == "cuda" and all.shapes_cuda or all.shapes,
    schedule = all.schedules and all.schedules[language] }, { __index = all })
end

function task.source(t, kind)
  local file = t[kind][t.language]
  schema.must(file, "%s: %s has no %s.%s, so it cannot run on this device", t.file, t.name, kind,
    t.language)
  local text, why = core.system.read_file(file)
  return text or schema.raise("%s: %s", file, why)
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

-- "m=512 n=512 k=512", in the order the task names them.
function task.show_shape(t, shape)
  return table.concat(lists.collect(t.shape_names, function(name)
    return ("%s=%d"):format(name, shape[name])
  end), " ")
end

-- Devices ----------------------------------------------------------------------------

-- Which device a name means for a task, and its language. "auto" is the first GPU where there
-- is one and the task has a kernel for it, else the CPU.
function task.device(name, t)
  if name == "auto" then
    local fits = t.baseline and t.baseline.cuda and t.reference.cuda
    name = fits and core.gpus() > 0 and "cuda:0" or "cpu"
  end
  local language = core.language(name)
  schema.must_at_call(language, "device", "expected auto, cpu, cpu:N or cuda:N, got '%s'", name)
  return name, language
end

return task
