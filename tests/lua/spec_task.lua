-- Task folders that cannot work are refused with the reason, in the loader and
-- through the command line.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local schema = require "kernelband.base.schema"
local task = require "kernelband.task"

local exe = assert(core.system.exe())
local dir = t.folder()

local good = {
  file = [[return {
    name = "axpy", summary = "y = 2 x + 1",
    args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
    shapes = { smoke = { { n = 3 } }, timed = { { n = 4096 } } },
    work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" },
  }]],
  reference = assert(core.system.read_file "tests/lib/tasks/axpy/reference.c"),
  baseline = assert(core.system.read_file "tests/lib/tasks/axpy/baseline.c"),
}

local folders = 0

-- A folder with the good task, some text of task.lua replaced.
local function folder(from, to, files)
  folders = folders + 1
  local at = ("%s/task%d"):format(dir, folders)
  assert(core.system.mkdir_p(at))
  local text = good.file
  if from then
    local i, j = text:find(from, 1, true)
    assert(i, "no such text: " .. from)
    text = text:sub(1, i - 1) .. to .. text:sub(j + 1)
  end
  files = files or {}
  assert(core.system.write_file(at .. "/task.lua", text))
  for _, name in ipairs { "reference", "baseline" } do
    if files[name] ~= false then
      assert(core.system.write_file(("%s/%s.c"):format(at, name), files[name] or good[name]))
    end
  end
  return at
end

t.test("a good task loads", function()
  local loaded = task.load(folder())
  t.equal(loaded.name, "axpy")
  t.equal(loaded.shapes.held_out, {})
  t.equal(task.show_shape(loaded, loaded.shapes.smoke[1]), "n=3")
  t.equal(task.arguments(loaded, { n = 3 }, true)[2],
          { mode = "out", dtype = "f64", count = 3 })
end)

local bad = {
  { 'name = "axpy"', 'name = "axpy", shape = {}',
    "unknown field 'shape' (did you mean 'shapes'?)" },
  { 'name = "axpy"', 'name = "a b"', "name: expected" },
  { 'name = "axpy", ', '', "missing field 'name'" },
  { 'summary = "y = 2 x + 1"', 'summary = 3', "summary: expected" },
  { '"x", "f32"', '"x", "f23"', [[element type "f23" (did you mean 'f32'?)]] },
  { '"x", "f32"', '"x", "float"', [['x' has element type "float"]] },
  { '"x", "f32", "in"', '"x", "f32", "input"',
    [[must be 'in', 'out' or 'inout', got "input"]] },
  { '"in", { "n" }', '"in"', "'x' needs its dimensions" },
  { '"in", { "n" }', '"in", { 0 }', "a positive integer" },
  { '"in", { "n" }', '"in", { -4 }', "a positive integer" },
  { '{ "x", "f32"', '{ 7, "f32"', "the parameter's name" },
  { 'args = {', 'args = {}, tolerance = {', "args: expected" },
  { 'smoke = { { n = 3 } }', 'smoke = {}', "shapes.smoke" },
  { 'smoke = { { n = 3 } }', 'smoke = { { n = 0 } }', "shapes.smoke[1]" },
  { 'smoke = { { n = 3 } }', 'smoke = { { n = 2.5 } }', "shapes.smoke[1]" },
  { 'smoke = { { n = 3 } }', 'smoke = { {} }', "missing field 'n'" },
  { 'smoke = { { n = 3 } }', 'smoke = { { n = 3, m = 1 } }', "unknown field 'm'" },
  { 'smoke = { { n = 3 } }, ', '', "missing field 'shapes.smoke'" },
  { 'work = function(s)', 'work = function(s) error "boom"', "boom" },
  { 'work = function(s)', 'reduction = function(s) return s.m end, work = function(s)',
    "reduction(shape) must return a number >= 1, got nothing" },
  { 'work = function(s)', 'underflow = function(s) return 0 / 0 end, work = function(s)',
    "underflow(shape) must return a number >= 1 and <= 2^40, got" },
  { 'work = function(s)', 'underflow = function(s) return 1e308 end, work = function(s)',
    "underflow(shape) must return a number >= 1 and <= 2^40, got" },
  { 'work = function(s)', 'shapes_cuda = { smoke = { { n = 2 } }, timed = { { n = 6 } } },'
    .. ' reduction = function(s) return s.n > 5 and 0 or 1 end, work = function(s)',
    "reduction(shape) must return a number >= 1, got 0" },
  { '{ flops = 2 * s.n, bytes = 8 * s.n }', '{ flops = 2 }', "must return { flops =, bytes = }" },
  { '{ flops = 2 * s.n, bytes = 8 * s.n }', '{ flops = 2, bytes = 0 }', "bytes > 0" },
  { '{ flops = 2 * s.n, bytes = 8 * s.n }', '7', "must return { flops =, bytes = }" },
  { 'work = function(s)', 'tolerance = -1, work = function(s)', "tolerance: expected" },
  { 'work = function(s)', 'scale = "none", work = function(s)', "scale: expected" },
  { 'work = function(s)', 'schedule = "absent.lua", work = function(s)', "absent.lua" },
  { 'c = "reference.c"', 'c = "absent.c"', "reference.c: there is no file" },
  { 'return {', 'return 3, {', "must return a table, got" },
  { 'return {', 'retrun {', "task.lua:1" },
  { 'return {', 'error "own words" return {', "own words" },
}

t.test("each mistake in task.lua is reported", function()
  local rows = {}
  for _, b in ipairs(bad) do
    local at = folder(b[1], b[2])
    local ok, why = pcall(task.load, at)
    local text = tostring(why)
    if ok or not schema.is_config_error(why) or not text:find(b[3], 1, true)
       or not text:find(at, 1, true) then
      rows[#rows + 1] = ("  %s: %s"):format(b[2], ok and "accepted" or text)
    end
  end
  t.equal(table.concat(rows, "\n"), "")
end)

t.test("an absent folder and one without task.lua are reported", function()
  t.raises("there is no task folder tests/absent", task.load, "tests/absent")
  t.raises("holds no task.lua", task.load, "tests/lib/tasks")
end)

-- Through the command line: a worker says it, exit 2, one message.
local function eval(at)
  local pipe = assert(io.popen(("%s eval %s %s/baseline.c >%s/out 2>%s/err </dev/null; echo $?")
                               :format(exe, at, at, dir, dir)))
  local code = math.tointeger(tonumber(pipe:read "l"))
  pipe:close()
  return code, core.system.read_file(dir .. "/err")
end

t.test("a typo in task.lua exits 2 with just the message", function()
  local code, err = eval(folder('name = "axpy"', 'name = "axpy", shape = {}'))
  t.equal(code, 2)
  t.contains(err, "unknown field 'shape'")
  t.equal(err:find("traceback", 1, true), nil)
end)

t.test("a baseline that is not what the reference says is refused", function()
  for _, wrong in ipairs {
    { "y[i] = 2 * x[i]", "refused: the baseline is not what the reference says: wrong" },
    { "if (i) y[i] = 2 * x[i] + 1", "never written" },
    { "y[i] = 2 * x[i] + 1; y[-1] = 0", "wrote outside its output y" },
    { "__builtin_trap()", "killed by signal 4" },
  } do
    local code, err = eval(folder(nil, nil, { baseline =
      "void axpy(const float *x, float *y, int n) { for (int i = 0; i < n; i++) {"
      .. wrong[1] .. "; } }" }))
    t.equal(code, 2, wrong[1])
    t.contains(err, wrong[2])
    t.equal(err:find("traceback", 1, true), nil)
  end
end)

t.test("sources that do not build are reported with the compiler's words", function()
  local code, err = eval(folder(nil, nil, { baseline = "void axpy(" }))
  t.equal(code, 2)
  t.contains(err, "baseline.c: the baseline does not build")
  code, err = eval(folder(nil, nil, { reference = "void axpy_f64(" }))
  t.equal(code, 2)
  t.contains(err, "reference.c does not build as axpy_f64")
end)

t.finish()
