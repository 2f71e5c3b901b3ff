-- candidates.lua - the two suites of candidates: hostile ones, which must get
-- the verdict that their first comment expects, and honest ones, which must be
-- ok. A file in a subfolder is for the task of that name, in tests/lib/tasks or in
-- examples/tasks; the others are for tests/lib/tasks/axpy.
--
--   list = candidates.list("tests/candidates/hostile", "c")
--       { { name =, folder =, task =, source =, want = { verdict, .. }, most =, slow = }, .. }
--   tally = candidates.judge(list, device, times, note)
--       { hostile =, caught =, honest =, alarms =, rows = { text }, seconds = }
--   candidates.table(tallies)     the lines that tests/bench/README.md has
--   candidates.before_launch(root, c, compiler)     a CUDA candidate's verdict without a GPU
--
-- expect: wrong.                one verdict
-- expect: crashed|timeout.      either
-- expect: no_gain.              any, but ok only with a speed-up under 1.5
-- expect: no_gain below 60.     the same with another bound
-- expect: little_gain below 60.  ok, with a speed-up under that
local core   = require "kernelband.core"
local plan   = require "kernelband.task.plan"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

local candidates = {}

local system = core.system
local second_ns = 10 ^ 9 // 1
local extension = { c = "%.c$", cuda = "%.cu$" }

local function read(file) return assert(system.read_file(file)) end

local function one(path, name, task_name, honest)
  local source = read(path)
  local c = { name = name, task = task_name, source = source, honest = honest, path = path,
              slow = source:find("slow: yes", 1, true) ~= nil }
  if honest then
    c.want = { "ok" }
    return c
  end
  local words = source:match "expect: ([%w_| ]+)%."
  if not words then error(path .. ": its first comment says no 'expect: VERDICT.'") end
  if not source:find "Seen:%s" then error(path .. ": where was it seen?") end
  c.most = tonumber(words:match "below (%d+)") or 1.5
  c.want = {}
  for word in words:gsub(" below.*", ""):gmatch "[%a_]+" do c.want[#c.want + 1] = word end
  return c
end

function candidates.list(folder, language)
  local out, honest = {}, folder:find("honest", 1, true) ~= nil
  for _, name in ipairs(assert(system.list(folder))) do
    local path = folder .. "/" .. name
    if system.exists(path) == "dir" then
      for _, inner in ipairs(assert(system.list(path))) do
        if inner:match(extension[language]) then
          out[#out + 1] = one(path .. "/" .. inner, name .. "/" .. inner, name, honest)
        end
      end
    elseif name:match(extension[language]) then
      out[#out + 1] = one(path, name, "axpy", honest)
    end
  end
  return out
end

function candidates.task(root, name)
  local small = root .. "/lib/tasks/" .. name
  return task.load(system.exists(small) and small or root .. "/../examples/tasks/" .. name)
end

-- nil when the evaluation is what the file expects; else what it is instead.
function candidates.differs(c, out)
  local text = ("%s%s"):format(out.verdict, out.reason and ": " .. out.reason or "")
  local little = c.most and out.verdict == "ok" and out.speedup < c.most
  for _, want in ipairs(c.want) do
    if want == "little_gain" and little then return nil end
    if want == "no_gain" and (little or out.verdict ~= "ok") then return nil end
    if want == out.verdict then
      if want ~= "ok" and (not out.reason or out.reason == "") then return text .. ": no reason" end
      return nil
    end
  end
  if out.verdict == "ok" then text = ("ok, %.2f times as fast"):format(out.speedup) end
  return ("expected %s, got %s"):format(table.concat(c.want, " or "), text)
end

local of_code = { EBUILD = "build_failed", ETIME = "build_failed", EDENIED = "cheated" }

-- The verdict on a CUDA candidate before any launch, or "ok"; and what was said. Needs no GPU;
-- compiler: core.nvrtc().
function candidates.before_launch(root, c, compiler)
  local own = task.for_language(candidates.task(root, c.task), "cuda")
  local launches, text = plan.parse(c.source, own)
  if not launches then return "launch_failed", text end
  local made, code
  made, text, code = compiler:make(c.source, "sm_90a")
  if made then
    made, text = core.cubin(made)
    code = "EDENIED"
  end
  if not made then return of_code[code] or code, text end
  local resolved
  resolved, text = plan.resolve(launches, own, own.shapes.timed[1], { sm_count = 132 })
  if not resolved then return "launch_failed", text end
  local names = {}
  for i, entry in ipairs(made) do names[i] = entry.name end
  return "ok", table.concat(names, " ")
end

local function by_task(list)
  local names, groups = {}, {}
  for _, c in ipairs(list) do
    if not groups[c.task] then
      names[#names + 1], groups[c.task] = c.task, {}
    end
    table.insert(groups[c.task], c)
  end
  return names, groups
end

-- Judges every candidate `times` times, slow ones once, one worker a task. after(evaluator, c,
-- out, round) may look at each as it comes.
function candidates.judge(root, list, device, times, after)
  local tally = { hostile = 0, caught = 0, honest = 0, alarms = 0, rows = {} }
  local start = system.now_ns()
  local names, groups = by_task(list)
  for _, name in ipairs(names) do
    local evaluator = worker.start { task = candidates.task(root, name), device = device }
    evaluator.baseline()
    for i = 1, times do
      for _, c in ipairs(groups[name]) do
        if c.slow and i > 1 then goto next_one end
        local out = assert(evaluator.evaluate({ source = c.source }, {}))
        local differs = candidates.differs(c, out)
        local count, good = c.honest and "honest" or "hostile", not c.honest and "caught"
        tally[count] = tally[count] + 1
        if c.honest and differs then tally.alarms = tally.alarms + 1 end
        if good and not differs then tally.caught = tally.caught + 1 end
        if differs then tally.rows[#tally.rows + 1] = ("  %-28s %s"):format(c.name, differs) end
        if after then after(evaluator, c, out, i) end
        ::next_one::
      end
    end
    evaluator.close()
  end
  tally.seconds = (system.now_ns() - start) / 1e9
  return tally
end

-- The table of tests/bench/README.md: lists = { { "C", hostile, honest, tally }, .. }.
function candidates.table(lists)
  local out = {
    "| language | hostile candidates, caught | honest candidates, false alarms | runs each |",
    "|---|---|---|---|" }
  for _, row in ipairs(lists) do
    local name, tally, times = row[1], row[2], row[3]
    out[#out + 1] = ("| %s | %d/%d | %d/%d | %d |"):format(name, tally.caught, tally.hostile,
                    tally.alarms, tally.honest, times)
  end
  return table.concat(out, "\n")
end

-- The oldest child of this process that is a worker: the one at work.
function candidates.worker_pid()
  local f = io.open "/proc/thread-self/children"
  if not f then return nil end
  local text = f:read "a"
  f:close()
  for pid in text:gmatch "%d+" do
    local words = io.open(("/proc/%s/cmdline"):format(pid))
    local line = words and words:read "a" or ""
    if words then words:close() end
    if line:find("\0worker\0", 1, true) then return pid end
  end
end

function candidates.kill_worker(signal)
  local pid = candidates.worker_pid()
  if not pid then return false end
  os.execute(("kill -%s %s"):format(signal or "KILL", pid))
  system.sleep_ns(second_ns // 20)
  return true
end

return candidates
