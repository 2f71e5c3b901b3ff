-- Mutations of a real object's text: the reader must neither raise nor take
-- long, and admit must answer.
--   kernelband run tests/fuzz/fuzz_evidence.lua [ITERATIONS [SEED]]
local core = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence"
local verdict = require "kernelband.evaluate.verdict"

local iterations = math.tointeger(tonumber(arg[1] or 1000))
local seed = math.tointeger(tonumber(arg[2] or 1))
local slow_ns = 2 * 10 ^ 9 // 1

local source = [[
#include <math.h>
#include <string.h>
void f(const float *x, double *y, int n)
{
    float block[64];
    for (int i = 0; i + 64 <= n; i += 64) {
        for (int k = 0; k < 64; k++) block[k] = x[i + k] * 2 + 1;
        for (int k = 0; k < 64; k++) y[i + k] = sqrt(block[63 - k]) / 3;
    }
    if (n & 1) memset(y, 0, (size_t)n);
}
]]

local function real_text()
  local device, why = core.device "cpu"
  if not device then return nil, why end
  local object = assert(device:build {
    source = source, entry = "f", timeout_ns = 30 * 10 ^ 9 // 1,
    args = { { mode = "in", dtype = "f32", count = 1 },
             { mode = "out", dtype = "f64", count = 1 },
             { mode = "scalar", dtype = "i32", value = 1 } } })
  return object:text()
end

local text, why = real_text()
if not text then
  print("fuzz_evidence: skipped: " .. why)
  return
end

local lines = {}
for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end

local words = { "%zmm31", "%ymm0,", "(%rsp)", "((((", ",,,,", "0x", "ffffffffffffffffffffffff",
                "jmp", "j", "<", ">:", "# ", "%", "[", "\0", "vfmadd231ps", "vgatherdps", "sub",
                "$0xffffffffffffffffff,%rsp", "-", "1e999", "\t", ":", " .text 00zz", "%xmm99",
                "(INIT)", "Disassembly of section .text:", "0000000000001000 <f>:" }

local function upto(rng, n) return 1 + rng:below(n) end

local function any(rng, list) return list[upto(rng, #list)] end

local function cut(rng, s)
  local i = upto(rng, #s + 1)
  return s:sub(1, i - 1), s:sub(i)
end

local mutations = {
  function(rng, s) local a, b = cut(rng, s) return a .. any(rng, words) .. b end,
  function(rng, s) return (cut(rng, s)) end,
  function(rng, s) local a, b = cut(rng, s) return a .. b:sub(2) end,
  function(rng, s) local a, b = cut(rng, s) return a .. string.char(rng:below(256)) .. b:sub(2) end,
  function(rng, s) return s .. any(rng, lines) end,
  function(rng) return any(rng, lines) end,
  function(rng, s) return s:rep(rng:below(50)) end,
  function(rng, s) return s .. any(rng, words):rep(rng:below(500)) end,
  function() return "" end,
}

local function mutate(rng)
  local out = table.move(lines, 1, #lines, 1, {})
  for _ = 1, upto(rng, 30) do
    local i = upto(rng, #out)
    out[i] = any(rng, mutations)(rng, out[i])
  end
  if rng:below(4) == 0 then
    for i = #out, 2, -1 do
      local j = upto(rng, i)
      out[i], out[j] = out[j], out[i]
    end
  end
  return table.concat(out, "\n")
end

local root, worst_ns = core.rng(seed), 0
for i = 1, iterations do
  local mutant = mutate(root:split(tostring(i)))
  local start = core.system.now_ns()
  local ok, problem = pcall(function() verdict.try(evidence.admit, evidence.read_text(mutant)) end)
  local took_ns = core.system.now_ns() - start
  worst_ns = math.max(worst_ns, took_ns)
  if not ok or took_ns > slow_ns then
    error(("iteration %d, seed %d: %s"):format(
      i, seed, problem or ("took %.1f s"):format(took_ns / 1e9)), 0)
  end
end
print(("fuzz_evidence: %d texts, the slowest in %.1f ms"):format(iterations, worst_ns / 1e6))
