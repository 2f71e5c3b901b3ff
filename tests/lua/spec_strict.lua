-- eval --strict finds what runs right by luck, and nothing in honest kernels.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local task = require "kernelband.task"

local device = evaluate.device "cpu"
local s = evaluate.open(task.load "tests/lib/tasks/axpy", device)
local head = "void axpy(const float *x, float *y, int n) { "
local brief = { 1 }             -- ns of a best kernel: what is far slower is timed briefly
local body = "for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 1; "

for _, row in ipairs {
  { "reads before its input", "crashed", "volatile float v = x[-1]; " .. body .. "}",
    "start of a page" },
  { "overflows a signed int", "crashed", "volatile int big = 0x7fffffff; volatile int k = big + 1;"
    .. body .. "}", "undefined behaviour" },
  { "reads past a table", "crashed", "static const float f[4] = { 2, 2, 2, 2 };"
    .. " volatile int k = 4; volatile float v = f[k]; " .. body .. "}", "undefined behaviour" },
} do
  t.test(("a kernel that %s is %s, strictly"):format(row[1], row[2]), function()
    local plain = s:evaluate(head .. row[3], { best_times_ns = brief })
    t.equal(plain.verdict, "ok", plain.reason)
    local out = s:evaluate(head .. row[3], { strict = true, best_times_ns = brief })
    t.equal(out.verdict, row[2], out.reason)
    t.contains(out.reason, row[4])
  end)
end

t.test("honest kernels stay ok", function()
  for _, name in ipairs { "uses_vectors", "jumps_inside", "jumps_to_labels", "uses_long_double",
                          "resolves_by_target_clones", "resolves_by_cpu_supports" } do
    local source = assert(core.system.read_file(("tests/candidates/honest/%s.c"):format(name)))
    local out = s:evaluate(source, { strict = true, best_times_ns = brief })
    t.equal(out.verdict, "ok", ("%s: %s"):format(name, out.reason))
    local all = table.concat(out.checks, "; ")
    t.contains(all, "guard pages before every array")
    t.contains(all, "undefined behaviour")
    t.contains(all, "ten more runs")
  end
end)

t.finish()
