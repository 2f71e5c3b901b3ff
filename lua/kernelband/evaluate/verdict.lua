-- evaluate/verdict.lua - what the judges of a candidate say, and the seeds it may not know.
local core = require "kernelband.core"

local verdict = {}

local of_code = { ETIME = "timeout", ECRASH = "crashed", EDENIED = "cheated" }

-- An evaluation that is not ok.
function verdict.fail(name, reason, ...)
  if select("#", ...) > 0 then reason = reason:format(...) end
  return { verdict = name, reason = reason }
end

-- Whether an evaluation shows its kernel to be faster than the baseline. win.lua decides
-- where times were measured; recorded times have an interval alone.
function verdict.gains(e)
  local low = e.speedup_low or e.speedup
  return e.verdict == "ok" and e.win ~= false and type(low) == "number" and low > 1
end

-- looks: a run's evaluations of kind confirm, in their order. The last that shows its kernel to
-- be faster, and that no later one takes back; or nil.
function verdict.last_gain(looks)
  local later = {}
  for i = #looks, 1, -1 do
    local look = looks[i]
    if look.kernel and not later[look.kernel] and verdict.gains(look.evaluation or {}) then
      return look
    end
    later[look.kernel or 0] = true
  end
end

-- The winner of a run (its reader: store/run_reader.lua): { kernel, row, search_row, confirmed }.
-- row is the evaluation that its figures are from, search_row the one that the search made.
-- Confirmed kernels win over others; where kernels were measured again and none was faster, the
-- baseline does. nil: the baseline is not measured yet.
function verdict.winner(reader)
  local looks = reader:evaluations "confirm"
  local look = verdict.last_gain(looks)
  local best = look and { id = look.kernel } or #looks == 0 and reader:rows [[SELECT id
    FROM kernels WHERE speedup_low > 1 ORDER BY speedup_low DESC, id LIMIT 1]] [1] or { id = 1 }
  local kernels = reader:rows("SELECT * FROM kernels WHERE id IN (1, ?) ORDER BY id", best.id)
  if not kernels[1] or kernels[1].id ~= 1 then return nil end
  local kernel = kernels[#kernels]
  if look and kernel.id ~= look.kernel then look = nil end          -- lost with damage
  local search_row
  for _, row in ipairs(reader:evaluations(nil, kernel.id)) do
    if row.kind ~= "confirm" and row.kind ~= "verify" then search_row = search_row or row end
  end
  return { kernel = kernel, row = look or search_row, search_row = search_row,
           confirmed = #looks > 0 }
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
