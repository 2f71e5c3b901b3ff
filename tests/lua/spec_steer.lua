-- What people say to a running search, and that a replay hears it at the same pull.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local run = require "kernelband.store.run"
local steer = require "kernelband.search.steer"
local worlds = require "worlds"

local exe = core.system.exe()

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, how, code = pipe:close()
  return how == "signal" and 128 + code or code, text
end

local function rows(dir, sql)
  local reader = run.reader(dir)
  local out = reader:rows(sql)
  reader:close()
  return out
end

-- A search whose on_pull says `words[n]` to it from another process after pull n.
local function search(dir, words, more)
  local options = { task = kb.synthetic { seed = 5 }, seed = 2, budget = { steps = 30 },
                    out = dir, policy = "policies/random.lua", quiet = true, on_pull = function(p)
    if words[p.n] then
      local code, text = shell("%s steer %s %s", exe, dir, words[p.n])
      assert(code == 0, text)
      words[p.n] = nil
    end
  end }
  for k, v in pairs(more or {}) do options[k] = v end
  local r = kb.search(options)
  return r
end

t.test("words are read, and what is wrong with them is said", function()
  t.equal({ steer.parse " pause " }, { "pause", "" })
  t.equal({ steer.parse "pin 12" }, { "pin", 12 })
  t.equal({ steer.parse "pin none" }, { "pin", "none" })
  t.equal({ steer.parse "hint use  shared memory" }, { "hint", "use  shared memory" })
  t.equal(select(2, steer.parse "halt"), "'halt' is no command")
  t.equal(select(2, steer.parse "veto"), "veto needs a word more")
  t.equal(select(2, steer.parse "stop now"), "stop stands alone, got 'now'")
  t.equal(select(2, steer.parse "pin x"), "pin: expected a kernel's number, or none")
  t.contains(select(2, steer.parse("hint " .. ("x"):rep(5000))), "are too many")
end)

t.test("a vetoed strategy is not used again, an allowed one is", function()
  local r = search(worlds.folder(), { [5] = "veto tiling", [6] = "veto fusion",
                                      [11] = "allow tiling" })
  local late = 0
  for _, row in ipairs(r.rows) do
    if row.n > 5 and row.n <= 11 then assert(row.strategy ~= "tiling", row.n) end
    if row.n > 6 then assert(row.strategy ~= "fusion", row.n) end
    if row.n > 11 and row.strategy == "tiling" then late = late + 1 end
  end
  assert(late > 0)
end)

t.test("what a model is asked is steered too, though it is open for every pair", function()
  local function verdict()
    return { verdict = "ok", time_ns = 1, baseline_ns = 1, speedup = 1, shapes = {}, evidence = {} }
  end
  local strategies = {}
  for i, name in ipairs { "tiling", "fusion" } do
    strategies[i] = { name = name, target = "sm", summary = "", prompt = "", moves = {},
                      path = name }
  end
  local task = { name = "toy", summary = "", environment = function()
    return { strategies = strategies, source = "void toy(void) { }\n",
             evaluator = { baseline = verdict, evaluate = verdict, close = function() end },
             generator = {} }
  end }
  local r = search(worlds.folder(), { [4] = "veto tiling", [8] = "pin 1", [12] = "pin none",
                                      [13] = "allow tiling" },
    { task = task, budget = { steps = 30 }, generator = kb.generator.command { "sh", "-c",
      "cat > /dev/null; echo \"void toy(void) { step($$); }\"" } })
  local tiled, others = 0, 0
  for _, row in ipairs(r.rows) do
    t.equal(row.verdict, "ok")
    if row.n > 4 and row.n <= 13 then t.equal(row.strategy, "fusion") end
    if row.n > 8 and row.n <= 12 then t.equal(row.parent, 1) end
    if row.n > 13 and row.strategy == "tiling" then tiled = tiled + 1 end
    if row.n > 13 and row.parent ~= 1 then others = others + 1 end
  end
  assert(tiled > 0 and others > 0)
end)

t.test("a pinned kernel is every later child's parent", function()
  local r = search(worlds.folder(), { [8] = "pin 3", [20] = "pin none" })
  local others = 0
  for _, row in ipairs(r.rows) do
    if row.n > 8 and row.n <= 20 then t.equal(row.parent, 3) end
    if row.n > 20 and row.parent ~= 3 then others = others + 1 end
  end
  assert(others > 0)
end)

t.test("a hint reaches the generator, from then on", function()
  local seen = {}
  local generator = { name = "g", open = function() return true end, seen = function() end,
    propose = function(_, _, _, ctx)
      seen[ctx.pull] = table.concat(ctx.hints, "|")
      return { source = "tiling " .. ctx.pull, params = { 0, 0, 0, 0, 0, 0 } }
    end }
  search(worlds.folder(), { [2] = "hint 'try float4 loads'", [4] = "hint 'and unroll'" },
         { generator = generator, budget = { steps = 6 } })
  t.equal(seen[2], "")
  t.equal(seen[3], "try float4 loads")
  t.equal(seen[5], "try float4 loads|and unroll")
end)

t.test("stop ends the run in good order, to be gone on with", function()
  local dir = worlds.folder()
  local r = search(dir, { [7] = "stop" })
  t.equal({ r.pulls, r.state }, { 7, "interrupted" })
  run.resuming(dir)
  t.equal(search(dir, {}).pulls, 30)
end)

t.test("a steered run that is killed and resumed equals one that was not", function()
  local words = { [3] = "veto tiling", [6] = "pin 2", [9] = "pin none", [11] = "veto fusion",
                  [14] = "allow tiling" }
  local function again() return table.move(words, 1, 14, 1, {}) end
  for parallel = 1, 3, 2 do
    local whole = worlds.folder()
    local straight = search(whole, again(), { parallel = parallel })
    local dir = worlds.folder()
    local said = again()
    local function until_pull(n)
      return function(p)
        if said[p.n] then
          assert(shell("%s steer %s %s", exe, dir, said[p.n]) == 0)
          said[p.n] = nil
        end
        if p.n == n then error "enough" end
      end
    end
    pcall(search, dir, {}, { parallel = parallel, on_pull = until_pull(7) })
    run.resuming(dir)
    pcall(search, dir, {}, { parallel = parallel, on_pull = until_pull(12) })
    local r = search(dir, said, { parallel = parallel })
    t.equal(r.rows, straight.rows)
    local heard = "SELECT text FROM events WHERE kind = 'steer' ORDER BY id"
    t.equal(#rows(dir, heard), 5)
    if parallel == 1 then t.equal(rows(dir, heard), rows(whole, heard)) end
  end
end)

t.test("steering between two sessions takes effect when the run goes on", function()
  local dir = worlds.folder()
  pcall(search, dir, {}, { on_pull = function(p) if p.n == 6 then error "enough" end end })
  local code, text = shell("%s steer %s veto tiling", exe, dir)
  t.equal(code, 0)
  t.contains(text, "the run follows when it goes on")
  run.resuming(dir)
  for _, row in ipairs(search(dir, {}).rows) do
    if row.n > 6 then assert(row.strategy ~= "tiling") end
  end
end)

t.test("a paused search waits until it is resumed", function()
  local dir = worlds.folder()
  local script = worlds.file([[
local kb = require "kernelband"
local r = kb.search { task = kb.synthetic { seed = 5 }, budget = { steps = 20 }, out = %q,
  policy = "policies/random.lua", quiet = true, parallel = 3, on_pull = function(p)
    if p.landed == 5 then os.execute(%q) end end }
print(r.pulls, r.state)]], dir, exe .. " steer " .. dir .. " pause")
  local pipe = assert(io.popen(("%s run %s 2>&1"):format(exe, script)))
  local deadline = core.system.now_ns() + 60 * 10 ^ 9
  local function state() return rows(dir, "SELECT state FROM experiment")[1].state end
  while not core.system.exists(dir .. "/best.txt") or state() ~= "paused" do
    assert(core.system.now_ns() < deadline, "it did not pause")
    core.system.sleep_ns(20 * 10 ^ 6 // 1)
  end
  local n = rows(dir, "SELECT count(*) AS n FROM pulls")[1].n
  assert(n >= 5 and n <= 8, n)
  t.equal(shell("%s steer %s continue", exe, dir), 0)
  t.contains(pipe:read "a", "20\tdone")
  pipe:close()
  run.resuming(dir)
  t.equal(search(dir, {}, { parallel = 3, seed = 1, budget = { steps = 20 } }).pulls, 20)
end)

t.test("an impossible order is refused at once", function()
  local dir = worlds.folder()
  search(dir, {}, { budget = { steps = 2 } })
  for _, case in ipairs {
    { "veto tilling", "has no strategy 'tilling' (did you mean 'tiling'?)" },
    { "pin 99", "has no kernel 99" }, { "halt", "'halt' is no command" },
    { "stop", "no search is writing to " }, { "", "COMMAND is missing" },
  } do
    local code, text = shell("%s steer %s %s", exe, dir, case[1])
    t.equal(code, 2)
    t.contains(text, case[2])
  end
end)

worlds.clean()
t.finish()
