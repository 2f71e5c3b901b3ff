-- How often a kernel wins against itself, how often one that is 3 percent faster
-- is found, and what the checks of an evaluation cost.
--   kernelband run tests/bench/bench_truth.lua [A_A [THREE_PERCENT]]    500, 200
local core     = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local rooms    = require "kernelband.evaluate.room"
local task     = require "kernelband.task"
local timing   = require "kernelband.evaluate.timing"

local trials_aa = math.tointeger(tonumber(arg[1] or 500))
local trials_3  = math.tointeger(tonumber(arg[2] or 200))
local dir = assert(core.system.temp_dir())

-- A kernel that takes `steps` dependent multiply-adds and little else.
local function source(name, steps)
  return ([[
void %s(const float *x, float *y, int n)
{
    float v = x[0];
    for (int k = 0; k < %d; k++) {
        v = v * 0.5f + 1;
        __asm__ volatile("" : "+x"(v));
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1 + (v > 1e30f);
}
]]):format(name, steps)
end

local function make_task(name, n, baseline)
  local folder = dir .. "/" .. name
  assert(core.system.mkdir_p(folder))
  local function put(file, text) assert(core.system.write_file(folder .. "/" .. file, text)) end
  put("reference.c", ("void %s_f64(const float *x, double *y, int n) {"
      .. " for (int i = 0; i < n; i++) y[i] = 2.0 * x[i] + 1; }\n"):format(name))
  put("baseline.c", baseline)
  put("task.lua", ([[return { name = "%s", summary = "for the bench",
    args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
    shapes = { smoke = { { n = 1 }, { n = 37 } }, timed = { { n = %d } },
               held_out = { { n = 1021 }, { n = 4096 }, { n = 4097 } } },
    work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]]):format(name, n))
  return task.load(folder)
end

local device = evaluate.device "cpu"
local machine = device:describe()

-- How many of n timings of a source are called wins.
local function wins(s, text, n)
  local kernel = assert(rooms.build(s, text))
  local won, sum, start = 0, 0, core.system.now_ns()
  for _ = 1, n do
    local out = { verdict = "ok", shapes = {}, seconds = {} }
    timing.candidate(s, out, kernel, {})
    if out.win then won = won + 1 end
    if os.getenv "KERNELBAND_TRACE" then
      print(out.win, out.speedup_low, out.speedup, out.speedup_high, out.noise and out.noise.least)
    end
    sum = sum + math.log(out.speedup) / n
  end
  return won, math.exp(sum), (core.system.now_ns() - start) / 1e9 / n
end

local function report(what, won, n, mean, seconds, target)
  print(("%-26s %d of %d, %.1f %%  (target %s; mean estimate %.4f, %.2f s each)"):format(
        what, won, n, 100 * won / n, target, mean, seconds))
end

local steps = 40000
local s = evaluate.open(make_task("spin", 1000, source("spin", steps)), device)
local won, mean, each = wins(s, source("spin", steps), trials_aa)
report("wins against itself", won, trials_aa, mean, each, "at most 1 %")
won, mean, each = wins(s, source("spin", steps * 100 // 103), trials_3)
report("3 percent faster, found", won, trials_3, mean, each, "at least 90 %")
print(("noise here: sigma %.3f %%, least effect %.2f %%"):format(
      100 * (s.noise and s.noise.sigma or 0), 100 * (s.noise and s.noise.least or 0)))

local plain = "void mib(const float *x, float *y, int n) {"
  .. " for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 1; }\n"
local m = evaluate.open(make_task("mib", 1 << 18, plain), device)
local check = {}
for i = 1, 15 do
  local out = m:evaluate(plain)
  assert(out.verdict == "ok", out.reason)
  check[i] = 1e3 * out.seconds.check
end
print(("checks of 1 MiB of output  %.0f ms  (target 150 ms)  on %s"):format(
      core.stats.median(check), machine.name))
local refused = {}
for i = 1, 5 do
  local start = core.system.now_ns()
  require("kernelband.evaluate.mutants").refuse(m)
  refused[i] = (core.system.now_ns() - start) / 1e6
end
print(("mutants of that task        %.0f ms  (once a start of the engine; target 100 ms)"):format(
      core.stats.median(refused)))
os.execute("rm -rf " .. dir)
