-- kills.lua - the kill test, short in spec_resume and long in soak_kill: a search is
-- killed with SIGKILL at random moments; each time its journal must be whole, hold every
-- pull that was told to have landed, and go on.
local core = require "kernelband.core"
local run = require "kernelband.store.run"

local kills = {}

local script = [[
local kb = require "kernelband"
local told = assert(io.open(arg[1] .. ".told", "a"))
kb.search {
  task = kb.synthetic { seed = 3 }, seed = 4, budget = { steps = 1000000 }, out = arg[1],
  policy = "policies/random.lua", parallel = 3, quiet = true,
  on_pull = function(p)
    if not p.row then                   -- not one of the journal's
      told:write(p.n, "\n")
      told:flush()
    end
  end }
]]

local function count(reader, sql) return reader:rows(sql)[1].n end

-- Numbers of the pulls that the search said had landed, before it was killed.
local function told(dir)
  local seen, n = {}, 0
  for line in io.lines(dir .. "/out.told") do
    local pull = math.tointeger(tonumber(line))
    if pull and not seen[pull] then seen[pull], n = true, n + 1 end
  end
  return seen, n
end

local function check(dir, least)
  local reader = run.reader(dir .. "/out")
  local whole = reader:rows "PRAGMA integrity_check"
  assert(whole[1].integrity_check == "ok", whole[1].integrity_check)
  assert(#reader:rows "PRAGMA foreign_key_check" == 0, "a reference leads nowhere")
  local n = count(reader, "SELECT count(*) AS n FROM pulls")
  assert(n >= least, ("%d pulls, %d were there before"):format(n, least))
  assert(count(reader, "SELECT count(*) AS n FROM pulls WHERE landed > " .. n) == 0)
  assert(count(reader, [[SELECT count(*) AS n FROM evaluations WHERE kind = 'pull']]) == n)
  local seen, said = told(dir)
  for _, row in ipairs(reader:rows "SELECT n FROM pulls") do
    if seen[row.n] then said = said - 1 end
  end
  assert(said == 0, said .. " pulls that had landed are not in the journal")
  reader:close()
  return n
end

local function size(path) return #(core.system.read_file(path) or "") end

-- Starts the search, lets it live, and kills it: every other time a moment counted from
-- its start, else from the first pull that it lands.
local function one(options, rng, i)
  local dir, log = options.dir, options.dir .. "/out.told"
  local before = size(log)
  local pipe = assert(io.popen(("cd %s && { %s run --resume kill.lua out >log 2>&1 & echo $!; }")
                               :format(dir, options.exe)))
  local pid = pipe:read "l"
  pipe:close()
  local most_ns = (options.most_ms or 300) * 1e6
  if i % 2 == 0 then
    local limit = core.system.now_ns() + 20e9
    while size(log) == before and core.system.now_ns() < limit do
      core.system.sleep_ns(10 ^ 6 // 1)
    end
    most_ns = most_ns / 4
  end
  core.system.sleep_ns(math.floor(rng:uniform() * most_ns))
  os.execute(("kill -9 %s 2>/dev/null"):format(pid))
  local limit = core.system.now_ns() + 5e9    -- its lock goes with it
  while core.system.exists(dir .. "/out") and core.system.now_ns() < limit do
    local lock = core.system.lock(dir .. "/out/lock")
    if lock then return lock:close() end
    core.system.sleep_ns(10 ^ 6 // 1)
  end
end

-- options: kills, dir, exe, seed, and most_ms (300), the longest a search may live.
-- Returns pulls recorded.
function kills.run(options)
  local dir, rng = options.dir, core.rng(options.seed)
  assert(core.system.write_file(dir .. "/kill.lua", script))
  assert(core.system.write_file(dir .. "/out.told", ""))
  local n = 0
  for i = 1, options.kills do
    one(options, rng, i)
    if core.system.exists(dir .. "/out/best.txt") then n = check(dir, n) end
    local log = core.system.read_file(dir .. "/log")
    assert(not log:find "traceback" and not log:find "kernelband resume", log)
  end
  assert(n > options.kills / 4, "hardly a search lived long enough to land a pull")
  return n
end

return kills
