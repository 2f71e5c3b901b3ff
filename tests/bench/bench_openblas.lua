-- What the demo's search on matmul ends with, beside OpenBLAS on one thread, in turns in
-- one process: medians of ratios, quartiles beside them.
--   kernelband run tests/bench/bench_openblas.lua [pulls [seeds [extra compiler flags]]]
-- A folder of sources (*.c) in the place of pulls is compared instead of searched. With
-- "-mno-avx512f" a machine with AVX-512 is one without it: for the search, which compiles by
-- those flags, and for OpenBLAS. Needs cc and OpenBLAS with its header (libopenblas-dev).
local kb   = require "kernelband"
local path = require "kernelband.base.path"

local core, stats, rounds = kb.core.system, kb.core.stats, 31
local folder = os.tmpname()
os.remove(folder)
assert(core.mkdir_p(folder))

local function sh(...)
  local pipe = assert(io.popen((...):format(select(2, ...))))
  local text = pipe:read "a"
  return pipe:close() and text or nil
end

local more = arg[3] or ""
if more ~= "" and not os.getenv "KERNELBAND_CC" then      -- again, with a compiler of those flags
  local cc = folder .. "/cc"
  assert(core.write_file(cc, ('#!/bin/sh\nexec cc "$@" %s\n'):format(more)))
  local blas = more:find("no-avx512f", 1, true) and "OPENBLAS_CORETYPE=Haswell" or ""
  os.execute(("chmod 755 %s %s && KERNELBAND_CC=%s %s '%s' run '%s' '%s' '%s' '%s'; rm -r %s")
    :format(folder, cc, cc, blas, core.exe(), arg[0], arg[1], arg[2], more, folder))
  return
end
local flags = "-std=gnu11 -O3 -march=native " .. more
local driver = folder .. "/time"
if not sh("cc -O2 -o %s tests/bench/openblas/time.c -lopenblas -ldl 2>%s/why", driver, folder) then
  print("openblas: cc, cblas.h or libopenblas is missing: skipped")
  return
end

local names, libraries = {}, {}
local function add(name, source)
  local n = #names + 1
  local file = ("%s/%d"):format(folder, n)
  assert(core.write_file(file .. ".c", source))
  assert(sh("cc %s -fPIC -shared -o %s.so %s.c", flags, file, file), name .. " does not build")
  names[n], libraries[n] = name, file .. ".so"
end

local task = kb.task "examples/tasks/matmul"
local pulls, seeds = tonumber(arg[1] or 48), tonumber(arg[2]) or 3
if not pulls then
  for _, file in ipairs(assert(path.files(arg[1], ".c"))) do add(file, core.read_file(file)) end
end
for seed = 1, pulls and seeds or 0 do
  local best = kb.search { task = task, device = "cpu", budget = { steps = pulls // 1 | 0 },
                           policy = "policies/kernelband.lua", seed = seed }
  add(("seed %d"):format(seed), best.source)
end

local products = {}
for i in ipairs(names) do products[i] = 1 end
print(("%-16s %-12s %s"):format("shape", "OpenBLAS", "ratio, quartiles"))
for _, s in ipairs(task.shapes.timed) do
  local text = assert(sh("%s %d %d %d %d %s", driver, rounds, s.m, s.n, s.k,
                         table.concat(libraries, " ")))
  local i, words = 0, {}
  for line in text:gmatch "[^\n]+" do
    local ratios = {}
    for r in line:gmatch "%S+" do ratios[#ratios + 1] = tonumber(r) end
    if #ratios == rounds then
      i = i + 1
      local median = stats.median(ratios)
      products[i] = products[i] * median
      words[i] = ("%.2f (%.2f to %.2f)"):format(median, stats.quantile(ratios, 0.25),
                                                stats.quantile(ratios, 0.75))
    else
      table.insert(words, 1, ("%-12s"):format(line:gsub("(%S+)$", "%1 GF")))
    end
  end
  print(("%-16s %s"):format(("%dx%dx%d"):format(s.m, s.n, s.k), table.concat(words, "   ")))
end
for i, name in ipairs(names) do
  print(("%-16s geometric mean over the shapes %.3f  (target 0.85)")
        :format(name, products[i] ^ (1 / #task.shapes.timed)))
end
sh("rm -r %s", folder)
