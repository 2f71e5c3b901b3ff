-- This file tests lua/kernelband/bench/sweep.lua and lua/kernelband/bench/compare.lua. It checks
-- the rows of a sweep, how an interrupted sweep continues, and the comparison of rows.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core, json = kb.core, require "kernelband.base.json"
local compare = kb.compare

local folder = t.folder()

local function keep(name, text)
  assert(core.system.write_file(folder .. "/" .. name, text))
  return folder .. "/" .. name
end

-- A small space of three axes in our own format.
local function space(seed)
  local rng, lines = core.rng(seed), { json.encode { kernelband = "trace", version = 1,
    task = "toy", language = "c", device = "toy", axes = { "a", "b", "c" } } }
  for a = 1, 6 do
    for b = 1, 6 do
      for c = 1, 3 do
        local fails = rng:uniform() < 0.1
        lines[#lines + 1] = json.encode { c = { a, b, c }, v = fails and "wrong" or "ok",
          t = not fails and 100 + 40 * math.abs(a - 4) + 30 * math.abs(b - 2) + 20 * c
              + 10 * rng:uniform() or nil }
      end
    end
  end
  return keep(("space%d.jsonl"):format(seed), table.concat(lines, "\n") .. "\n")
end

local one, two = space(1), space(2)
local spaces = { kb.trace(one), kb.trace(two) }

local function sweep(more)
  local o = { spaces = spaces, policies = { "policies/random.lua" }, seeds = 6, steps = 20,
              quiet = true }
  for k, v in pairs(more or {}) do o[k] = v end
  return kb.sweep(o).rows
end

t.test("a sweep has a row for every space, cell and seed, in that order", function()
  local rows = sweep { policies = { "policies/random.lua", { file = "policies/kernelband_v2.lua",
    name = "v2" } }, baselines = { "oracle", "sample", "arms" } }
  t.equal(#rows, 2 * 6 * (2 + 1 + 1 + 3))
  t.equal(rows[1].cell, "oracle")
  t.equal(rows[1].space, "space1")
  t.equal(rows[#rows].cell, "v2")
  t.equal(rows[#rows].seed, 6)
  t.equal(sweep(), sweep())
end)

t.test("a row agrees with the search it stands for", function()
  for _, row in ipairs(sweep()) do
    local task = row.space == "space1" and spaces[1] or spaces[2]
    local r = kb.search { task = task, policy = "policies/random.lua", budget = { steps = 20 },
                          seed = row.seed, confirm = false }
    t.near(row.best[#row.best][2], r.share_of_optimum, 1e-5)
    t.equal(row.pulls, r.pulls)
    t.equal(row.arms, r.arms)
  end
end)

t.test("a grid is laid over every policy, all combinations", function()
  local rows = sweep { policies = { "policies/kernelband_v2.lua" }, seeds = 1,
    grid = { c = { 0.1, { name = "two", value = 2 } }, clusters = { 1, "each" } } }
  local cells = {}
  for i = 1, 4 do cells[i] = rows[i].cell end
  t.equal(cells, { "kernelband_v2 c=0.1 clusters=1", "kernelband_v2 c=0.1 clusters=each",
                   "kernelband_v2 c=two clusters=1", "kernelband_v2 c=two clusters=each" })
end)

t.test("a stage sees the rows before it and may drop what lost", function()
  local seen
  local rows = sweep { stages = {
    { policies = { "policies/random.lua", "policies/kernelband_v2.lua" }, seeds = 3 },
    function(so_far)
      seen = #so_far
      return { policies = { "policies/kernelband_v2.lua" }, seeds = 5 }
    end,
    function() return nil end,
  } }
  t.equal(seen, 12)
  t.equal(#rows, 12 + 4)                -- three seeds of five were there
  t.equal(rows[#rows].stage, 2)
end)

local script = keep("sweep.lua", ([[
local kb = require "kernelband"
local json = require "kernelband.base.json"
local first = kb.sweep { spaces = { kb.trace(%q) }, policies = { "policies/random.lua" },
                         seeds = 3, steps = 5, quiet = true }
assert(#first.rows == 3)                -- in the children, too
local r = kb.sweep { spaces = { kb.trace(%q), kb.trace(%q) }, quiet = true, seeds = 40,
  policies = { "policies/random.lua", { file = "policies/random.lua", name = "own reward",
    reward = function(_, child) return child and #first.rows or 0 end } }, steps = 60,
  jobs = tonumber(arg[1]), out = arg[2] }
print(kb.core.system.hash(json.encode(r.rows)), #r.rows)
]]):format(one, one, two))

local function run(args)
  local pipe = assert(io.popen(("%s run %s %s 2>&1"):format(core.system.exe(), script, args)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

t.test("several processes give the rows of one", function()
  local alone = run "1"
  t.contains(alone, "160\n")
  t.equal(run "2", alone)
  t.equal(run("2 " .. folder .. "/several.jsonl"), alone)
end)

t.test("a sweep that was broken off goes on with what is there", function()
  local out = folder .. "/rows.jsonl"
  local whole = run("1 " .. out)
  local text = core.system.read_file(out)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  keep("rows.jsonl", table.concat(lines, "\n", 1, 100) .. "\n" .. lines[101]:sub(1, 40))
  keep("rows.jsonl.part2", lines[120] .. "\n")
  t.equal(run("2 " .. out), whole)
  assert(core.system.read_file(out) == text)
  assert(not core.system.exists(out .. ".part2"))
end)

t.test("wrong options are errors that say which", function()
  t.raises("unknown option 'polices'", kb.sweep, { spaces = spaces, polices = {} })
  t.raises("two spaces are called", kb.sweep, { spaces = { spaces[1], spaces[1] } })
  t.raises("spaces must be tasks of kb.trace", kb.sweep, { spaces = { { name = "x" } } })
  t.raises("grid.c must be a list", sweep, { grid = { c = 1 } })
  t.raises("alpho", sweep, { policies = { "policies/kernelband_v1.lua" },
                             grid = { alpho = { 1 } } })
  t.raises("one of", sweep, { baselines = { "best" } })
  t.raises("a stage must be", sweep, { stages = { function() return 1 end } })
  t.raises("field of a policy 'fil'", sweep, { policies = { { fil = "x" } } })
  keep("foreign.jsonl", "hello\n")
  t.raises("foreign.jsonl: line 1: no row of a sweep", sweep, { out = folder .. "/foreign.jsonl" })
end)

-- Rows whose figures are known by hand.
local function row(cell, name, seed, best, more)
  local r = { key = cell .. name .. seed, space = name, cell = cell, policy = cell, seed = seed,
              steps = 10, pulls = 10, best = best, choices = cell .. seed }
  for k, v in pairs(more or {}) do r[k] = v end
  return r
end

t.test("the table's figures are what they say", function()
  local rows = {}
  for seed = 1, 4 do
    rows[#rows + 1] = row("a", "x", seed, { { 0, 0.5 }, { 6, 0.9 } })
    rows[#rows + 1] = row("a", "y", seed, { { 0, 0.4 } })
    rows[#rows + 1] = row("b", "x", seed, { { 0, 0.5 }, { 3, 1 } }, { choices = "a" .. seed })
    rows[#rows + 1] = row("b", "y", seed, { { 0, 0.4 } }, { choices = "a" .. seed })
    rows[#rows + 1] = row("arm q", "x", seed, { { 0, 0.5 } }, { policy = "baseline" })
  end
  local s = compare.table(rows, { at = { 5, 10 } })
  t.equal(s.reference, "a")
  local a, b, arm = s.cells[1], s.cells[2], s.cells[3]
  t.near(a.at[10].value, math.sqrt(0.9 * 0.4))
  t.near(a.at[5].value, math.sqrt(0.5 * 0.4))
  t.near(a.area.value, math.sqrt((5 * 0.5 + 5 * 0.9) / 10 * 0.4))
  t.near(a.regret, 0.5 - 0.7)
  t.equal(b.same, "a")
  t.near(b.against.value, math.sqrt(0.4) - math.sqrt(0.36))
  t.equal(b.against.sure, true)
  t.equal(arm.spaces, 1)
  t.equal({ a.to90, b.to90, arm.to90 }, { 6, 3, math.huge })
  local text = compare.text(s, true)
  t.contains(text, "same choices as a")
  t.contains(text, "1 of 2 spaces")
end)

t.test("a space may have any name", function()
  local rows = { row("a", "steps", 1, { { 0, 0.5 } }), row("a", "steps", 2, { { 0, 0.7 } }) }
  t.near(compare.table(rows).cells[1].space.steps, 0.6)
end)

t.test("a difference that seeds explain is called chance", function()
  local rows, rng = {}, core.rng(5)
  for seed = 1, 30 do
    rows[#rows + 1] = row("a", "x", seed, { { 0, 0.5 + 0.2 * rng:normal() / 4 } })
    rows[#rows + 1] = row("b", "x", seed, { { 0, 0.5 + 0.2 * rng:normal() / 4 } })
  end
  t.equal(compare.table(rows).cells[2].against.sure, false)
  t.contains(compare.text(compare.table(rows)), "may be chance")
end)

t.test("one seed says nothing of chance", function()
  local d = compare.table { row("a", "x", 1, { { 0, 0.5 } }), row("b", "x", 1, { { 0, 0.7 } }) }
            .cells[2].against
  t.near(d.value, 0.2)
  t.equal({ d.sure, d.chance }, { false })
end)

t.test("the comparison is also a page that needs nothing else", function()
  local rows = sweep { seeds = 2, policies = { { file = "policies/random.lua", name = "a<b>" } } }
  local page = require("kernelband.report.compare_page").html(compare.table(rows), rows)
  t.contains(page, "a&lt;b&gt;")
  t.contains(page, "<svg")
  assert(not page:find("http://", 1, true) or page:find "http://www.w3.org")
end)

t.test("foreign rows are refused with file and line", function()
  local file = keep("bad.jsonl", '{"space":"x","cell":"a","seed":1,"best":[[1,2]]}\n')
  t.raises("line 1: no row of a sweep: best[1]: expected a pair of a pull and a share",
           compare.load, { file })
  t.raises("no such file or run", compare.load, { folder .. "/absent" })
  t.raises("there is no cell 'rondom'", compare.table, sweep { seeds = 2 },
           { against = "rondom" })
end)

t.test("runs are compared on what they found", function()
  for seed = 1, 2 do
    kb.search { task = kb.synthetic { seed = 7 }, policy = "policies/random.lua", seed = seed,
                budget = { steps = 12 }, out = folder .. "/run" .. seed }
  end
  local rows = compare.load { folder .. "/run1", folder .. "/run2" }
  t.equal(#rows, 2)
  local top = math.max(rows[1].best[#rows[1].best][2], rows[2].best[#rows[2].best][2])
  t.near(top, 1)
  local pipe = assert(io.popen(("%s compare %s/run1 %s/run2 --at 12 --tsv 2>&1"):format(
    core.system.exe(), folder, folder)))
  local text = pipe:read "a"
  pipe:close()
  t.contains(text, "T = 12")
end)

t.test("a disk that is full ends a sweep in words, and the next one goes on with it", function()
  local small = folder .. "/small"
  assert(core.system.mkdir_p(small))
  if not os.execute(("mount -t tmpfs -o size=64k tmpfs %s 2>/dev/null"):format(small)) then
    return print "skipped: a small file system needs root to mount"
  end
  local unmount <close> = setmetatable({}, { __close = function()
    os.execute("umount -l " .. small)
  end })
  -- What is left is not a multiple of a row: the last one is cut off.
  assert(core.system.write_file(small .. "/ballast", ("x"):rep(49152)))
  local out = small .. "/rows.jsonl"
  t.contains(t.raises("No space left", sweep, { out = out, seeds = 40 }), out .. ".part1")
  local left = assert(core.system.read_file(out .. ".part1"))
  t.equal(#left > 1000 and left:sub(-1) ~= "\n", true, #left .. " bytes")
  os.remove(small .. "/ballast")
  assert(core.system.write_file(out .. ".part1", left:sub(1, 8000)))
  t.equal(sweep { out = out, seeds = 10 }, sweep { seeds = 10 })
  return unmount
end)

t.finish()
