-- verdict.lua - what the judges of a candidate say, and the seeds it may not know.
local core = require "kernelband.core"

local verdict = {}

local of_code = { ETIME = "timeout", ECRASH = "crashed", EDENIED = "cheated" }

-- An evaluation that is not ok.
function verdict.fail(name, reason, ...)
  if select("#", ...) > 0 then reason = reason:format(...) end
  return { verdict = name, reason = reason }
end

-- The same for a launch or a load that ended with code.
function verdict.died(code, why, where)
  return verdict.fail(of_code[code] or "launch_failed", "%s (%s)", why, where)
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
