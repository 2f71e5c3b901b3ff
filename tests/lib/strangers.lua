-- strangers.lua - kernels as users bring them, with no word of how they are timed: what is
-- true of the examples must be true of these. The baseline and the float64 reference of
-- each are one text: $F is the function's name, $R the type of what it writes, float or
-- an integer in the baseline and double in the reference, $W a float, double there.
--
--   strangers.list                  names, in a fixed order
--   strangers.write(dir, name)      -> the task's folder, below dir
--   strangers.source(name [, redo]) -> the baseline's text; redo: a share of the outer
--                                      iterations is computed twice, to the same result
local core = require "kernelband.core"

local strangers = {}

-- A block of 32 int8 weights and the bits of an fp16 scale (the layout q8_0 of ggml).
local gemv = [[
static $W half(unsigned short h)
{
    union { unsigned u; float f; } v = { ((unsigned)(h & 0x7fff)) << 13 };
    v.f *= 0x1p112f;
    return h & 0x8000 ? -v.f : v.f;
}
void $F(const signed char *q, const unsigned short *s, const float *x, $R *y, int rows, int blocks)
{
    $LOOP(i, rows)
        $W sum = 0;
        for (int b = 0; b < blocks; b++) {
            const signed char *w = q + ((long)i * blocks + b) * 32;
            $W part = 0;
            for (int k = 0; k < 32; k++)
                part += ($W)w[k] * x[b * 32 + k];
            sum += part * half(s[(long)i * blocks + b]);
        }
        y[i] = sum;
    $END
}
]]

local function gemv_of(name, rows, blocks)
  return { name = name, text = gemv, reduction = "s.blocks * 32", absolute = { "q", "s", "x" },
    distributions = { "normal", "uniform", "spikes", "integers" },
    args = [[{ "q", "i8", "in", { "rows", "blocks", 32 } },
      { "s", "f16", "in", { "rows", "blocks" } },
      { "x", "f32", "in", { "blocks", 32 } }, { "y", "f32", "out", { "rows" } },
      { "rows", "i32" }, { "blocks", "i32" }]],
    smoke = "{ rows = 1, blocks = 1 }, { rows = 3, blocks = 2 }",
    timed = ("{ rows = %d, blocks = %d }"):format(rows, blocks),
    held = "{ rows = 37, blocks = 5 }, { rows = 129, blocks = 16 }",
    flops = "2 * s.rows * s.blocks * 32", bytes = "s.rows * s.blocks * 34 + 4 * s.rows" }
end

local function axpy_of(name, n)
  return { name = name, redo = true,
    text = [[
void $F(const float *x, const float *z, $R *y, int n)
{
    $LOOP(i, n)
        y[i] = ($W)2.5f * x[i] + z[i];
    $END
}
]],
    args = [[{ "x", "f32", "in", { "n" } }, { "z", "f32", "in", { "n" } },
      { "y", "f32", "out", { "n" } }, { "n", "i32" }]],
    smoke = "{ n = 1 }, { n = 7 }", timed = ("{ n = %d }"):format(n),
    held = "{ n = 3 }, { n = 4097 }", flops = "2 * s.n", bytes = "12 * s.n" }
end

local function spin_of(name, steps)
  return { name = name,
    text = ([[
void $F(const float *x, $R *y, int n)
{
    float v = x[0];
    for (int k = 0; k < %d; k++) {
        v = v * 0.5f + 1;
        __asm__ volatile("" : "+x"(v));
    }
    for (int i = 0; i < n; i++)
        y[i] = ($W)2 * x[i] + (v > 1e30f);
}
]]):format(steps),
    args = [[{ "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" }]],
    smoke = "{ n = 1 }, { n = 37 }", timed = "{ n = 64 }", held = "{ n = 1021 }",
    flops = "2 * s.n", bytes = "8 * s.n" }
end

local tasks = {
  gemv_of("gemv_4m", 1024, 128), gemv_of("gemv_40m", 4096, 320), gemv_of("gemv_400m", 16384, 800),
  axpy_of("axpy_4k", 1 << 10), axpy_of("axpy_1m", 1 << 18), axpy_of("axpy_16m", 1 << 22),
  axpy_of("axpy_256m", 1 << 26),
  { name = "prefix_sum", exact = true,
    text = [[
void $F(const int *x, $R *y, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}
]],
    args = [[{ "x", "i32", "in", { "n" } }, { "y", "i32", "out", { "n" } }, { "n", "i32" }]],
    distributions = { "normal", "uniform", "integers" },
    smoke = "{ n = 1 }, { n = 100 }", timed = "{ n = 1048576 }", held = "{ n = 4097 }",
    flops = "s.n", bytes = "8 * s.n" },
  { name = "gather", exact = true,
    text = [[
void $F(const float *x, const int *at, $R *y, int n, int m)
{
    for (int i = 0; i < n; i++)
        y[i] = x[(at[i])];
}
]],
    args = [[{ "x", "f32", "in", { "m" } }, { "at", "i32", "in", { "n" }, below = "m" },
      { "y", "f32", "out", { "n" } }, { "n", "i32" }, { "m", "i32" }]],
    smoke = "{ n = 1, m = 1 }, { n = 10, m = 5 }", timed = "{ n = 262144, m = 2097152 }",
    held = "{ n = 1000, m = 77 }", flops = "s.n", bytes = "12 * s.n" },
  { name = "chase", exact = true,
    text = [[
void $F(const int *next, $R *y, int m, int steps, int starts)
{
    for (int i = 0; i < starts; i++) {
        unsigned at = (unsigned)i * 2654435761u % (unsigned)m;
        for (int k = 0; k < steps; k++)
            at = ((unsigned)next[at] + (unsigned)k * 40503u) % (unsigned)m;
        y[i] = (int)at;
    }
}
]],
    args = [[{ "next", "i32", "in", { "m" }, below = "m" }, { "y", "i32", "out", { "starts" } },
      { "m", "i32" }, { "steps", "i32" }, { "starts", "i32" }]],
    smoke = "{ m = 1, steps = 1, starts = 1 }, { m = 50, steps = 9, starts = 3 }",
    timed = "{ m = 1048576, steps = 20000, starts = 4 }",
    held = "{ m = 7919, steps = 1000, starts = 37 }",
    flops = "s.steps * s.starts", bytes = "4 * s.steps * s.starts" },
  { name = "small_products", reduction = "8",
    text = [[
void $F(const float *a, const float *b, $R *c, int n)
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) {
                $W sum = 0;
                for (int k = 0; k < 8; k++)
                    sum += ($W)a[p * 64 + i * 8 + k] * b[p * 64 + k * 8 + j];
                c[p * 64 + i * 8 + j] = sum;
            }
}
]],
    args = [[{ "a", "f32", "in", { "n", 8, 8 } }, { "b", "f32", "in", { "n", 8, 8 } },
      { "c", "f32", "out", { "n", 8, 8 } }, { "n", "i32" }]],
    smoke = "{ n = 1 }", timed = "{ n = 2000 }", held = "{ n = 77 }",
    flops = "1024 * s.n", bytes = "768 * s.n" },
  { name = "byte_histogram", exact = true,
    text = [[
void $F(const unsigned char *x, $R *count, int n, int bins)
{
    for (int i = 0; i < bins; i++)
        count[i] = 0;
    for (int i = 0; i < n; i++)
        count[(x[i])] += 1;
}
]],
    args = [[{ "x", "u8", "in", { "n" } }, { "count", "i32", "out", { 256 } }, { "n", "i32" },
      { "bins", "i32", value = 256 }]],
    smoke = "{ n = 1 }, { n = 1000 }", timed = "{ n = 1000000 }", held = "{ n = 4099 }",
    flops = "s.n", bytes = "s.n + 1024" },
  { name = "in_place",
    text = [[
void $F(const float *g, $R *w, int n)
{
    for (int i = 0; i < n; i++)
        w[i] = ($W)0.75f * w[i] - ($W)0.125f * g[i];
}
]],
    args = [[{ "g", "f32", "in", { "n" } }, { "w", "f32", "inout", { "n" } }, { "n", "i32" }]],
    reduction = "2", smoke = "{ n = 1 }, { n = 9 }", timed = "{ n = 300000 }",
    held = "{ n = 1021 }",
    flops = "3 * s.n", bytes = "12 * s.n" },
  { name = "branchy_sort", exact = true,
    text = [[
void $F(const float *x, $R *y, int rows)
{
    for (int r = 0; r < rows; r++) {
        float v[32];
        for (int i = 0; i < 32; i++) {
            float t = x[r * 32 + i];
            int j = i;
            for (; j > 0 && v[j - 1] > t; j--)
                v[j] = v[j - 1];
            v[j] = t;
        }
        for (int i = 0; i < 32; i++)
            y[r * 32 + i] = v[i];
    }
}
]],
    args = [[{ "x", "f32", "in", { "rows", 32 } }, { "y", "f32", "out", { "rows", 32 } },
      { "rows", "i32" }]],
    smoke = "{ rows = 1 }", timed = "{ rows = 2000 }", held = "{ rows = 77 }",
    flops = "s.rows * 300", bytes = "256 * s.rows" },
  spin_of("spin_200ns", 170), spin_of("spin_200ms", 60000000),
  { name = "softmax_rows", reduction = "s.cols",
    text = [[
#include <math.h>
void $F(const float *x, $R *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        const float *in = x + r * cols;
        $W most = in[0], sum = 0;
        for (int i = 1; i < cols; i++)
            most = in[i] > most ? in[i] : most;
        for (int i = 0; i < cols; i++)
            sum += y[r * cols + i] = $EXP(in[i] - most);
        for (int i = 0; i < cols; i++)
            y[r * cols + i] /= sum;
    }
}
]],
    args = [[{ "x", "f32", "in", { "rows", "cols" } }, { "y", "f32", "out", { "rows", "cols" } },
      { "rows", "i32" }, { "cols", "i32" }]],
    smoke = "{ rows = 1, cols = 1 }, { rows = 2, cols = 9 }", timed = "{ rows = 64, cols = 1000 }",
    held = "{ rows = 5, cols = 77 }", flops = "5 * s.rows * s.cols",
    bytes = "8 * s.rows * s.cols" },
}

strangers.list = {}
local by_name = {}
for i, t in ipairs(tasks) do strangers.list[i], by_name[t.name] = t.name, t end

-- The text with its macros filled in. redo: a share of the iterations of $LOOP runs twice.
local function text_of(t, wide, redo)
  local integer = t.args:find('"i32", "out"', 1, true) and true
  local function loop(i, n, body)
    if not redo then return ("for (int %s = 0; %s < %s; %s++) {%s}"):format(i, i, n, i, body) end
    -- One loop that is run twice: two loops would be compiled in two ways.
    return ([[for (int turn_ = 0; turn_ < 2; turn_++) {
    int end_ = turn_ ? %s : (int)(%s * %g);
    __asm__ volatile("" : "+r"(end_) :: "memory");
    for (int %s = 0; %s < end_; %s++) {%s}
    }]]):format(n, n, redo, i, i, i, body)
  end
  return (t.text:gsub("%$LOOP%((%w+), (%w+)%)(.-)%$END", loop)
          :gsub("%$EXP", wide and "exp" or "expf"):gsub("%$W", wide and "double" or "float")
          :gsub("%$R", wide and "double" or integer and "int" or "float")
          :gsub("%$F", t.name .. (wide and "_f64" or "")))
end

function strangers.source(name, redo) return text_of(by_name[name], false, redo) end

function strangers.write(dir, name)
  local t, folder = by_name[name], dir .. "/" .. name
  assert(core.system.mkdir_p(folder))
  local function put(file, text) assert(core.system.write_file(folder .. "/" .. file, text)) end
  local function names(list) return '{ "' .. table.concat(list, '", "') .. '" }' end
  put("reference.c", text_of(t, true))
  put("baseline.c", text_of(t, false))
  put("task.lua", ([[
return { name = "%s", summary = "a stranger's", args = { %s },
  shapes = { smoke = { %s }, timed = { %s }, held_out = { %s } },
  work = function(s) return { flops = %s, bytes = %s } end, %s %s %s %s
  reference = { c = "reference.c" }, baseline = { c = "baseline.c" } }
]]):format(name, t.args, t.smoke, t.timed, t.held, t.flops, t.bytes,
    t.reduction and ("reduction = function(s) return %s end,"):format(t.reduction) or "",
    t.exact and "exact = true," or "",
    t.absolute and ("absolute = %s,"):format(names(t.absolute)) or "",
    t.distributions and ("distributions = %s,"):format(names(t.distributions)) or ""))
  return folder
end

return strangers
