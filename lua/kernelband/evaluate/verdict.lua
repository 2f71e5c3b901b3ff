-- evaluate/verdict.lua - what the judges of a candidate say, and the seeds it may not know.
local core     = require "kernelband.core"
local task     = require "kernelband.task"
local template = require "kernelband.base.template"
local text     = require "kernelband.base.text"

local verdict = {}

-- All there are, the good one first.
verdict.names = { "ok", "no_candidate", "not_applicable", "build_failed", "launch_failed", "wrong",
                  "cheated", "crashed", "timeout" }

local of_code = { ETIME = "timeout", ECRASH = "crashed", EDENIED = "cheated" }

local Failure = { __tostring = function(failure) return failure.reason end }

-- Ends an evaluation, which is not ok: raises { verdict =, reason = }, for verdict.try.
function verdict.fail(name, reason, ...)
  error(setmetatable({ verdict = name, reason = reason:format(...) }, Failure), 0)
end

-- What a launch or a load at this place gave; when it gave nil, why, code, the candidate failed.
function verdict.need(where, value, ...)
  if value then return value, ... end
  local why, code = ...
  verdict.fail(of_code[code] or "launch_failed", "%s (%s)", why, where)
end

-- Calls fn. Returns the failure that ended it, or nil and what it returned; raises other errors.
function verdict.try(fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then return nil, result end
  if getmetatable(result) ~= Failure then error(result, 0) end
  return result
end

-- The same of what the baseline, which is trusted, goes through: its failure is nobody's verdict.
function verdict.of_baseline(s, fn, ...)
  local bad, result = verdict.try(fn, ...)
  if bad then error(("%s: the baseline: %s"):format(s.task.file, bad.reason), 0) end
  return result
end

-- The line of a build's output that says the most. entry: the function that was wanted; file:
-- what to call the source.
function verdict.first_error(log, entry, file)
  if log:find("call%.c:[^\n]*undefined reference to `" .. entry .. "'") then
    return ("it does not define the function %s"):format(entry)
  end
  local line = log:match "[^\n]*undefined reference[^\n]*" or log:match "[^\n]*[Ee]rror:[^\n]*"
               or log:match "[^\n]+" or log
  return file and line:gsub("^kernel%.c:", function() return file .. ":" end) or line
end

-- Notes in a session that a check has been made: an evaluation lists them, each once.
function verdict.ran(s, name) s.ran[#s.ran + 1] = name end

-- How many of the smallest normal numbers an element may be off, at the worst shape.
local function flushed(t, atomics)
  local most = 1
  task.each_shape(t.shapes, function(shape)
    most = math.max(most, task.bound(t, shape, atomics).underflow)
  end)
  return most
end

-- Whatever makes an "ok" worth less than it could be is said in every evaluation: what a task
-- allows, what this machine (device:describe()) lacks. A list of sentences.
function verdict.weakened(t, machine)
  return text.lines(template.fill("evaluate/sentences.weakened", {
    task = t, most = flushed(t), machine = machine, host = core.system.host(),
    some = t.distributions and #t.distributions < #task.distributions }))
end

-- The same of a kernel that adds by atomics, where its bound is wider for that; else nil.
function verdict.by_atomics(t)
  local most = flushed(t, true)
  if t.exact or most == flushed(t) then return nil end
  return template.fill("evaluate/sentences.atomics", { most = most })
end

-- 56 bits from the kernel's generator.
function verdict.secret_seed()
  return math.tointeger(tonumber("0x" .. core.system.random_hex(7)))
end

return verdict
