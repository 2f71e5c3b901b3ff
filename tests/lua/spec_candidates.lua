-- Hostile C candidates get the verdict they expect, honest ones are ok.
--   kernelband run tests/lua/spec_candidates.lua [TIMES [WORD]]    WORD: only files with it in the
-- name
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local candidates = require "candidates"
local core = require "kernelband.core"

local times = math.tointeger(tonumber(arg[1] or 1))
local word = arg[2] or ""
local root = "tests"
local sanitized = assert(core.system.exe()):find("/asan", 1, true) ~= nil

local function listed(folder)
  local out = {}
  for _, c in ipairs(candidates.list(root .. "/candidates/" .. folder, "c")) do
    local skip = sanitized and c.name == "eats_memory.c"      -- it has no memory limit
    if c.name:find(word, 1, true) and not skip and (times > 1 or not c.slow) then
      out[#out + 1] = c
    end
  end
  return out
end

local all = listed "hostile"
local hostile = #all
table.move(listed "honest", 1, 1000, #all + 1, all)
local secrets = {}
local tally = candidates.judge(root, all, "cpu", times, function(_, c, out)
  local text = (out.reason or "") .. (out.log or "")
  if text:find("root:", 1, true) or text:find("PATH=", 1, true) then
    secrets[#secrets + 1] = c.name
  end
  if os.getenv "KERNELBAND_TRACE" then
    print(("%-34s %-13s %5.2f s  %s"):format(c.name, out.verdict, out.seconds.total or 0,
          out.reason or ("%.2f"):format(out.speedup or 0)))
  end
end)

t.test("every candidate gets its verdict", function()
  t.equal(table.concat(tally.rows, "\n"), "")
end)
t.test("no file's text and no environment comes back", function()
  t.equal(table.concat(secrets, " "), "")
end)
if word == "" then
  t.test("the suites are as large as they have to be", function()
    t.equal(hostile >= 80 and #all - hostile >= 40, true, #all)
  end)
end
print(candidates.table { { "C", tally, times } })
print(("%.0f s"):format(tally.seconds))
t.finish()
