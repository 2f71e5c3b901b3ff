-- The other error: is a kernel that does a little of its work twice told from the plain one?
-- The 95 percent interval must lie on the right side of 1.
--   kernelband run tests/bench/told_apart.lua [evaluations [TASK ..]]
-- 40 evaluations of each, of matmul, gemv_40m and axpy_16m.
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local core      = require "kernelband.core"
local evaluate  = require "kernelband.evaluate"
local strangers = require "strangers"
local task      = require "kernelband.task"

local count = math.tointeger(tonumber(arg[1] or 40))
local names = table.move(arg, 2, #arg, 1, {})
if #names == 0 then names = { "matmul", "gemv_40m", "axpy_16m" } end
local dir = assert(core.system.temp_dir())

-- A task's folder, and its baseline's text with a share of the outer loop done twice. The plain
-- one is that text with a share of 0: written otherwise, gcc makes gemv 1.4 times as fast or slow.
local function make(name, share)
  if name ~= "matmul" then
    local folder = strangers.write(dir, name)
    assert(core.system.write_file(folder .. "/baseline.c", strangers.source(name, 0)))
    return folder, strangers.source(name, share)
  end
  local folder = dir .. "/matmul"
  assert(core.system.mkdir_p(folder))
  for _, file in ipairs { "task.lua", "reference.c", "baseline.c", "schedule.lua" } do
    local from = core.system.lib_dir() .. "/examples/tasks/matmul/" .. file
    assert(core.system.write_file(folder .. "/" .. file, assert(core.system.read_file(from))))
  end
  local plain = assert(core.system.read_file(folder .. "/baseline.c"))
  local text, n = plain:gsub("(for %(int32_t i = 0; i < )m(; i%+%+%) {.-\n    }\n)", function(a, b)
    return ("%s(int)(m * %g)%s    __asm__ volatile(\"\" ::: \"memory\");\n    %sm%s")
           :format(a, share, b, a, b)
  end)
  assert(n == 1, "the baseline of matmul has another outer loop now")
  return folder, text
end

for _, name in ipairs(names) do
  for _, row in ipairs { { 0.03, true }, { 0.05, false } } do
    for _, slower_is in ipairs { "candidate", "baseline" } do
      local folder, text = make(name, row[1])
      local plain = assert(core.system.read_file(folder .. "/baseline.c"))
      if slower_is == "baseline" then
        assert(core.system.write_file(folder .. "/baseline.c", text))
        text = plain
      end
      local s = evaluate.open(task.load(folder), evaluate.device "cpu")
      local told, ratios, widths, seconds = 0, {}, {}, {}
      for i = 1, count do
        local out = s:evaluate(text, { confirm = row[2] })
        assert(out.verdict == "ok", out.reason)
        local right = slower_is == "candidate" and out.speedup_high < 1
                      or slower_is == "baseline" and out.speedup_low > 1
        told = told + (right and 1 or 0)
        ratios[i], widths[i] = out.speedup, 50 * (out.speedup_high - out.speedup_low)
        seconds[i] = out.seconds.total
      end
      s:close()
      local median = core.stats.median
      print(("%-10s %.0f %% %-13s the %s is slower: told %d of %d, ratio %.4f, half-width %.2f %%, "
             .. "%.1f s"):format(name, 100 * row[1], row[2] and "confirmation," or "evaluation,",
            slower_is, told, count, median(ratios), median(widths), median(seconds)))
    end
  end
end
os.execute("rm -rf '" .. dir .. "'")
