-- Kernels of some 4 us, 15 us, 300 us and 3 ms (on an H200) on a GPU, each against itself: none
-- is a win. Run by make check-gpu.
--   kernelband run tests/gpu_aa.lua [EVALUATIONS of each, 60]
local core   = require "kernelband.core"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  print "0 passed, 0 failed"
  return
end

local count = tonumber(arg[1]) or 60
local dir = assert(core.system.temp_dir())
local all_wins = 0

local kernel = [[
// kb: launch hash grid=(cdiv(n,256)) block=(256) args=(x, y, n, turns)

extern "C" __global__ void hash(const int *x, int *y, int n, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned v = (unsigned)x[i];
        for (int k = 0; k < turns; k++)
            v = v * 1664525u + 1013904223u;
        y[i] = (int)v;
    }
}
]]

-- name -> elements and turns.
local list = {
  { "4us", 1024, 1 }, { "15us", 4 << 20, 1 }, { "300us", 1 << 20, 13500 },
  { "3ms", 1 << 20, 140000 },
}

local function write(name, n, turns)
  local folder = dir .. "/" .. name
  os.execute("mkdir -p '" .. folder .. "'")
  local function put(file, text)
    local f = assert(io.open(folder .. "/" .. file, "w"))
    f:write(text)
    f:close()
  end
  put("baseline.cu", kernel)
  put("reference.cu", (kernel:gsub("launch hash ", "launch hash_f64 ")
                             :gsub("void hash", "void hash_f64")
                             :gsub("int %*y", "double *y"):gsub("%(int%)v", "(double)(int)v")))
  put("task.lua", ([[return { name = "hash", summary = "a linear congruence, turned over and over",
  args = { { "x", "i32", "in", { "n" } }, { "y", "i32", "out", { "n" } }, { "n", "i32" },
           { "turns", "i32" } },
  shapes = { smoke = { { n = 37, turns = 3 } }, held_out = { { n = 1021, turns = 2 } },
             timed = { { n = %d, turns = %d } } },
  exact = true,
  work = function(s) return { flops = 0, bytes = 8 * s.n } end,
  reference = { cuda = "reference.cu" }, baseline = { cuda = "baseline.cu" } }
]]):format(n, turns))
  return folder
end

for _, e in ipairs(list) do
  local t = task.for_language(task.load(write(table.unpack(e))), "cuda")
  local w = worker.start { task = t, device = "cuda:0" }
  w.baseline()
  local logs, wins, inside, half, seconds, us = {}, 0, 0, {}, {}, 0
  for i = 1, count do
    w.submit(i, { source = task.source(t, "baseline") }, {})
    local ticket, out, code
    repeat ticket, out, code = w.next(10 ^ 9 // 1) until ticket or code ~= "ETIME"
    assert(ticket, out)
    assert(out.verdict == "ok", out.reason)
    logs[i], seconds[i], us = math.log(out.speedup), out.seconds.total, out.time_ns / 1e3
    wins = wins + (out.win and 1 or 0)
    inside = inside + ((out.speedup_low <= 1 and 1 <= out.speedup_high) and 1 or 0)
    half[i] = 50 * (out.speedup_high - out.speedup_low)
  end
  w.close()
  all_wins = all_wins + wins
  local m, v = 0, 0
  for _, x in ipairs(logs) do m = m + x / #logs end
  for _, x in ipairs(logs) do v = v + (x - m) ^ 2 / math.max(1, #logs - 1) end
  print(("%-6s %8.1f us  %d evaluations, %d wins, mean %+.2f +- %.2f %%, sd %.2f %%, 1 inside %d, "
    .. "half-width %.2f %%, %.2f s"):format(e[1], us, #logs, wins, 100 * m,
    100 * math.sqrt(v / math.max(1, #logs)), 100 * math.sqrt(v), inside,
    #half > 0 and core.stats.median(half) or 0, #seconds > 0 and core.stats.median(seconds) or 0))
end
print(all_wins == 0 and "1 passed, 0 failed" or "0 passed, 1 failed")
os.execute("rm -rf '" .. dir .. "'")
if all_wins > 0 then os.exit(1) end
