-- Kernels of some 4 us, 15 us, 300 us and 3 ms (on an H200) on a GPU, and one of eight short
-- shapes, each against itself: none is a win; in CUDA, and in Triton where Python has it. Run by
-- make check-gpu.
--   kernelband run tests/lua/gpu_aa.lua [EVALUATIONS of each, 50 [cuda | triton | cuda_4us ..]]
package.path = "tests/lib/?.lua;" .. package.path
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local kb     = require "kernelband"
local ratios = require "ratios"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  print "0 passed, 0 failed"
  return
end

local count, only = math.tointeger(tonumber(arg[1] or 50)), arg[2]
local dir = assert(core.system.temp_dir())

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

-- name -> elements, of each shape, and turns.
local list = {
  { "4us", { 1024 }, 1 }, { "15us", { 4 << 20 }, 1 }, { "300us", { 1 << 20 }, 13500 },
  { "3ms", { 1 << 20 }, 140000 },
  { "many", { 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072 }, 1 },
}

local function write(name, sizes, turns)
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
             timed = { %s } },
  exact = true,
  work = function(s) return { flops = 0, bytes = 8 * s.n } end,
  reference = { cuda = "reference.cu" }, baseline = { cuda = "baseline.cu" } }
]]):format(table.concat(lists.collect(sizes, function(n)
    return ("{ n = %d, turns = %d }"):format(n, turns)
  end), ", ")))
  return folder
end

-- The same in Triton, as an operator of TritonBench with its performance script.
local operator = [[
import torch
import triton
import triton.language as tl


@triton.jit
def hash_kernel(x_ptr, y_ptr, n, turns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + at, mask=at < n, other=0)
    for _ in range(turns):
        v = v * 1664525 + 1013904223
    tl.store(y_ptr + at, v, mask=at < n)


def hash(x, turns):
    y = torch.empty_like(x)
    hash_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), turns, BLOCK=256)
    return y


%s


def test_hash():
    return {str(n): hash(torch.arange(n, dtype=torch.int32, device='cuda'), 3)
            for n in (1, 37, 1021)}


result_gold = test_hash()
]]
local script = [[
import torch
from TritonBench_v1.hash import hash
from performance_utils import Performance_Metrics


class performance_metrics(Performance_Metrics):
    def __init__(self, **kwargs):
        super().__init__('hash', **kwargs)

    def get_input_tensors(self):
        self.input_tensors = [torch.randint(0, 1 << 30, (n,), dtype=torch.int32) for n in (%s,)]

    def to_cuda(self, input_tensor):
        return input_tensor.cuda()

    def call_op(self, input_tensor):
        return hash(input_tensor, %d)

    def get_gbps(self, input_tensor, runtime):
        return 8 * input_tensor.numel() / (runtime / 1000) / 1e9

    def get_tflops(self, input_tensor, runtime):
        return 0
]]

local function write_triton(name, sizes, turns)
  local folder = dir .. "/triton_" .. name
  for file, text in pairs { ["kernels/hash.py"] = operator:format(("#"):rep(146)),
                            ["perf/hash_perf.py"] = script:format(table.concat(sizes, ", "),
                                                                  turns) } do
    os.execute(("mkdir -p '%s/%s'"):format(folder, file:match "^[^/]+"))
    assert(core.system.write_file(folder .. "/" .. file, text))
  end
  return folder
end

-- A task, its device and its baseline's text, by kernel and language.
local function open(language, e)
  if language == "cuda" then
    local t = task.for_language(task.load(write(table.unpack(e))), "cuda")
    return t, "cuda:0", task.source(t, "baseline")
  end
  local folder = write_triton(table.unpack(e))
  local t = kb.import.tritonbench(folder .. "/kernels", { perf = folder .. "/perf" })[1]
  return t, "triton:0", t.source
end

local function has_triton()
  local python = os.getenv "KERNELBAND_PYTHON" or "python3"
  return os.execute(python .. " -c 'import torch, triton' >/dev/null 2>&1")
end

local function measure(language, e)
  local t, device, source = open(language, e)
  local w = worker.start { task = t, device = device }
  w.baseline()
  local rows, half, us = {}, {}, 0
  for i = 1, count do
    local out = assert(w.evaluate({ source = source }, {}))
    assert(out.verdict == "ok", out.reason)
    rows[i] = ratios.row(out)
    half[i], us = 50 * (out.speedup_high - out.speedup_low), out.time_ns / 1e3
  end
  w.close()
  local mean, se, sd = ratios.mean(rows)
  local wins, inside, seconds = ratios.count(rows)
  print(("%-6s %-5s %8.1f us  %d evaluations, %d wins, mean %+.2f +- %.2f %%, sd %.2f %%, 1 inside "
    .. "%d, half-width %.2f %%, %.2f s"):format(language, e[1], us, #rows, wins, 100 * mean,
    100 * se, 100 * sd, inside, core.stats.median(half), seconds))
  return wins
end

local all_wins = 0
for _, language in ipairs { "cuda", "triton" } do
  if only and not only:find(language, 1, true) then goto next end
  if language == "triton" and not has_triton() then
    print "triton: skipped: no Python with torch and triton (KERNELBAND_PYTHON)"
    goto next
  end
  for _, e in ipairs(list) do
    if not only or only == language or only == language .. "_" .. e[1] then
      all_wins = all_wins + measure(language, e)
    end
  end
  ::next::
end
print(all_wins == 0 and "1 passed, 0 failed" or "0 passed, 1 failed")
os.execute("rm -rf '" .. dir .. "'")
if all_wins > 0 then os.exit(1) end
