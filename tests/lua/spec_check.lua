-- The bound on sums: honest float32 sums of long rows are right in any order,
-- lower precisions and missing terms are not.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local task = require "kernelband.task"
local worker = require "kernelband.worker"

local evaluator = worker.start { task = task.load "tests/lib/tasks/sumsq", device = "cpu" }
local head = "void sumsq(const float *x, float *y, int rows, int cols) {"
  .. " for (int r = 0; r < rows; r++, x += cols) {"

local function judge_source(source)
  local out = assert(evaluator.evaluate({ source = source }, {}))
  return out.verdict, out.reason, out.weakened
end

local function judge(body, before)
  return judge_source((before or "") .. head .. body .. "}}")
end

local shorten = "static float cut(float v, unsigned mask) {"
  .. " union { float f; unsigned u; } b = { v }; b.u &= mask; return b.f; }\n"

for _, row in ipairs {
  { "one float", "ok", "float s = 0; for (int c = 0; c < cols; c++) s += x[c] * x[c]; y[r] = s;" },
  { "one float, backwards", "ok",
    "float s = 0; for (int c = cols; c-- > 0;) s += x[c] * x[c]; y[r] = s;" },
  { "eight floats", "ok", "float s[8] = { 0 };"
    .. "for (int c = 0; c < cols; c++) s[c % 8] += x[c] * x[c];"
    .. "y[r] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));" },
  { "Kahan", "ok", "float s = 0, e = 0; for (int c = 0; c < cols; c++) { float v = x[c] * x[c] - e;"
    .. "volatile float n = s + v; e = (n - s) - v; s = n; } y[r] = s;" },
  { "bf16 inputs", "wrong", "double s = 0; for (int c = 0; c < cols; c++) {"
    .. "float v = cut(x[c], 0xffff0000u); s += v * v; } y[r] = s;", shorten },
  { "tf32 inputs", "wrong", "double s = 0; for (int c = 0; c < cols; c++) {"
    .. "float v = cut(x[c], 0xffffe000u); s += v * v; } y[r] = s;", shorten },
  -- Within the bound of a sum of 4096 terms, and three hundred times as far off as float64 is.
  { "long rows a little too large", "wrong", "double s = 0; for (int c = 0; c < cols; c++)"
    .. " s += x[c] * x[c]; y[r] = cols < 4096 ? s : s * (1 + 1e-5);" },
  { "no tail", "wrong", "float s = 0; int k = cols < 8 ? cols : cols / 8 * 8;"
    .. "for (int c = 0; c < k; c++) s += x[c] * x[c]; y[r] = s;" },
  { "large values cut", "wrong", "double s = 0; for (int c = 0; c < cols; c++) {"
    .. "float v = x[c] > 500 ? 500 : x[c]; s += v * v; } y[r] = s;" },
} do
  t.test(("a sum with %s is %s"):format(row[1], row[2]), function()
    local verdict, reason = judge(row[3], row[4])
    t.equal(verdict, row[2], reason)
  end)
end

evaluator.close()

-- A factor in two parts of eleven bits each is up to two units off, and the smallest of the
-- four products is left out: of a sum of one term that is eight units, all in one result.
evaluator = worker.start { task = task.load "tests/lib/tasks/small_matmul", device = "cpu" }
for _, row in ipairs { { 8, "ok" }, { 40, "wrong" } } do
  local units, verdict = row[1], row[2]
  t.test(("a product of one term that is %d units off is %s"):format(units, verdict), function()
    local got, reason = judge_source(([[
void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += (double)a[i * k + p] * b[p * n + j];
            c[i * n + j] = (float)(k == 1 ? sum * (1 + %d * 0x1p-24) : sum);
        }
}]]):format(units))
    t.equal(got, verdict, reason)
  end)
end
evaluator.close()

-- A spike may be all of a row's sum: each of the other terms is then less than half a
-- unit of it and is lost, all of them together are not. That is more than the bound of a sum only
-- where the spike has about one height, as in one row of 1200: here all spikes have about that.
t.test("a softmax that adds up in order is right where one term is all of the sum", function()
  local core = require "kernelband.core"
  local dir = t.folder()
  local text = [[
#include <math.h>
#define AT(c) (x[c] < 9 ? x[c] : 17.5f + (r & 7) * 0.125f)
void softmax%s(const float *x, %s *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++, x += cols, y += cols) {
        float top = AT(0);
        %s sum = 0;
        for (int c = 1; c < cols; c++)
            top = AT(c) > top ? AT(c) : top;
        for (int c = cols - 1; c >= 0; c--)
            sum += %s(AT(c) - (%s)top);
        for (int c = 0; c < cols; c++)
            y[c] = %s(AT(c) - (%s)top) / sum;
    }
}]]
  local function source(suffix, out, sum, exp, real)
    return text:format(suffix, out, sum, exp, real, exp, real)
  end
  local function put(name, bytes) assert(core.system.write_file(dir .. "/" .. name, bytes)) end
  put("reference.c", source("_f64", "double", "double", "exp", "double"))
  put("baseline.c", source("", "float", "double", "expf", "float"))
  put("task.lua", [[return {
    name = "softmax", summary = "of rows with spikes", distributions = { "normal", "spikes" },
    args = { { "x", "f32", "in", { "rows", "cols" } }, { "y", "f32", "out", { "rows", "cols" } },
             { "rows", "i32" }, { "cols", "i32" } },
    shapes = { smoke = { { rows = 2, cols = 67 } }, timed = { { rows = 4, cols = 64 } },
               held_out = { { rows = 100, cols = 2048 }, { rows = 101, cols = 2048 },
                            { rows = 102, cols = 2047 } } },
    work = function(s) return { flops = 5 * s.rows * s.cols, bytes = 8 * s.rows * s.cols } end,
    reduction = function(s) return s.cols > 256 and s.cols or 256 end, scale = "result",
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]])
  evaluator = worker.start { task = task.load(dir), device = "cpu" }
  local verdict, reason = judge_source(source("", "float", "float", "expf", "float"))
  evaluator.close()
  t.equal(verdict, "ok", reason)
end)

-- 40 x is rounded before the exponential: that alone is many units of the result, as it would be
-- if x were the number next to it. Nothing else excuses as much.
local steep = [[
#include <math.h>
void steep%s(const float *x, %s *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = %s;
}]]
local folder = t.folder()
do
  local core = require "kernelband.core"
  local function put(name, text) assert(core.system.write_file(folder .. "/" .. name, text)) end
  put("reference.c", steep:format("_f64", "double", "exp(40.0 * x[i])"))
  put("baseline.c", steep:format("", "float", "expf(40.0f * x[i])"))
  put("task.lua", [[return { name = "steep", summary = "exp of a multiple",
    args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
    distributions = { "normal", "uniform" },
    shapes = { smoke = { { n = 1 }, { n = 7 } }, timed = { { n = 1000 } },
               held_out = { { n = 777 } } },
    work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]])
end
evaluator = worker.start { task = task.load(folder), device = "cpu" }
for _, row in ipairs {
  { "is rounded before an exponential", "ok", "expf(x[i] * 5.0f * 8.0f)" },
  { "has a steep exponential off by as many units where it is flat", "wrong",
    "expf(40.0f * x[i]) * (fabsf(x[i]) < 0.05f ? 1 + 40 * 0x1p-24f : 1)" },
  { "is a steep exponential in half the precision", "wrong",
    "expf(40.0f * (float)((int)(x[i] * 4096) / 4096.0))" },
} do
  t.test(("a kernel that %s is %s"):format(row[1], row[2]), function()
    local got, reason, weakened = judge_source(steep:format("", "float", row[3]))
    t.equal(got, row[2], reason)
    if got == "ok" then t.contains(table.concat(weakened, "\n"), "roundings away") end
  end)
end
evaluator.close()

-- Kernels of two inputs that round between their steps. A difference is rounded by up to as much
-- as two inputs of opposite signs can move it, and by chance their moves cancel in each of six
-- answers for one in 64 of so many elements. So do those of a product, wholly where both inputs
-- are equal: what it is rounded by before a sine is thousands of times the bound of a sum. Terms
-- that cancel in a sum put some elements a million times that bound off.
local two = [[
#include <math.h>
void two%s(const float *a, const float *b, %s *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = %s;
}]]
local function judge_two(exact, baseline, candidates, distribution)
  local core = require "kernelband.core"
  local dir = t.folder()
  local function put(name, text) assert(core.system.write_file(dir .. "/" .. name, text)) end
  put("reference.c", two:format("_f64", "double", exact))
  put("baseline.c", two:format("", "float", baseline))
  put("task.lua", [[return { name = "two", summary = "of two inputs",
    args = { { "a", "f32", "in", { "n" } }, { "b", "f32", "in", { "n" } },
             { "y", "f32", "out", { "n" } }, { "n", "i32" } },
    distributions = { "normal", "]] .. (distribution or "wide") .. [[" },
    shapes = { smoke = { { n = 1 }, { n = 20000 } }, timed = { { n = 1000 } },
               held_out = { { n = 777 } } },
    work = function(s) return { flops = 2 * s.n, bytes = 12 * s.n } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]])
  evaluator = worker.start { task = task.load(dir), device = "cpu" }
  for _, row in ipairs(candidates) do
    t.test(("a kernel that %s is %s"):format(row[1], row[2]), function()
      local got, reason = judge_source(two:format("", "float", row[3]))
      t.equal(got, row[2], reason)
    end)
  end
  evaluator.close()
end
judge_two("exp((double)a[i] - b[i])", "expf(a[i] - b[i])", {
  { "rounds a difference before an exponential", "ok", "expf(-(b[i] - a[i]))" },
  { "has the exponential of a difference off by as many units where it is small", "wrong",
    "expf(a[i] - b[i]) * (fabsf(a[i]) + fabsf(b[i]) < 2 ? 1 + 128 * 0x1p-24f : 1)" },
  { "has the exponential of a difference of halved precision", "wrong",
    "expf((float)((int)(a[i] * 4096) / 4096.0) - b[i])" },
})
judge_two("sin((double)12345.67f * a[i] * b[i])", "sinf(12345.67f * a[i] * b[i])", {
  { "rounds a product before a sine", "ok", "sinf(b[i] * 12345.67f * a[i])" },
  { "has the sine of a product of halved precision", "wrong",
    "sinf(12345.67f * a[i] * (float)((int)(b[i] * 4096) / 4096.0))" },
}, "integers")
judge_two("a[i] * cos(b[i]) - b[i] * sin(b[i])", "a[i] * cosf(b[i]) - b[i] * sinf(b[i])", {
  { "has terms that cancel", "ok", "-(b[i] * sinf(b[i])) + cosf(b[i]) * a[i]" },
  { "has terms that cancel, one of halved precision", "wrong",
    "a[i] * cosf(b[i]) - b[i] * (float)((int)(sinf(b[i]) * 4096) / 4096.0)" },
})
-- Where a is 1 the product is rounded up to what has no exponential in a float; the exact one has,
-- one that is eight times the bound of a sum below the largest float.
judge_two("exp((double)a[i] * 29.000015258789062f * 3.0594065189361572f)",
          "expf(a[i] * 29.000015258789062f * 3.0594065189361572f)", {
  { "overflows where an input a rounding away does", "ok",
    "expf(29.000015258789062f * a[i] * 3.0594065189361572f)" },
  { "overflows where an answer is 1", "wrong",
    "expf(a[i] * 29.000015258789062f * 3.0594065189361572f) / (a[i] == 0 && b[i] > 0 ? 0.f : 1)" },
}, "integers")

-- Tasks of strangers, each by its loop over rows or elements: exact, its answer in float64,
-- baseline and candidates. fields: what else the task says; outputs, of which y has rows and
-- columns where there are several, or each of them; rows, of all shapes but the first.
local function judge_other(o)
  local core = require "kernelband.core"
  local dir, kind = t.folder(), o.kind or "float"
  local made = o.outputs or { "y" }
  local function source(suffix, wide, body)
    local args = { ("const %s *a, const %s *b"):format(kind, kind) }
    for _, name in ipairs(made) do args[#args + 1] = wide .. " *" .. name end
    return ([[
#include <math.h>
#include <stdint.h>
static inline float cut(float v)
{
    union { float f; uint32_t u; } b = { v };
    b.u = (b.u + 0x7fff) & 0xffff0000u;
    return b.f;
}
void other%s(%s, int rows, int cols)
{
    for (int r = 0; r < rows; r++, a += cols, b += cols) {
        %s
    }
}]]):format(suffix, table.concat(args, ", "), body)
  end
  local short = kind == "double" and "f64" or "f32"
  local args, of_row = {}, o.each and "{ 'rows', 'cols' }" or "{ 'rows' }"
  for _, name in ipairs(made) do
    args[#args + 1] = ("{ '%s', '%s', 'out', %s }"):format(name, short,
      name == "y" and made[2] and "{ 'rows', 'cols' }" or of_row)
  end
  local function put(name, text) assert(core.system.write_file(dir .. "/" .. name, text)) end
  put("reference.c", source("_f64", "double", o.exact))
  put("baseline.c", source("", kind, o.baseline))
  put("task.lua", ([[return { name = "other", summary = "of a stranger",
    args = { { "a", "%s", "in", { "rows", "cols" } }, { "b", "%s", "in", { "rows", "cols" } }, %s,
             { "rows", "i32" }, { "cols", "i32" } }, %s
    shapes = { smoke = { { rows = 1, cols = 7 }, { rows = %d, cols = 100 } },
               timed = { { rows = %d, cols = 128 } }, held_out = { { rows = %d, cols = 1031 } } },
    work = function(s) return { flops = 2 * s.rows * s.cols, bytes = 8 * s.rows * s.cols } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]]):format(short, short,
    table.concat(args, ", "), o.fields or "", o.rows or 8, o.rows or 33, o.rows or 33))
  evaluator = worker.start { task = task.load(dir), device = "cpu" }
  for _, row in ipairs(o.candidates) do
    t.test(("a kernel that %s is %s"):format(row[1], row[2]), function()
      local got, reason = judge_source(source("", kind, row[3]))
      t.equal(got, row[2], reason)
      t.contains(reason or "", row.says or "")
    end)
  end
  evaluator.close()
end
local sums = "reduction = function(s) return s.cols end,"
local function sum(type, of, from)
  return ("%s s = 0; for (int c = %s) s += %s; y[r] = s;"):format(type,
    from or "0; c < cols; c++", of)
end

-- A mask that fills, one that keeps, and a steep function.
local function each(fills, keeps, grows)
  return ([[for (int c = 0, i = r * cols; c < cols; c++, i++) {
            y[i] = %s;
            kept[i] = %s;
            e[i] = %s;
        }]]):format(fills or "b[c] == 1 ? -1e9f : a[c]", keeps or "b[c] == 3 ? a[c] : 0",
                    grows or "exp(40 * (double)a[c])")
end
judge_other { each = true, outputs = { "y", "kept", "e" }, exact = each(), baseline = each(),
  candidates = {
    { "asks for a mask in another way", "ok", each "b[c] != 1 ? a[c] : -1e9f" },
    { "leaves a mask out", "wrong", each "a[c]" },
    { "puts another number where the mask is", "wrong", each "b[c] == 1 ? 1e9f : a[c]" },
    { "keeps the half of what a mask keeps", "wrong", each(nil, "b[c] == 3 ? a[c] / 2 : 0") },
    { "has a steep function in floats", "ok", each(nil, nil, "expf(40 * a[c])") },
    { "has a steep function of inputs of lower precision", "wrong",
      each(nil, nil, "expf(40 * cut(a[c]))") },
  } }
judge_other { kind = "double", fields = sums, exact = sum("double", "a[c]"),
  baseline = sum("double", "a[c]"), candidates = {
    { "sums doubles backwards", "ok", sum("double", "a[c]", "cols; c-- > 0;") },
    { "sums doubles in floats", "wrong", sum("float", "a[c]") },
  } }
local means = [[
        double m = 0;
        for (int c = 0; c < cols; c++) m += a[c];
        m /= cols;
        for (int c = 0; c < cols; c++) y[r * cols + c] = a[c] - m;
        mean[r] = m%s;]]
judge_other { outputs = { "y", "mean" }, fields = sums, exact = means:format "",
  baseline = means:format "", candidates = {
    { "has a small output of low precision beside a large one", "wrong",
      means:format " + (cols > 1000 ? 4e-6 : 0)",
      says = "the RMS error of mean" },
  } }
local last = sum("float", "a[c] * b[c]", "0; c < (cols > 1000 ? cols - 3 : cols); c++")
judge_other { rows = 1, fields = sums, exact = sum("double", "(double)a[c] * b[c]"),
  baseline = sum("float", "a[c] * b[c]"), candidates = {
    { "sums a single number backwards", "ok", sum("float", "a[c] * b[c]", "cols; c-- > 0;") },
    { "sums a single number in a lower precision", "wrong", sum("float", "cut(a[c]) * cut(b[c])") },
    { "leaves the last terms of a single number out", "wrong", last },
  } }
judge_other { fields = sums .. "accumulate = 'bf16',", exact = sum("double", "(double)a[c] * b[c]"),
  baseline = sum("float", "a[c] * b[c]"), candidates = {
    { "rounds terms to what the task allows", "ok", sum("float", "cut(a[c] * b[c])") },
  } }

t.test("a task of integers that float64 has not is refused with what to do", function()
  local core = require "kernelband.core"
  local dir = t.folder()
  for _, file in ipairs { "reference.c", "baseline.c" } do
    assert(core.system.write_file(dir .. "/" .. file, [[
#include <stdint.h>
void hash(const int32_t *x, int64_t *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = (int64_t)((uint64_t)x[i] * 0x9e3779b97f4a7c15u);
}]]))
  end
  assert(core.system.write_file(dir .. "/task.lua", [[return { name = "hash", summary = "hash",
    args = { { "x", "i32", "in", { "n" } }, { "y", "i64", "out", { "n" } }, { "n", "i32" } },
    shapes = { smoke = { { n = 7 } }, timed = { { n = 100 } }, held_out = { { n = 33 } } },
    work = function(s) return { flops = s.n, bytes = 12 * s.n } end,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]]))
  local e = worker.start { task = task.load(dir), device = "cpu" }
  t.raises("the halves of such numbers as i32", e.baseline, e)
  e.close()
end)

-- Where the keys that count have the value 0, what is left is of weights about the
-- smallest normal number: some kernels flush those, and none is worse for it.
t.test("attention that flushes tiny weights to 0 is right", function()
  local core = require "kernelband.core"
  local dir = t.folder()
  local text = [[
#include <math.h>
void attend%s(const float *q, const float *k, const float *v, %s *o, int seq)
{
    for (int i = 0; i < seq; i++) {
        double score[256], top = -INFINITY, sum = 0;
        for (int j = 0; j <= i; j++) {
            score[j] = 0;
            for (int d = 0; d < 16; d++)
                score[j] += q[i * 16 + d] * k[j * 16 + d];
            top = fmax(top, score[j]);
        }
        for (int j = 0; j <= i; j++) {
            score[j] = exp(score[j] - top);
            if (score[j] < %s)
                score[j] = 0;
            sum += score[j];
        }
        for (int d = 0; d < 16; d++) {
            double x = 0;
            for (int j = 0; j <= i; j++)
                x += score[j] * v[j * 16 + d];
            o[i * 16 + d] = x / sum;
        }
    }
}]]
  assert(core.system.write_file(dir .. "/reference.c", text:format("_f64", "double", "0")))
  assert(core.system.write_file(dir .. "/baseline.c", text:format("", "float", "0")))
  assert(core.system.write_file(dir .. "/task.lua", ([[local like = dofile %q return {
    name = "attend", summary = "attention", distributions = { "integers" },
    args = { { "q", "f32", "in", { "seq", 16 } }, { "k", "f32", "in", { "seq", 16 } },
             { "v", "f32", "in", { "seq", 16 } }, { "o", "f32", "out", { "seq", 16 } },
             { "seq", "i32" } },
    shapes = { smoke = { { seq = 40 } }, timed = { { seq = 64 } },
               held_out = { { seq = 255 }, { seq = 256 } } },
    work = function(s) return { flops = 32 * s.seq ^ 2, bytes = 256 * s.seq } end,
    scale = like.scale, absolute = like.absolute, accumulate = like.accumulate,
    reduction = like.reduction, underflow = like.underflow,
    reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }]]):format(
    core.system.realpath "examples/tasks/attention_fwd/task.lua")))
  evaluator = worker.start { task = task.load(dir), device = "cpu" }
  local verdict, reason, told = judge_source(text:format("", "float", "0x1p-126"))
  t.equal(verdict, "ok", reason)
  t.contains(table.concat(told, "; "), "an error of 2048 of the smallest normal numbers")
  verdict = judge_source(text:format("", "float", "0x1p-60"))
  evaluator.close()
  t.equal(verdict, "wrong")
end)

t.finish()
