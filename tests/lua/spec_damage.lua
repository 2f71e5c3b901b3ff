-- A run.db whose bytes changed: found when it is opened, named, and what can be read
-- of it is still exported and reported.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local export = require "kernelband.report.export"
local journals = require "journals"
local report = require "kernelband.report"
local run = require "kernelband.store.run"
local worlds = require "worlds"

local exe = core.system.exe()
local base = t.folder()
local SEEDS = 40

kb.search { task = kb.synthetic { seed = 3 }, budget = { steps = 12 }, out = base .. "/short",
            policy = "policies/random.lua", quiet = true }
journals.write(base .. "/long", { pulls = 120, calls = true, usd = 0.01 })

-- A copy of a run in which `flips` bytes differ.
local function flipped(name, seed, flips)
  local bytes, rng = assert(core.system.read_file(base .. "/" .. name .. "/run.db")), core.rng(seed)
  local at = {}
  for _ = 1, flips do at[1 + rng:below(#bytes)] = 1 + rng:below(255) end
  local out, last, places = {}, 0, {}
  for i in pairs(at) do places[#places + 1] = i end
  table.sort(places)
  for _, i in ipairs(places) do
    out[#out + 1] = bytes:sub(last + 1, i - 1) .. string.char(bytes:byte(i) ~ at[i])
    last = i
  end
  out[#out + 1] = bytes:sub(last + 1)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  assert(core.system.write_file(dir .. "/run.db", table.concat(out)))
  return dir
end

local function exported(dir)
  local out = {}
  local j <close> = run.reader(dir, "anyway")
  for _, name in ipairs { "jsonl", "csv", "t4", "sft" } do
    out[name] = {}
    export[name](j, function(text) table.insert(out[name], text) end)
    out[name] = table.concat(out[name])
  end
  return j.damage, out
end

for _, case in ipairs { { "short", 12 }, { "long", 120 } } do
  local name, pulls = case[1], case[2]
  t.test(("200 changed bytes are found and the rest is read, of %d pulls"):format(pulls), function()
    local rows = 0
    for seed = 1, SEEDS do
      local dir = flipped(name, seed, 200)
      t.raises("is damaged", run.reader, dir)
      local damage, out = exported(dir)
      t.contains(damage, dir .. "/run.db is damaged (")
      t.contains(damage, " can be read")
      rows = rows + select(2, out.csv:gsub("\r\n", "")) - 1
      local html, told = report.html { dir }
      t.contains(told[1], dir .. "/run.db is damaged (")
      t.contains(html, "is damaged")
    end
    t.equal(rows > 0.5 * SEEDS * pulls, true, rows .. " pulls")
  end)
end

t.test("a whole run is called whole", function()
  for _, name in ipairs { "short", "long" } do
    local damage, out = exported(base .. "/" .. name)
    t.equal(damage, nil)
    t.equal(#out.csv > 1000, true)
    run.reader(base .. "/" .. name):close()
  end
end)

t.test("a changed byte in the source of a kernel or in a recorded text is found", function()
  for _, case in ipairs {
    { "short", "UPDATE kernels SET source = source || '1' WHERE id = 2", "source of kernel 2" },
    { "long", "UPDATE blobs SET bytes = CAST('x' AS BLOB) WHERE rowid = 3", "recorded text" },
    { "long", "UPDATE evaluations SET json = 'x' WHERE id = 2", "evaluation 2 is no JSON" } } do
    local dir = flipped(case[1], 1, 0)
    local db = assert(core.store(dir .. "/run.db"))
    assert(db:exec(case[2]))
    db:close()
    t.raises(case[3], run.reader, dir)
    t.contains((exported(dir)), case[1] == "short" and "12 pulls" or "120 pulls")
  end
end)

t.test("no verb shows a traceback or is silent about damage", function()
  local dir = flipped("short", 7, 200)
  for _, case in ipairs { { "resume %s", 2 }, { "verify %s", 2 }, { "export %s --jsonl", 1 },
                          { "export %s --csv", 1 }, { "report %s", 1 }, { "steer %s stop", 2 },
                          { "compare %s", 2 } } do
    local pipe = io.popen(("%s %s 2>&1 >/dev/null"):format(exe, case[1]:format(dir)))
    local text = pipe:read "a"
    local _, _, code = pipe:close()
    t.contains(text, "/run.db is damaged (")
    t.equal(select(2, text:gsub("\n", "")), 1, text)
    t.equal(code, case[2], case[1] .. ": " .. text)
  end
end)

t.test("a script that resumes a damaged run is answered with what to do", function()
  local dir = flipped("short", 8, 200)
  local before = run.resuming()
  run.resuming { folder = dir }
  local why = t.raises("is damaged (", kb.search, { task = kb.synthetic { seed = 3 },
    budget = { steps = 14 }, out = dir, policy = "policies/random.lua", quiet = true })
  t.contains(why, "kernelband export " .. dir .. " --jsonl")
  t.equal(why.config, true)
  run.resuming(before or {})
end)

t.test("a file that is no run.db is not repaired as one", function()
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  for _, bytes in ipairs { "", "x", ("not a database "):rep(2000) } do
    assert(core.system.write_file(dir .. "/run.db", bytes))
    local why = t.raises(dir .. "/run.db", run.reader, dir, "anyway")
    t.equal(why.config, true)
  end
end)

worlds.clean()
t.finish()
