-- This file tests lua/kernelband/trace/init.lua and the modules beside it that read recorded tuning
-- spaces. It checks the file formats, how a search moves through a space, and the refused files.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local system = kb.core.system
local json = require "kernelband.base.json"
local gzip = require "gzip"

local folder = t.folder()

local function keep(name, text)
  local file = folder .. "/" .. name
  assert(system.write_file(file, text))
  return file
end

-- KTT: x in 1..4, y in 1..3; time = 100 x + 10 y, (4, 3) fails to run.
local function ktt(edit)
  local results = {}
  for x = 1, 4 do
    for y = 1, 3 do
      local ok = not (x == 4 and y == 3)
      results[#results + 1] = {
        Status = ok and "Ok" or "ComputationFailed",
        Configuration = { { Name = "BLOCK_X", Value = x }, { Name = "TILE", Value = y },
                          { Name = "N", Value = 64 } },
        ComputationResults = ok and { {
          Duration = 100 * x + 10 * y, CompilationData = { RegistersCount = 51 },
          LocalSize = { X = 32, Y = x, Z = 1 },
          ProfilingData = { Counters = {
            { Name = "dram__throughput.avg.pct_of_peak_sustained_elapsed", Value = 40 },
            { Name = "smsp__issue_active.avg.pct_of_peak_sustained_active", Value = 80 },
            { Name = "sm__warps_active.avg.pct_of_peak_sustained_active", Value = 50 } } },
        } } or json.empty_list,
      }
    end
  end
  local d = { Metadata = { TimeUnit = "Microseconds", Device = "toy" }, Results = results }
  if edit then edit(d) end
  return json.encode(d)
end

local function t4()
  local results = {}
  for x = 1, 5 do
    results[x] = { configuration = { tile = x, fast = x % 2 == 0 }, invalidity = "correct",
      times = { runtimes = { x, x * 1.1, x * 0.9 } }, objectives = { "time" },
      measurements = { { name = "time", value = x, unit = "" } } }
  end
  results[6] = { configuration = { tile = 6, fast = true }, invalidity = "compile",
                 times = {}, measurements = {}, objectives = { "time" } }
  return json.encode { metadata = { timeunit = "miliseconds" }, results = results }
end

local function cache()
  return json.encode { device_name = "toy", tune_params_keys = { "bx", "tx" }, cache = {
    ["1,1"] = { bx = 1, tx = 1, time = 4, times = { 4, 4.2 } },
    ["2,1"] = { bx = 2, tx = 1, time = 2 },
    ["1,2"] = { bx = 1, tx = 2, time = "RuntimeFailedConfig" },
    ["2,2"] = { bx = 2, tx = 2, __error__ = "CompilationFailedConfig" } } }
end

local groups = { block = { "BLOCK_X" }, tile = { "TILE", target = "l2" } }
local toy = keep("toy.json", ktt())

local function search(task, steps, more)
  local options = { task = task, policy = "policies/random.lua", budget = { steps = steps or 20 } }
  for k, v in pairs(more or {}) do options[k] = v end
  return kb.search(options)
end

t.test("KTT output becomes a task that a search can run", function()
  local task = kb.trace(toy, { strategies = groups })
  t.equal(task.rows, 12)
  t.equal(task.valid, 11)
  t.equal(task.optimum_ns, 110000)
  local r = search(task, 40)
  t.equal(r.share_of_optimum, 1)
  t.equal(r.strategies, { "block", "tile" })
  t.near(r.time_ns, 110000, 1e-6)
end)

t.test("a child differs from its parent in the axes of its strategy only", function()
  local task = kb.trace(toy, { strategies = groups })
  local r = search(task, 30, { on_pull = function(p)
    if not p.child then return end
    local axis = p.strategy_name == "block" and "BLOCK_X" or "TILE"
    for _, name in ipairs { "BLOCK_X", "TILE", "N" } do
      if name == axis then
        assert(p.child.params[name] ~= p.parent.params[name])
      else
        t.equal(p.child.params[name], p.parent.params[name])
      end
    end
  end })
  assert(r.verdicts.ok >= 4)
end)

t.test("a recorded failure is a failed child with its verdict", function()
  local task = kb.trace(toy, { strategies = groups, start = { BLOCK_X = 4, TILE = 1 } })
  local r = search(task, 60)
  assert((r.verdicts.launch_failed or 0) > 0)
  local c = kb.trace(keep("cache.json", cache()), { start = { bx = 1, tx = 1 } })
  local verdicts = search(c, 30).verdicts
  assert(verdicts.launch_failed > 0 and verdicts.build_failed > 0)
end)

t.test("what was found before is a pull spent for nothing", function()
  local r = search(kb.trace(toy, { strategies = groups }), 60)
  t.equal(r.pulls, 60)
  assert(r.verdicts.no_candidate > 30)
end)

t.test("recorded counters become features, absent ones are missing", function()
  local seen
  search(kb.trace(toy, { strategies = groups }), 1, { seed = 3, on_pull = function(p)
    seen = p.parent
  end })
  t.near(seen.phi[2], 0.4)
  t.near(seen.phi[3], 0.8)
  t.near(seen.phi[5], 0.5)
  t.near(seen.phi[6], 0.2)
  t.equal(seen.phi_kind[2], "measured")
  t.equal(seen.phi_kind[9], "missing")
  t.equal(seen.h, { sm = 80, dram = 40 })
  t.equal(seen.h_kind.l2, "missing")
  t.near(seen.rho[1], math.log(seen.time_ns))
  t.equal(seen.signature[1], 1)
end)

t.test("T4: measured times are drawn from raw samples, confirmed ones are true", function()
  local file = keep("t4.json.gz", gzip(t4()))
  local spec = { strategies = { all = { "tile", "fast" } } }
  local off = 0
  for seed = 1, 8 do
    local r = search(kb.trace(file, spec), 12, { seed = seed, on_pull = function(p)
      if p.child and math.abs(p.child.time_ns / p.child.params.tile / 1e6 - 1) > 0.05 then
        off = off + 1
      end
    end })
    t.near(r.time_ns / 1e6, r.params.tile, 1e-9)
  end
  assert(off > 0)
  spec.noise = false
  search(kb.trace(file, spec), 12, { on_pull = function(p)
    if p.child then t.near(p.child.time_ns, 1e6 * p.child.params.tile, 1e-3) end
  end })
end)

t.test("the start is a function of the seed and lies in the slower half", function()
  local task = kb.trace(toy)
  local starts = {}
  for seed = 1, 40 do
    local source = task.environment { seed = seed }.source
    t.equal(task.environment { seed = seed }.source, source)
    local x, y = source:match "BLOCK_X=(%d) TILE=(%d)"
    local time = 100 * x + 10 * y
    assert(time >= 220 and time <= 410, source)
    starts[source] = true
  end
  assert(next(starts, next(starts)))
end)

t.test("a start may name flags", function()
  local file = keep("flags.json", t4())
  local task = kb.trace(file, { strategies = { all = { "tile", "fast" } },
                                start = { tile = 2, fast = true } })
  t.near(task.world.time_ns[task.world.start], 2e6, 1)
end)

t.test("without a spec each axis that varies is a strategy", function()
  local task = kb.trace(toy)
  t.equal(#task.strategies, 2)
  t.equal(task.strategies[1].name, "BLOCK_X")
end)

t.test("a cache that a killed tuner left open is read", function()
  local text = '{"device_name":"toy","tune_params_keys":["bx","tx"],"cache":{\n'
    .. '"1,1":{"bx":1,"tx":1,"time":4},\n"2,1":{"bx":2,"tx":1,"time":3},\n'
  t.equal(kb.trace(keep("open.json", text)).valid, 2)
end)

t.test("repeated configurations are one, their times joined", function()
  local file = keep("twice.json", ktt(function(d)
    local r = d.Results
    r[#r + 1] = { Status = "Ok", Configuration = r[1].Configuration,
                  ComputationResults = { { Duration = 112 } } }
  end))
  local task = kb.trace(file)
  t.equal(task.rows, 12)
  t.near(task.optimum_ns, 111000, 1e-6)
end)

t.test("bad files are errors with file and place", function()
  local function refused(name, text, ...)
    local file = keep(name, text)
    for _, part in ipairs { ... } do t.raises(part, kb.trace, file) end
    t.raises(name, kb.trace, file)
  end
  refused("empty.json", "", "the file is empty")
  refused("cut.json", ktt():sub(1, 700), "cut short", "line 1, column")
  refused("cut.json.gz", gzip(ktt()):sub(1, 100), "damaged or ends early")
  refused("foreign.json", '{"a": 1}', "neither KTT output")
  refused("list.json", "[1, 2]", "neither KTT output")
  refused("text.json", "hello", "not JSON")
  refused("deep.json", ("["):rep(2000) .. ("]"):rep(2000), "not JSON")
  refused("nan.json", (ktt():gsub('"Duration":110', '"Duration":NaN')),
          "Results[0]: ComputationResults[0].Duration must be a number above 0")
  refused("minus.json", (ktt():gsub('"Duration":110', '"Duration":-3')), "above 0")
  refused("axis.json", ktt(function(d)
    d.Results[5].Configuration = { { Name = "TILE", Value = 1 }, { Name = "N", Value = 64 } }
  end), "Results[4]: axis 'BLOCK_X' must be a number or a short text, got nothing")
  refused("unit.json", ktt(function(d) d.Metadata.TimeUnit = "Fortnights" end),
          "unknown unit of time")
  refused("one.json", ktt(function(d) d.Results = { d.Results[1] } end), "needs two valid")
  refused("none.json", ktt(function(d) d.Results = json.empty_list end), "Results is empty")
  refused("far.json", ktt(function(d) d.Results = { d.Results[1], d.Results[5] } end),
          "no two recorded configurations differ in one axis")
  t.raises("no such file", kb.trace, folder .. "/absent.json")
end)

t.test("bad specs are errors that name what is nearest", function()
  t.raises("has no axis 'TILES' (did you mean 'TILE'?)", kb.trace, toy,
           { strategies = { tile = { "TILES" } } })
  t.raises("moves nothing", kb.trace, toy, { strategies = { n = { "N" } } })
  t.raises("one strategy owns it", kb.trace, toy,
           { strategies = { a = { "TILE" }, b = { "TILE" } } })
  t.raises("unknown option 'strategy'", kb.trace, toy, { strategy = {} })
  t.raises("target: expected one of", kb.trace, toy,
           { strategies = { a = { "TILE", target = "x" } } })
  t.raises("no such configuration", kb.trace, toy, { start = { BLOCK_X = 9, TILE = 1 } })
  t.raises("recorded as launch_failed", kb.trace, toy, { start = { BLOCK_X = 4, TILE = 3 } })
  t.raises("no axis 'TILER'", kb.trace, toy, { start = { TILER = 1 } })
end)

t.test("a strategy without a move from a parent is closed for it", function()
  local file = keep("island.json", ktt(function(d)
    local keepers = {}
    for _, r in ipairs(d.Results) do
      if r.Configuration[1].Value < 4 or r.Configuration[2].Value == 1 then
        if r.Configuration[1].Value == 4 then r.Configuration[2].Value = 9 end
        keepers[#keepers + 1] = r
      end
    end
    d.Results = keepers
  end))
  local task = kb.trace(file, { start = { BLOCK_X = 4, TILE = 9 } })
  local r = search(task, 10)
  t.equal(r.pulls, 0)
  t.equal(r.speedup, 1)
end)

t.test("of several draws a policy proposes the one it prefers", function()
  local file = keep("prefers.lua", [[
    return { name = "prefers", summary = "s", defaults = {}, new = function(_, ctx)
      local all = {}
      return { admit = function(k) all[#all + 1] = k end, learn = function() end,
               choose = function() return all[1], 1 end,
               prefer = function(points)
                 local at = 1
                 for i, p in ipairs(points) do
                   if p.BLOCK_X < points[at].BLOCK_X then at = i end
                 end
                 return at
               end }
    end }]])
  local function first_child(draws, seed)
    local task = kb.trace(toy, { strategies = groups, draws = draws,
                                 start = { BLOCK_X = 4, TILE = 1 } })
    return search(task, 1, { policy = file, seed = seed, confirm = false }).params.BLOCK_X
  end
  local one, many = {}, {}
  for seed = 1, 20 do
    local a, b = first_child(1, seed), first_child(16, seed)
    one[a], many[b] = true, true
  end
  t.equal(one, { true, true, true })
  t.equal(many, { true }, "of 16 draws one is the smallest")
end)

t.test("with all children listed and anew a policy reaches any configuration", function()
  local task = kb.trace(toy, { strategies = groups, draws = "all", anew = true })
  t.equal(task.strategies[#task.strategies].name, "anew")
  local r = search(task, task.valid, { policy = "policies/kernelband.lua" })
  local params = {}
  for _, row in ipairs(r.rows) do assert(row.verdict ~= "no_candidate", row.reason) end
  t.equal(r.share_of_optimum, 1, params)
  t.raises("draws", kb.trace, toy, { draws = 65 })
  t.raises("anew", kb.trace, toy, { strategies = { anew = { "TILE" } }, anew = true })
end)

t.test("a configuration under way is not drawn a second time", function()
  for _, name in ipairs { "kernelband", "ucb1", "random" } do
    local verdict, r = {}, search(kb.trace(toy), 25, { policy = "policies/" .. name .. ".lua",
                                                       parallel = 8 })
    for _, row in ipairs(r.rows) do verdict[row.n] = row.verdict end
    for _, row in ipairs(r.rows) do
      local before = row.reason and row.reason:match "gave the candidate of pull (%d+)"
      assert(not before or verdict[tonumber(before)] ~= "ok", name)
    end
  end
end)

t.test("evaluations overlap without changing what they are", function()
  local task = kb.trace(toy)
  local function rows(parallel)
    local out = {}
    for i, row in ipairs(search(task, 20, { parallel = parallel }).rows) do
      out[i] = ("%d %s %s"):format(row.parent, row.strategy, row.verdict)
    end
    return table.concat(out, "\n")
  end
  t.equal(rows(4), rows(4))
end)

t.test("a run of the built-in generator is a space: its folder or its run.db", function()
  local task = kb.trace(keep("of_run.json", ktt()))
  local out = folder .. "/run_as_space"
  local r = kb.search { task = task, budget = { steps = 12 }, seed = 3, out = out,
                        policy = "policies/random.lua" }
  for _, name in ipairs { out, out .. "/run.db" } do
    local again = kb.trace(name)
    t.equal(again.name, "run_as_space")
    t.equal(again.axes, { "BLOCK_X", "N", "TILE" })
    t.equal(again.rows >= r.verdicts.ok and again.rows <= 13, true)
    local start = kb.trace(name, { start = "baseline" })
    local found = kb.search { task = start, budget = { steps = 60 }, confirm = false }
    t.near(found.speedup * found.share_of_optimum ^ -1, start.world.time_ns[1] / start.optimum_ns,
           1e-6)
  end
end)

t.test("a folder that holds no run, and a run without parameters, are refused", function()
  t.raises("holds no run", kb.trace, folder)
  local out = folder .. "/no_parameters"
  kb.search { task = kb.synthetic {}, budget = { steps = 3 }, out = out }
  t.raises("no tuning space", kb.trace, out)
end)

t.finish()
