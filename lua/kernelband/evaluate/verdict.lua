-- evaluate/verdict.lua - what the judges of a candidate say, and the seeds it may not know.
local core = require "kernelband.core"

local verdict = {}

-- All there are, the good one first.
verdict.names = { "ok", "no_candidate", "not_applicable", "build_failed", "launch_failed", "wrong",
                  "cheated", "crashed", "timeout" }

local of_code = { ETIME = "timeout", ECRASH = "crashed", EDENIED = "cheated" }

-- An evaluation that is not ok.
function verdict.fail(name, reason, ...)
  if select("#", ...) > 0 then reason = reason:format(...) end
  return { verdict = name, reason = reason }
end

-- What fail says of a launch or a load that ended with code.
function verdict.died(code, why, where)
  return verdict.fail(of_code[code] or "launch_failed", "%s (%s)", why, where)
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

-- Notes in a session that a check has been made: an evaluation lists them.
function verdict.ran(s, name)
  if s.ran and not s.ran[name] then
    s.ran[name] = true
    s.ran[#s.ran + 1] = name
  end
end

-- 56 bits from the kernel's generator.
function verdict.secret_seed()
  return math.tointeger(tonumber("0x" .. core.system.random_hex(7)))
end

return verdict
