-- Mutations of good task and schedule files: the loader gives a task, or a
-- configuration error that names the file; it never fails in another way.
local core = require "kernelband.core"
local schema = require "kernelband.base.schema"
local task = require "kernelband.task"
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local mutate = require "mutate"

local dir = assert(core.system.temp_dir())
local words = {
  "{", "}", "{}", "nil", "true", "false", "0", "-1", "1e308", "0/0", "1/0", "2^53", "\"x\"", "''",
  ",", "=", "[", "]", "[1] = 1", "n = 1", "rows = 0", "rows = 1.5", "function() end",
  "function(s) return s end", "function() error {} end", "name = ", "args = ", "shapes = ",
  "smoke = ", "timed = ", "work = ", "tolerance = ", "reduction = ", "underflow = ",
  "reference = ", "schedule = ",
  "parameters = ", "valid = ", "emit = ", "'in'", "'out'", "'f32'", "'i8'", "setmetatable({}, {})",
  "string.rep('x', 1e5)", "\0", "\255", "--", "[[", "]]", "not ", "#", "..",
}
local function put(name, text)          -- not core's write_file, which waits for the disk
  local f <close> = assert(io.open(dir .. "/" .. name, "w"))
  f:write(text)
end
for _, name in ipairs { "reference.c", "baseline.c", "reference.cu", "baseline.cu" } do
  put(name, "")
end
local good_schedule = "return { parameters = { { 'k', { 1 } } },"
  .. " valid = function() return true end, emit = function() return '' end }"
local good_task = [[return { name = "f", summary = "for the fuzzer",
  args = { { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 7 } }, timed = { { n = 20 } } },
  work = function(s) return { flops = s.n, bytes = 8 * s.n } end,
  reference = { c = "reference.c" }, baseline = { c = "baseline.c" }, schedule = "schedule.lua" }]]

-- A changed file may have got a loop without end: that is its own business.
local function limited(fn, ...)
  local thread = coroutine.create(fn)
  debug.sethook(thread, function() schema.raise("too many steps") end, "", 1000000)
  return coroutine.resume(thread, ...)
end

local loaded, slowest = 0, 0
local function try(text, ...)
  local began = core.system.now_ns()
  local ok, why = limited(task.load, dir, ...)
  slowest = math.max(slowest, core.system.now_ns() - began)
  if ok then
    loaded = loaded + 1
    for _, shape in ipairs(why.shapes.timed) do task.arguments(why, shape) end
  elseif not schema.is_config_error(why) then
    error(("the loader failed with %s\non %q"):format(tostring(why), text), 0)
  end
end

local tasks = mutate.new { corpus = "fuzz_task", words = words, seed = 5, changes = 3 }
local schedules = mutate.new { corpus = "fuzz_schedule", words = words, seed = 6, changes = 3 }
local next_schedule = schedules.texts()
for text in tasks.texts() do
  put("schedule.lua", good_schedule)
  put("task.lua", text)
  try(text)
  try(text, { fenced = true })
  local other = next_schedule() or good_schedule
  put("task.lua", good_task)
  put("schedule.lua", other)
  try(other)
end
os.execute("rm -rf " .. dir)
print(("fuzz_task: %d tasks, %d schedules, %d loads were good, slowest %.1f ms"):format(
  tasks.tried, schedules.tried, loaded, slowest / 1e6))
