-- The polynomial of exp that the C schedules write, over every float near the place
-- where it flushes to 0 and a fine comb of the others.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local emit = require "kernelband.emit"

local FLT_MIN = 2.0 ^ -126
local device = assert(core.device "cpu")
local most = 1 << 19

-- y[i] = exp of the float whose bits are first + i * step, by the code of emit.exp.
local function source_of(vector)
  local w = emit.writer()
  emit.head(w, vector, { includes = { "math", "stddef", "stdint", "string" } })
  if vector > 1 then emit.bits(w, vector) end
  emit.exp(w, { exp = "poly", vector = vector })
  local type, call = vector > 1 and "vec" or "float", vector > 1 and "exp_all" or "exp_one"
  return w.text() .. ([[
void sweep(float *y, int32_t n, uint32_t first, uint32_t step)
{
    for (int32_t i = 0; i + %d <= n; i += %d) {
        %s at;
        for (uint32_t q = 0; q < %d; q++) {
            const uint32_t word = first + ((uint32_t)i + q) * step;
            memcpy((char *)&at + 4 * q, &word, 4);
        }
        %s(&at);
        memcpy(y + i, &at, sizeof at);
    }
}
]]):format(vector, vector, type, vector, call)
end

local function bits_of(x) return (string.unpack("<I4", string.pack("<f", x))) end

-- What the code gives for n floats: { { x, y } .. }, in order of falling x.
local function sweep(vector, first, step, n)
  local args = { { mode = "out", dtype = "f32", count = most },
                 { mode = "scalar", dtype = "i32", value = n },
                 { mode = "scalar", dtype = "i32", value = first - (1 << 32) },
                 { mode = "scalar", dtype = "i32", value = step } }
  local object <close> = assert(device:build { source = source_of(vector), entry = "sweep",
                                               args = args, timeout_ns = 30 * 10 ^ 9 // 1 })
  local buffers <close> = assert(device:buffers(args, 1))
  local program <close> = assert(device:load(object, buffers))
  assert(program:launch(1, 10 ^ 10 // 1))
  local out = {}
  for i = 1, n do
    local x = string.unpack("<f", string.pack("<I4", first + (i - 1) * step))
    out[i] = { x, buffers:get(1, i) }
  end
  return out
end

-- nil, or the first x whose result is wrong: a normal result may be four units in the
-- last place off, one below the smallest normal may be flushed and no more.
local function wrong(points)
  for _, p in ipairs(points) do
    local x, y, want = p[1], p[2], math.exp(p[1])
    local limit = want >= FLT_MIN and 4 * 2.0 ^ -24 * want or FLT_MIN
    local near = math.abs(y - want) <= limit        -- false for a NaN
    if not near then
      return ("exp(%.9g) is %.9g, expected %.9g"):format(x, y, want)
    end
  end
end

for _, vector in ipairs { 1, 4, 8, 16 } do
  t.test(("no normal result is flushed, vectors of %d"):format(vector), function()
    local first = bits_of(-86)
    local n = bits_of(-89) - first
    t.equal(wrong(sweep(vector, first, 1, n // 16 * 16)), nil)
  end)
  t.test(("exp is right from 0 to -104, vectors of %d"):format(vector), function()
    local first, step = bits_of(-0.0), 8009
    local n = (bits_of(-104) - first) // step
    t.equal(wrong(sweep(vector, first, step, n // 16 * 16)), nil)
  end)
end

device:close()
t.finish()
