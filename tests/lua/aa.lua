-- Every kernel against itself: no task may find a gain, a loss, or an interval without 1.
--   kernelband run tests/lua/aa.lua [FILE [MINUTES [idle=N] [busy=N] [search=N] [TASK ..]]]
-- FILE is build/aa.tsv, without MINUTES there is no limit. Tasks that are named get so many rows
-- (24, 12, 0) and nothing more, without waiting for a quiet machine: so several processes, each
-- kept to processors of its own by taskset, may append to one FILE.
-- Rows are appended to FILE as they come; the next call goes on where this one stopped, and a
-- call that has nothing left to do prints the table. A row is busy when as many loops as there are
-- processors ran beside it, else idle; its last figure is the share of ten seconds before its
-- session in which somebody waited for a processor (a session waits half a minute for less than
-- 2 percent). What is wanted: 24 idle and 12 busy rows a task, 40 idle ones of the ten worst, 500
-- more over all, and then 40 whole searches, ten of each of the four worst, whose generator only
-- renames variables: 12 pulls, a confirmation, and no gain.
package.path = "tests/lib/?.lua;" .. package.path
local core      = require "kernelband.core"
local kb        = require "kernelband"
local ratios    = require "ratios"
local strangers = require "strangers"
local task      = require "kernelband.task"
local worker    = require "kernelband.worker"

local file = arg[1] or "build/aa.tsv"
local minutes = tonumber(arg[2]) or math.huge
local only, each = {}, { idle = 24, busy = 12, search = 0 }
for i = 3, #arg do
  local kind, n = arg[i]:match "^(%l+)=(%d+)$"
  if kind then each[kind] = math.tointeger(tonumber(n)) else only[#only + 1] = arg[i] end
end
local dir = assert(core.system.temp_dir())
local start = core.system.now_ns()

local idle_rows, busy_rows, worst_rows, worst, more = each.idle, each.busy, 40, 10, 500
local in_a_session = 4                  -- evaluations
local searched, searches = 4, 10        -- tasks, and searches of each

local examples = { "gelu_bias", "matmul", "reduce_sum", "rmsnorm", "softmax", "stencil2d",
                   "transpose" }

-- name -> folder, and the names in order.
local function all_tasks()
  local folder, names = {}, {}
  local function add(name, where) folder[name], names[#names + 1] = where, name end
  for _, name in ipairs(examples) do
    add(name, core.system.lib_dir() .. "/examples/tasks/" .. name)
  end
  assert(os.execute(("cd '%s' && '%s' new task fresh >/dev/null"):format(dir, core.system.exe())))
  add("fresh", dir .. "/fresh")
  for _, name in ipairs(strangers.list) do add(name, strangers.write(dir, name)) end
  if #only > 0 then names = only end
  return folder, names
end

local folder, names = all_tasks()

-- What the file holds: rows by task and condition.
local function read()
  local rows = {}
  for _, name in ipairs(names) do rows[name] = { idle = {}, busy = {}, search = {} } end
  for line in (core.system.read_file(file) or ""):gmatch "[^\n]+" do
    local name, kind, rest = line:match "^(%S+)\t(%S+)\t(.*)$"
    local list = rows[name] and rows[name][kind]
    if list then
      local v = {}
      for word in rest:gmatch "%S+" do v[#v + 1] = tonumber(word) end
      list[#list + 1] = { log = math.log(v[1]), low = v[2], high = v[3], win = v[4] == 1,
                          seconds = v[5], least = v[6], pressure = v[7] }
    end
  end
  return rows
end

local function append(name, kind, out, pressure)
  local f = assert(io.open(file, "a"))
  f:write(("%s\t%s\t%.6f %.6f %.6f %d %.3f %.5f %.2f\n"):format(name, kind, out.speedup,
    out.speedup_low, out.speedup_high, out.win and 1 or 0, out.seconds.total, out.noise.least,
    pressure))
  f:close()
end

local function pressure()
  local text = core.system.read_file "/proc/pressure/cpu"
  return text and tonumber(text:match "avg10=([%d.]+)") or 0
end

-- `count` evaluations of one session.
local function session(name, kind, count)
  local wait = #only > 0 and 0 or 30    -- beside others of its kind the machine is never quiet
  while pressure() >= 2 and wait > 0 do
    os.execute "sleep 1"
    wait = wait - 1
  end
  local before = pressure()
  local spin = "while :; do :; done & p=\"$p $!\"; "
  local load = kind == "busy"
               and io.popen(spin:rep(#core.system.cpus()) .. "read x; kill $p", "w")
  local t = task.load(folder[name])
  local e = worker.start { task = t, device = "cpu" }
  e.baseline()
  for _ = 1, count do
    local out, why = e.evaluate({ source = task.source(t, "baseline") }, {})
    if not out then error(("%s: %s"):format(name, why)) end
    if out.verdict ~= "ok" then error(("%s: %s: %s"):format(name, out.verdict, out.reason)) end
    append(name, kind, out, before)
  end
  e.close()
  if load then load:close() end
end

-- The kernel's own text with its variables under other names.
local function renamed(source, n)
  return (source:gsub("%f[%w_]([ijkbrvt])%f[^%w_]", "%1_" .. n)
                :gsub("%f[%w_]sum%f[^%w_]", "sum_" .. n))
end

-- One search by nothing but renaming. A gain it reports is none.
local function search(name, seed)
  local n = 0
  local best = kb.search {
    task = kb.task(folder[name]), device = "cpu", strategies = kb.strategies "strategies/c",
    budget = { steps = 12 }, seed = seed, quiet = true,
    generator = { name = "renames", open = function() return true end, seen = function() end,
                  propose = function(kernel)
                    n = n + 1
                    return { source = renamed(kernel.source:gsub("_%d+%f[^%w_]", ""), n) }
                  end } }
  local f = assert(io.open(file, "a"))
  f:write(("%s\tsearch\t%.6f %d %d %d 0 0 0\n"):format(name, best.speedup, best.gain and 1 or 0,
    best.pulls, best.gain and 1 or 0))
  f:close()
end

-- The tasks, those first that are furthest from what they should be.
local function by_trouble(rows)
  local order, score = table.move(names, 1, #names, 1, {}), {}
  for _, name in ipairs(names) do
    local list = rows[name].idle
    local m, e = ratios.mean(list)
    local wins, covered = ratios.count(list)
    score[name] = 10 * wins + (#list - covered) + math.abs(m) / math.max(e, 1e-4)
  end
  table.sort(order, function(a, b)
    if score[a] ~= score[b] then return score[a] > score[b] end
    return a < b
  end)
  return order
end

-- The next session that is wanted: task, condition, evaluations; nil when all is there.
local function wanted(rows)
  local total, short = 0, nil
  for _, name in ipairs(names) do
    total = total + #rows[name].idle
    if not short or #rows[name].idle < #rows[short].idle then short = name end
  end
  if #rows[short].idle < idle_rows then return short, "idle", in_a_session end
  for _, name in ipairs(names) do
    if #rows[name].busy < busy_rows then return name, "busy", in_a_session end
  end
  for _, name in ipairs(names) do
    local have = #rows[name].search
    if #only > 0 and have < each.search then return name, "search", have + 1 end
  end
  if #only > 0 then return end
  local order = by_trouble(rows)
  for i = 1, math.min(worst, #order) do
    if #rows[order[i]].idle < worst_rows then return order[i], "idle", in_a_session end
  end
  if total < #names * idle_rows + worst * (worst_rows - idle_rows) + more then
    return short, "idle", in_a_session
  end
  for i = 1, math.min(searched, #order) do
    local have = #rows[order[i]].search
    if have < searches then return order[i], "search", have + 1 end
  end
end

local function print_table(rows)
  print(("%-16s %5s %5s %8s %8s %10s %6s %6s | %5s %5s %8s %10s"):format("task", "idle", "wins",
    "mean %", "s.e. %", "1 inside", "floor%", "s", "busy", "wins", "mean %", "1 inside"))
  local n, all_wins, all_in = 0, 0, 0
  for _, name in ipairs(names) do
    local idle, busy = rows[name].idle, rows[name].busy
    local m, e = ratios.mean(idle)
    local wins, covered, seconds = ratios.count(idle)
    local bm = ratios.mean(busy)
    local bwins, bcovered = ratios.count(busy)
    local least = {}
    for i, r in ipairs(idle) do least[i] = 100 * (math.exp(r.least) - 1) end
    print(("%-16s %5d %5d %+8.2f %8.2f %10d %6.1f %6.2f | %5d %5d %+8.2f %10d"):format(
      name, #idle, wins, 100 * m, 100 * e, covered,
      #least > 0 and core.stats.median(least) or 0, seconds, #busy, bwins, 100 * bm, bcovered))
    n, all_wins, all_in = n + #idle + #busy, all_wins + wins + bwins, all_in + covered + bcovered
  end
  local looked, gains = 0, 0
  for _, name in ipairs(names) do
    local list = rows[name].search
    looked, gains = looked + #list, gains + ratios.count(list)
  end
  print(("%d of %d searches by renaming report a gain"):format(gains, looked))
  print(("%d of %d are wins (%.2f %%), %d intervals contain 1 (%.1f %%)"):format(
    all_wins, n, 100 * all_wins / math.max(n, 1), all_in, 100 * all_in / math.max(n, 1)))
end

while (core.system.now_ns() - start) / 6e10 < minutes do
  local name, kind, count = wanted(read())
  if not name then break end
  if kind == "search" then search(name, count) else session(name, kind, count) end
  if core.system.interrupts() > 0 then break end
end
print_table(read())
os.execute("rm -rf '" .. dir .. "'")
