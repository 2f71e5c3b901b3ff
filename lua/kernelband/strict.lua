-- strict.lua - the slow checks of `kernelband eval --strict`, after all others:
--   C     the kernel again on arrays that start where a page does, with NaN behind
--         its inputs, ten times while other processors are busy; then a build that
--         stops at undefined behaviour (overflow, bounds, shifts, null)
--   CUDA  compute-sanitizer's tools, where they are installed (strict.sanitizer)
local check   = require "kernelband.check"
local core    = require "kernelband.core"
local inputs  = require "kernelband.inputs"
local rooms   = require "kernelband.room"
local task    = require "kernelband.task"
local verdict = require "kernelband.verdict"

local strict = {}

local repeats = 10

-- Shells that keep processors busy until close: they end with this process too.
local function make_busy()
  local spin = "while :; do :; done & p=\"$p $!\"; "
  return io.popen(spin:rep(math.max(1, core.system.cpu_count())) .. "read x; kill $p", "w")
end

local function runs_in(s, room, kernel, what)
  local program, why, code = rooms.load(s, kernel, room.buffers, room.shape)
  if not program then return verdict.died(code, why, what .. ", loading") end
  local _ <close> = program
  inputs.fill(s, room, s.timed_kinds[1])
  local digest
  for _ = 1, repeats do
    local bad = check.run(s, room, program)
    if bad then
      bad.reason = ("%s: %s"):format(what, bad.reason)
      return bad
    end
    local now = room.buffers:digest()
    if digest and now ~= digest then
      return verdict.fail("wrong", "%s: %s: runs on the same inputs differ", what, room.label)
    end
    digest = now
  end
  check.expect(s, room, 1)
  return (check.compare(s, room, 1, s.timed_kinds[1]))
end

local function in_every_room(s, kernel, what)
  for _, room in ipairs(s.rooms) do
    local front = rooms.front(s, room)
    local bad = runs_in(s, front, kernel, what)
    front.buffers:close()
    if bad then return bad end
  end
end

-- kernel: as built before; source: to build it anew. Returns nil or what is wrong.
function strict.judge(s, kernel, source)
  if s.language ~= "c" then return nil end
  local busy = make_busy()
  local done, bad = pcall(in_every_room, s, kernel, "arrays at the start of a page")
  if busy then busy:close() end
  if not done then error(bad, 0) end
  if bad then return bad end
  verdict.ran(s, "guard pages before every array, ten runs under load")
  local t = s.task
  local built, log = rooms.build(s, source, t.name, task.arguments(t, t.shapes.smoke[1]), true)
  if not built then
    s.warnings[#s.warnings + 1] = "it does not build with a sanitizer: "
                                  .. tostring(log):match "[^\n]*"
    return nil
  end
  local _ <close> = built.object
  bad = in_every_room(s, built, "a build that stops at undefined behaviour")
  verdict.ran(s, "a build that stops at undefined behaviour")
  return bad
end

local tools = { "memcheck", "racecheck", "initcheck", "synccheck" }

local function find_sanitizer()
  local dirs = { "/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer" }
  for dir in (os.getenv "PATH" or ""):gmatch "[^:]+" do dirs[#dirs + 1] = dir end
  for _, dir in ipairs(dirs) do
    local file = dir .. "/compute-sanitizer"
    if core.system.exists(file) == "file" then return file end
  end
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- A CUDA candidate that is ok once more under each tool: nil, or what is wrong.
-- out: its evaluation, which is told what ran or was skipped.
function strict.sanitizer(out, task_dir, source, device)
  local file = find_sanitizer()
  if not file then
    table.insert(out.weakened, "compute-sanitizer is not installed: its tools were skipped")
    return nil
  end
  for _, tool in ipairs(tools) do
    local pipe = io.popen(("%s --tool %s --target-processes all --error-exitcode 99 %s eval %s %s "
      .. "--device %s 2>&1"):format(quoted(file), tool, quoted(core.system.exe()),
      quoted(task_dir), quoted(source), device))
    local text = pipe:read "a"
    local _, _, code = pipe:close()
    local found = text:match "=========  ?([^\n]*[Ee]rror[^\n]*)"
                  or text:match "=========  ?([^\n]*[Hh]azard[^\n]*)"
    if code == 99 or (found and not text:find("ERROR SUMMARY: 0 errors", 1, true)) then
      return verdict.fail("wrong", "compute-sanitizer %s: %s", tool, found or "errors")
    end
    table.insert(out.checks, "compute-sanitizer " .. tool)
  end
end

return strict
