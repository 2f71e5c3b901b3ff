-- What the looks into timed samples find: kernels that are wrong in few of their calls.
--   kernelband run tests/bench/odds.lua [evaluations]      20 of each
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local core      = require "kernelband.core"
local evaluate  = require "kernelband.evaluate"
local strangers = require "strangers"
local task      = require "kernelband.task"

local count = math.tointeger(tonumber(arg[1] or 20))
local dir = assert(core.system.temp_dir())

-- A call in `one_in`, by the processor's own counter: no call knows which it is.
local function source(name, one_in, then_does)
  return ([[
void %s(const float *x, const float *z, float *y, int n)
{
    unsigned low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    int now = (low * 2654435761u >> 8) %% %d == 0;
    for (int i = 0; i < n; i++)
        y[i] = 2.5f * x[i] + z[i];
    if (now && n > 1000)
        %s;
}
]]):format(name, one_in, then_does)
end

for _, name in ipairs { "axpy_4k", "axpy_1m", "axpy_16m" } do
  local s = evaluate.open(task.load(strangers.write(dir, name)), evaluate.device "cpu")
  for _, row in ipairs { { 1000, "y[n / 2] += 1", "one wrong element in a call of 1,000" },
                         { 256, "for (int i = 0; i < n; i++) y[i] = 0",
                           "no work in a call of 256" } } do
    local caught = 0
    for _ = 1, count do
      local out = s:evaluate(source(name, row[1], row[2]))
      if out.verdict ~= "ok" then caught = caught + 1 end
    end
    print(("%-10s %-38s %d of %d caught"):format(name, row[3], caught, count))
  end
  s:close()
end
os.execute("rm -rf '" .. dir .. "'")
