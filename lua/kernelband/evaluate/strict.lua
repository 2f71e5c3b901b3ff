-- evaluate/strict.lua - the slow checks of `kernelband eval --strict`, after all others:
--   C     the kernel again on arrays that start where a page does, with NaN behind
--         its inputs, ten times while other processors are busy; then a build that
--         stops at undefined behaviour (overflow, bounds, shifts, null)
--   CUDA  compute-sanitizer's tools, where they are installed (strict.sanitizer)
local check   = require "kernelband.evaluate.check"
local core    = require "kernelband.core"
local inputs  = require "kernelband.evaluate.inputs"
local jobs    = require "kernelband.base.jobs"
local rooms   = require "kernelband.evaluate.room"
local toolkit = require "kernelband.base.toolkit"
local verdict = require "kernelband.evaluate.verdict"

local strict = {}

local repeats = 10

-- Shells that keep processors busy until close: they end with this process too.
local function make_busy()
  local spin = "while :; do :; done & p=\"$p $!\"; "
  return io.popen(spin:rep(math.max(1, #core.system.cpus())) .. "read x; kill $p", "w")
end

-- Runs on arrays that start where a page does, at every shape.
local function in_every_room(s, kernel, what)
  for _, own in ipairs(s.rooms) do
    local room = rooms.front(s, own)
    local _ <close> = room.buffers
    local program <close> = verdict.need(what .. ", loading", rooms.load(s, kernel, room))
    inputs.fill(s, room, s.timed_kinds[1])
    local bad, same = verdict.try(check.repeats, s, room, program, repeats)
    if bad then verdict.fail(bad.verdict, "%s: %s", what, bad.reason) end
    if not same then
      verdict.fail("wrong", "%s: %s: runs on the same inputs differ", what, room.label)
    end
    check.expect(s, room, 1)
    check.compare(s, room, 1, s.timed_kinds[1])
  end
end

-- kernel: as built before; source: to build it anew.
function strict.judge(s, kernel, source)
  if s.language ~= "c" then return end
  do
    local _ <close> = make_busy()
    in_every_room(s, kernel, "arrays at the start of a page")
  end
  verdict.ran(s, "guard pages before every array, ten runs under load")
  local built, log = rooms.build(s, source, false, true)
  if not built then
    table.insert(s.warnings, "it does not build with a sanitizer: " .. tostring(log):match "[^\n]*")
    return
  end
  local _ <close> = built.object
  verdict.ran(s, "a build that stops at undefined behaviour")
  in_every_room(s, built, "a build that stops at undefined behaviour")
end

local tools = { "memcheck", "racecheck", "initcheck", "synccheck" }
local tool_limit_ns = 900 * 10 ^ 9 // 1
local found_status = 99                 -- none of `kernelband eval`'s own

-- What a tool says it found: how many errors (nil without the summary that ends a
-- whole run; every process has one), and the first finding.
local function read_findings(text)
  local errors, finding, place
  for line in text:gmatch "========= ([^\n]*)" do
    local counted = line:match "SUMMARY: .-(%d+) error"
    if counted then
      errors = (errors or 0) + math.tointeger(counted)
    elseif not finding and line ~= "COMPUTE-SANITIZER" then
      finding = line:gsub("^%a+: ", "")
    elseif finding then
      place = place or line:match "^%s+(a[tn]d? .*)"
    end
  end
  return errors, place and finding .. " " .. place or finding
end

-- Why a tool's run, which ended as r or was ended for code, says nothing about the kernel; nil when
-- it does.
local function unfinished(r, code, errors, limit_ns)
  return code == "ETIME" and ("stopped after %.0f s"):format(limit_ns / 1e9)
         or code == "EFULL" and "it printed more than 4 MiB"
         or code and "interrupted"
         or (r.signal or 0) ~= 0 and ("ended by signal %d"):format(r.signal)
         or r.status ~= 0 and ("exit status %d"):format(r.status)
         or not errors and "it printed no summary" or nil
end

-- A CUDA candidate that is ok once more under each tool: nil, or what is wrong.
-- out: its evaluation, which is told what ran and what did not. how: file and limit_ns
-- instead of the installed program and its time.
function strict.sanitizer(out, task_dir, source, device, how)
  local file = how and how.file or toolkit.program "compute-sanitizer"
  local limit_ns = how and how.limit_ns or tool_limit_ns
  local function say(...)
    table.insert(out.weakened, "compute-sanitizer " .. table.concat { ... })
  end
  if not file then return say "is not installed: its tools were skipped" end
  for _, tool in ipairs(tools) do
    local ended, why, code, so_far = jobs.one { timeout_ns = limit_ns, max_bytes = 4 << 20, argv = {
      file, "--tool", tool, "--target-processes", "all", "--error-exitcode", tostring(found_status),
      core.system.exe(), "eval", task_dir, source, "--device", device } }
    local r = ended or so_far
    local text = r and r.output .. "\n" .. r.errors or ""
    local errors, finding = read_findings(text)
    if r and (r.status == found_status or (errors or 0) > 0) then
      return { verdict = "wrong",
               reason = ("compute-sanitizer %s: %s"):format(tool, finding or "errors") }
    end
    local unclear = r and unfinished(r, code, errors, limit_ns)
    if not r then
      say(tool, " did not finish: ", code ~= "ECANCELED" and "it cannot be started: " or "", why)
    elseif unclear then
      say(tool, " did not finish: ", unclear, ": ", finding or text:match "[^\n]+" or "no output")
    else
      table.insert(out.checks, "compute-sanitizer " .. tool)
      if finding then say(tool, " warns: ", finding) end
    end
  end
end

return strict
