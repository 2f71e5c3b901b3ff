-- Kernel Tuner's strategies on recorded spaces: runs them (tuners.py says how) and prints
-- tests/bench/tuners.tsv, which tests/bench/policies.lua holds our policies against. It
-- takes hours of one processor: the figures are kept, not taken anew.
--   kernelband run tests/bench/bench_tuners.lua DATA RAW [seeds] > tests/bench/tuners.tsv
-- DATA: a folder of recorded spaces (*.json.gz). RAW: a file that the runs are added to; a
-- bench that was stopped goes on where it was, and one over a whole RAW only prints.
-- KERNELBAND_PYTHON: a python with kernel_tuner 1.5.0, scikit-learn, scikit-optimize and
-- pyatf 0.0.13 (else python3).
local kb   = require "kernelband"
local json = require "kernelband.base.json"
local path = require "kernelband.base.path"

local data, raw = arg[1], arg[2]
if not raw then
  print "tuners: no folder of recorded spaces and no file for the runs: skipped"
  return
end
local seeds, at = tonumber(arg[3] or 50) // 1 | 0, { 20, 60, 200 }
local python = os.getenv "KERNELBAND_PYTHON" or "python3"
local version = io.popen(("'%s' -c 'import importlib.metadata as m; "
  .. "print(m.version(\"kernel_tuner\"), m.version(\"pyatf\"))' 2>&1"):format(python)):read "l"
if not version or not version:find "^%d[%d.]* %d[%d.]*$" then
  print(("tuners: %s has no kernel_tuner or no pyatf: skipped"):format(python))
  return
end

local function written()
  local out, null = {}, require("cjson").null
  for i, name in ipairs(assert(path.files(data, ".json.gz"))) do
    local task, rows = kb.trace(name), {}
    local W = task.world
    for r = 1, W.n do
      local row = {}
      for a = 1, #W.axes do row[a] = W.values[a][r] end
      row[#row + 1] = W.verdict[r] == "ok" and W.time_ns[r] / 1e6 or null
      rows[r] = row
    end
    out[i] = { name = task.name:gsub("%.json$", ""), axes = W.axes, rows = rows }
  end
  local file = os.tmpname()
  assert(kb.core.system.write_file(file, json.encode(out)))
  return file
end

local file = written()
os.execute(("PYTHONHASHSEED=0 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 '%s' "
  .. "tests/bench/tuners.py %s %d '%s' %s 1>&2"):format(python, file, seeds, raw,
                                                        table.concat(at, " ")))
os.remove(file)

local cells, keys = {}, {}
for line in io.lines(raw) do
  local space, name, steps, seed, share = line:match "^(%S+)\t(%S+)\t(%d+)\t(%d+)\t(%S+)$"
  if share and tonumber(seed) <= seeds then
    local key = ("%s\t%s\t%3d"):format(space, name, steps)
    if not cells[key] then cells[key], keys[#keys + 1] = {}, key end
    table.insert(cells[key], tonumber(share))
  end
end
table.sort(keys)

print(([[
# Kernel Tuner %s (pyatf %s) in its simulation mode on recorded tuning spaces, every strategy
# with its default options, a random start, T evaluations of configurations not met before.
# Printed by tests/bench/bench_tuners.lua; bench_tuners.lua and tuners.py say how it is run.
#   space      the recorded space, a file of the folder
#   strategy   Kernel Tuner's name; pyatf_X is pyatf_strategies with searchtechnique X
#   T          evaluations
#   seeds      runs that count
#   mean       mean over the runs of best recorded time / best time found; 0: nothing valid
#   error      its standard error]]):format(version:match "(%S+) (%S+)"))
print "space\tstrategy\tT\tseeds\tmean\terror"
for _, key in ipairs(keys) do
  local sum, squares, list = 0, 0, cells[key]
  for _, share in ipairs(list) do sum = sum + share end
  local mean = sum / #list
  for _, share in ipairs(list) do squares = squares + (share - mean) ^ 2 end
  print(("%s\t%d\t%.4f\t%.4f"):format(key:gsub("\t +", "\t"), #list, mean,
        #list > 1 and (squares / (#list - 1) / #list) ^ 0.5 or 0))
end
