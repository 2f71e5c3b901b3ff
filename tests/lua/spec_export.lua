-- This file tests lua/kernelband/report/export.lua and lua/kernelband/report/import.lua. It checks
-- the export of a run as JSON lines, CSV, T4 and training pairs, and the import of T4.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local export = require "kernelband.report.export"
local import = require "kernelband.report.import"
local journals = require "journals"
local json = require "kernelband.base.json"
local report = require "kernelband.report"
local run = require "kernelband.store.run"
local worlds = require "worlds"

local exe = core.system.exe()

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return code, text
end

local function text_of(folder, format)
  local out = {}
  local j <close> = run.reader(folder, "anyway")
  local ok, why = export[format](j, function(s) out[#out + 1] = s end)
  return table.concat(out), ok, why
end

local made = worlds.folder()
journals.write(made, { pulls = 60, usd = 0.01, calls = true, texts = function(kind, i)
  if kind == "reason" then return i % 2 == 0 and '=cmd|"x",\n\xff' or nil end
end })

t.test("JSON lines hold every pull with its evaluation, and are UTF-8", function()
  local seen = {}
  local text = text_of(made, "jsonl")
  assert(utf8.len(text))
  for line in text:gmatch "[^\n]+" do
    local row = json.decode(line)
    seen[row.type] = (seen[row.type] or 0) + 1
    if row.type == "pull" then
      t.equal(row.evaluation.verdict, row.verdict)
      t.equal(type(row.params.tile), "number")
    end
  end
  t.equal(seen, { experiment = 1, baseline = 1, pull = 60, call = 60, event = seen.event })
end)

-- RFC 4180, as a spreadsheet reads it.
local function read_csv(text)
  local rows, row, at = {}, {}, 1
  while at <= #text do
    local cell
    if text:sub(at, at) == '"' then
      local out = {}
      at = at + 1
      while true do
        local stop = assert(text:find('"', at, true))
        out[#out + 1] = text:sub(at, stop - 1)
        at = stop + 1
        if text:sub(at, at) ~= '"' then break end
        out[#out + 1], at = '"', at + 1
      end
      cell = table.concat(out)
    else
      cell = text:match("^[^,\r\n]*", at)
      at = at + #cell
    end
    row[#row + 1] = cell
    if text:sub(at, at) == "," then at = at + 1
    else
      assert(text:sub(at, at + 1) == "\r\n", "a line ends with CR LF")
      rows[#rows + 1], row, at = row, {}, at + 2
    end
  end
  return rows
end

t.test("CSV has a row a pull, and no cell that a spreadsheet would run", function()
  local rows = read_csv((text_of(made, "csv")))
  t.equal(#rows, 61)
  t.equal(rows[1][1], "n")
  for i, row in ipairs(rows) do
    t.equal(#row, #rows[1])
    if i > 1 then assert(not row[6]:find "^[=+@-]", row[6]) end
  end
end)

local invalidity = { timeout = true, compile = true, runtime = true, correctness = true,
                     constraints = true, correct = true }

t.test("T4 is what its schema says", function()
  local d = json.decode((text_of(made, "t4")))
  assert(d.schema_version:find "^%d+%.%d+%.%d+$")
  t.equal(d.metadata.timeunit, "miliseconds")
  t.equal(#d.results, 61)
  for _, r in ipairs(d.results) do
    t.equal(type(r.timestamp), "string")
    t.equal(type(r.configuration.tile or r.configuration.source) ~= "nil", true)
    assert(invalidity[r.invalidity], r.invalidity)
    t.equal(r.correctness, r.invalidity == "correct" and 1 or 0)
    t.equal(r.objectives, { "time" })
    t.equal(r.measurements[1].name, "time")
    if r.invalidity == "correct" then
      t.equal(type(r.measurements[1].value), "number")
      assert(#r.times.runtimes >= 1)
    end
  end
end)

-- Equal but for the last digit of a figure that went through another unit.
local function near(a, b, where)
  if type(a) == "number" and type(b) == "number" then
    return t.near(a, b, 1e-9 * math.max(1, math.abs(a)))
  end
  if type(a) ~= "table" then return t.equal(b, a, where) end
  for k, v in pairs(a) do near(v, b[k], where .. "." .. k) end
  for k in pairs(b) do assert(a[k] ~= nil, where .. "." .. k) end
end

t.test("T4 that comes back is the run that went out", function()
  local folder, file = worlds.folder(), worlds.folder()
  local text = text_of(made, "t4")
  assert(core.system.write_file(file, text))
  t.equal(import.t4(file, folder), 61)
  near(json.decode(text), json.decode((text_of(folder, "t4"))), "t4")
  t.contains(report.html { folder }, "speed-up over the baseline")
  t.raises("already holds a run", import.t4, file, folder)
end)

local foreign = [[{"metadata": {"timeunit": "miliseconds"}, "schema_version": "1.0.0", "results": [
 {"configuration": {"x": 1}, "times": {"compilation": 900}, "invalidity": "compile",
  "correctness": 0, "measurements": [{"name": "time", "value": "CompilationFailedConfig"}]},
 {"configuration": {"x": 2}, "times": {"compilation": 900, "runtimes": [4.0, 4.2, 3.8]},
  "invalidity": "correct", "correctness": 1,
  "measurements": [{"name": "time", "value": 4.0, "unit": ""}], "objectives": ["time"]},
 {"configuration": {"x": 3}, "times": {"runtimes": [2.0]}, "invalidity": "correct",
  "correctness": 1},
 {"configuration": {"x": 4}, "times": null, "invalidity": "timeout", "correctness": 0}]}]]

local function import_text(text)
  local file, folder = worlds.folder(), worlds.folder()
  assert(core.system.write_file(file, text))
  import.t4(file, folder)
  return folder
end

t.test("a file of another tool: its first valid configuration is the baseline", function()
  local folder = import_text(foreign)
  local j <close> = run.reader(folder, "anyway")
  local kernels = j:rows "SELECT id, parent, speedup, source FROM kernels ORDER BY id"
  t.equal(#kernels, 2)
  t.equal(kernels[1].source, "x = 2\n")
  t.equal(kernels[2].parent, 1)
  t.near(kernels[2].speedup, 2)
  t.equal(j:rows "SELECT verdict FROM pulls ORDER BY n",
          { { verdict = "build_failed" }, { verdict = "ok" }, { verdict = "timeout" } })
end)

t.test("a file that is not T4, or hostile, is refused with the place", function()
  local huge = [[{"metadata": {"kernelband": {"machine": {"cpu": 1e999}}}, "results": [
    {"configuration": {"x": 1}, "times": {"runtimes": [4.0]}, "invalidity": "correct",
     "correctness": 1, "objectives": ["time"],
     "measurements": [{"name": "time", "value": 4.0, "unit": "ms"}]}]}]]
  import_text(huge)                     -- a number that is none names no machine
  t.raises("not JSON", import_text, "{")
  t.raises("not JSON", import_text, ("["):rep(100000))
  t.raises("expected T4", import_text, "[1]")
  t.raises("expected T4", import_text, '{"results": 7}')
  t.raises("none of its results is correct", import_text, '{"results": []}')
  t.raises("results[0]", import_text, '{"results": [7]}')
  t.raises("results[1]: 'invalidity' must be one of T4's, got \"odd\"", import_text,
           (foreign:gsub('"correct"', '"odd"', 1)))
  t.raises("above 0", import_text, (foreign:gsub("%[2%.0%]", "[-1]")))
  t.raises("finite", import_text, (foreign:gsub('"x": 3', '"x": [1e999]')))
  t.raises("unknown unit of time", import_text, (foreign:gsub('"miliseconds"', '"fortnights"')))
  local folder = import_text((foreign:gsub('"correctness": 1}',
    '"correctness": 1, "kernelband": {"child": {}, "parent": 1e300, "strategy": 7, '
    .. '"depth": "x", "reward": "y", "speedup": false, "source": ["no"]}}')))
  t.contains(report.html { folder }, "Provenance")
end)

t.test("training pairs are prompt, answer, verdict and reward", function()
  local n = 0
  for line in text_of(made, "sft"):gmatch "[^\n]+" do
    local row = json.decode(line)
    n = n + 1
    t.equal(row.prompt, "prompt " .. row.pull)
    t.equal(row.answer, "answer " .. row.pull)
    t.equal(type(row.verdict), "string")
    t.equal(type(row.reward), "number")
    t.equal(row.model, "m")
  end
  t.equal(n, 60)
end)

t.test("a run without model calls has no training pairs, and says so", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 3 })
  local code, text = shell("%s export %s --sft", exe, folder)
  t.equal(code, 1)
  t.contains(text, "no model calls")
  t.equal(text:find "traceback", nil)
end)

t.test("the command line", function()
  local code, text = shell("%s export %s --csv -o %s/x.csv && %s export %s --csv | cmp - %s/x.csv",
                           exe, made, made, exe, made, made)
  t.equal(code, 0, text)
  code, text = shell("%s export %s", exe, made)
  t.equal(code, 2)
  t.contains(text, "which format?")
  t.equal(shell("%s export %s --csv --t4", exe, made), 2)
  t.equal(shell("%s export /nowhere --csv", exe), 2)
  code, text = shell("%s export %s --csv > /dev/full", exe, made)
  t.equal(code, 1, text)
  code, text = shell("%s export %s --t4 -o %s/x.t4 && %s import %s/x.t4 -o %s/again", exe, made,
                     made, exe, made, made)
  t.equal(code, 0, text)
  t.contains(text, "61 results")
  code, text = shell("%s import %s/x.t4", exe, made)
  t.equal(code, 2)
  t.contains(text, "-o RUN")
end)

t.test("kb.trace reads the T4 we write", function()
  if not package.searchpath("kernelband.trace", package.path) then
    return print "kb.trace: not part of this build: skipped"
  end
  local kb = require "kernelband"
  assert(core.system.write_file(made .. "/space.json", (text_of(made, "t4"))))
  local result = kb.search { task = kb.trace(made .. "/space.json"), budget = { steps = 10 },
                             quiet = true, policy = "policies/random.lua" }
  assert(result.pulls > 0)
end)

worlds.clean()
t.finish()
