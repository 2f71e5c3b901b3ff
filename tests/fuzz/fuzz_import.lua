-- T4 files with parts exchanged for odd ones: each is imported, and then can be
-- reported and exported, or is refused with a configuration error. SECONDS=10 says
-- how long. Run by make fuzz.
package.path = "tests/lib/?.lua;" .. package.path
local core = require "kernelband.core"
local export = require "kernelband.report.export"
local import = require "kernelband.report.import"
local markup = require "markup"
local report = require "kernelband.report"
local run = require "kernelband.store.run"
local schema = require "kernelband.base.schema"

local seconds = tonumber(os.getenv "SECONDS") or 10
local rng = core.rng(math.tointeger(tonumber(os.getenv "SEED") or 1))
local dir = assert(core.system.temp_dir())

local whole = [[{"metadata": {"timeunit": "miliseconds", "kernelband": {"task": "a", "seed": 3,
 "strategies": "x y", "machine": {"cpu": "c"}, "started": "2026-01-02T03:04:05Z"}},
 "schema_version": "1.0.0", "results": [
 {"configuration": {"x": 2, "y": "z"}, "times": {"compilation": 9, "runtimes": [4.0, 4.2]},
  "invalidity": "correct", "correctness": 1, "objectives": ["time"],
  "measurements": [{"name": "time", "value": 4.0, "unit": ""}],
  "kernelband": {"child": 1, "verdict": "ok", "source": "s", "speedup": 1}},
 {"configuration": {"x": 3, "y": "z"}, "times": {"runtimes": [2.0]}, "invalidity": "correct",
  "correctness": 1, "measurements": [{"name": "time", "value": 2.0, "unit": "ms"}],
  "kernelband": {"pull": 1, "parent": 1, "child": 2, "strategy": "x", "verdict": "ok",
   "reward": 0.5, "at_s": 1, "cluster": 2, "speedup": 2, "speedup_low": 1.9}},
 {"configuration": {"x": 4, "y": "z"}, "times": {"compilation": 1}, "invalidity": "compile",
  "correctness": 0, "kernelband": {"parent": 2, "strategy": "y", "reason": "no"}}]}]]

local odd = { "null", "true", "{}", "[]", "-1", "0", "1e308", "1e999", "-0.0", "1.5",
  "9007199254740993", '""', '"<script>"', '"\\u0000\\uD83D\\uDE00"', '"\255\254"', "[[[1]]]",
  '{"a":{"b":[1]}}', '"correct"', '"timeout"', '"miliseconds"', "[null,1]", '"../../x"' }

-- One value of the text, a key or not, for an odd one.
local function exchange(text)
  local places = {}
  for from, value, to in text:gmatch '()("[^"]*"%s*:?)()' do
    if value:sub(-1) ~= ":" then places[#places + 1] = { from, to } end
  end
  for from, to in text:gmatch "[%s%[]()[%d.]+()[,%]}]" do places[#places + 1] = { from, to } end
  for from, to in text:gmatch ":%s?()%b{}()" do places[#places + 1] = { from, to } end
  for from, to in text:gmatch ":%s?()%b[]()" do places[#places + 1] = { from, to } end
  if #places == 0 then return text end
  local p = places[1 + rng:below(#places)]
  return text:sub(1, p[1] - 1) .. odd[1 + rng:below(#odd)] .. text:sub(p[2])
end

local deadline = core.system.now_ns() + seconds * 1e9
local runs, kept = 0, 0
while core.system.now_ns() < deadline do
  local text = whole
  for _ = 1, 1 + rng:below(4) do text = exchange(text) end
  if rng:below(20) == 0 then text = text:sub(1, rng:below(#text)) end
  local file, folder = dir .. "/t4", ("%s/%d"):format(dir, runs)
  assert(core.system.write_file(file, text))
  local ok, why = pcall(import.t4, file, folder)
  if ok then
    local done, failed = pcall(function()
      markup.harmless(report.html { folder })
      local j <close> = run.reader(folder, "anyway")
      for _, format in ipairs { "jsonl", "csv", "t4" } do export[format](j, function() end) end
    end)
    if not done then error(("%s\n%s"):format(text, failed), 0) end
    kept = kept + 1
  elseif not schema.is_config_error(why) then
    error(("%s\n%s"):format(text, tostring(why)), 0)
  end
  os.execute(("rm -rf '%s'"):format(folder))
  runs = runs + 1
end
os.execute(("rm -rf '%s'"):format(dir))
print(("fuzz_import: %d files, %d of them imported"):format(runs, kept))
