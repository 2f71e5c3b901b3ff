-- Readers of recorded spaces on damaged files: every one is a space or an error that
-- names the file, never a fault of ours.  SECONDS=60 kernelband run tests/fuzz/fuzz_trace.lua
package.path = "tests/lib/?.lua;" .. package.path
local kb     = require "kernelband"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"
local gzip   = require "gzip"
local core   = kb.core

local seconds = tonumber(os.getenv "SECONDS" or "10") / 4
local rng = core.rng(tonumber(os.getenv "SEED" or "1"))
local folder = assert(core.system.temp_dir())
local file = folder .. "/fuzz.json"

local function ktt()
  local results = {}
  for x = 1, 4 do
    for y = 1, 3 do
      results[#results + 1] = { Status = x < 4 and "Ok" or "ValidationFailed",
        Configuration = { { Name = "X", Value = x }, { Name = "Y", Value = y } },
        ComputationResults = x < 4 and { { Duration = 10 * x + y, LocalSize = { X = 1, Y = 2 },
          CompilationData = { RegistersCount = 5, LocalMemorySize = 10 },
          ProfilingData = { Counters = { { Name = "dram__sectors_read.sum", Value = 3 },
            { Name = "dram__sectors_write.sum", Value = 3 } } } } } or json.empty_list }
    end
  end
  return json.encode { Metadata = { TimeUnit = "Microseconds" }, Results = results }
end

local function t4()
  local results = {}
  for x = 1, 8 do
    results[x] = { configuration = { a = x % 4, b = x // 4 }, invalidity = "correct",
      times = { runtimes = { x, x + 1 } }, objectives = { "time" },
      measurements = { { name = "time", value = x } } }
  end
  return json.encode { metadata = { timeunit = "miliseconds" }, results = results }
end

local function cache()
  local c = {}
  for x = 1, 8 do
    c[x % 4 .. "," .. x // 4] = { a = x % 4, b = x // 4, time = x, times = { x, x } }
  end
  return json.encode { tune_params_keys = { "a", "b" }, cache = c }
end

local function own()
  local lines = { '{"kernelband":"trace","version":1,"axes":["a","b"],"strategies":'
    .. '[{"name":"s","axes":["a"]},{"name":"t","axes":["b"]}],"start":[1,1]}' }
  for x = 1, 8 do
    lines[#lines + 1] = ('{"c":[%d,%d],"v":"ok","t":%d,"s":[1,2],"phi":[1,2,3,4,5,6,7,8,9],'
      .. '"pk":"mmmmmmmm-","h":[1,2,3],"hk":"mm-"}'):format(x % 4, x // 4, x)
  end
  return table.concat(lines, "\n") .. "\n"
end

local junk = { "null", "-1", "1e999", "NaN", '"x"', "[]", "{}", "true", "0", '"', "}", "]", ",",
               "\n", "\0", "\255", "1e-400", ("9"):rep(400), ("["):rep(200), '{"a":1}' }

local function damaged(text)
  for _ = 1, 1 + rng:below(4) do
    local at, kind = 1 + rng:below(#text), rng:below(5)
    if kind == 0 then
      text = text:sub(1, at)
    elseif kind == 1 then
      text = text:sub(1, at - 1) .. junk[1 + rng:below(#junk)] .. text:sub(at)
    elseif kind == 2 then
      text = text:sub(1, at - 1) .. text:sub(at + 1 + rng:below(30))
    elseif kind == 3 then               -- one value for another
      local from, to = text:find("[%d%.]+", at)
      local word = junk[1 + rng:below(#junk)]
      if from then text = text:sub(1, from - 1) .. word .. text:sub(to + 1) end
    else
      text = text:sub(1, at - 1) .. string.char(rng:below(256)) .. text:sub(at + 1)
    end
    if #text == 0 then text = " " end
  end
  return text
end

local kinds, cases, read = { ktt, t4, cache, own }, 0, 0
local until_ns = core.system.now_ns() + math.floor(seconds * 1e9)
while core.system.now_ns() < until_ns do
  local text = damaged(kinds[1 + rng:below(#kinds)]())
  if rng:below(4) == 0 then
    text = gzip(text)
    if rng:below(2) == 0 then text = damaged(text) end
  end
  assert(core.system.write_file(file, text))
  cases = cases + 1
  local ok, why = pcall(function()
    local task = kb.trace(file)
    local r = kb.search { task = task, policy = "policies/random.lua", budget = { steps = 5 } }
    assert(r.share_of_optimum > 0 and r.share_of_optimum <= 1)
  end)
  if ok then read = read + 1 end
  if not ok and not (schema.is_config_error(why) and tostring(why):find("fuzz.json", 1, true)) then
    io.stderr:write("case ", cases, " kept as ", file, "\n", tostring(why), "\n")
    error "a reader failed in a way that is ours to mend"
  end
end
os.remove(file)
os.remove(folder)
print(("fuzz_trace: %d files, %d of them still spaces"):format(cases, read))
