-- evaluate/init.lua - judges one candidate: builds, checks, times and profiles it.
-- Runs in a worker process, which holds the clock and the expected answers.
--
--   s = evaluate.open(task, device)    builds reference and baseline, refuses a
--                                      task whose two disagree
--   s.baseline                         evaluation of the baseline
--   s:evaluate(source, options)        -> evaluation
--       options.best_times_ns          times of the best kernel so far, one a
--                                      timed shape: what is clearly slower is
--                                      dropped after a screen
--       options.confirm                more blocks, no screen
--       options.incumbent              source of the best kernel so far: out.against has
--                                      the candidate's speed-up over it, side by side
--       options.inputs                 draws of an earlier evaluation: checked first
--       options.strict                 the slow checks as well, see strict.lua
--       options.disassemble            a loop of a CUDA kernel's machine code, see sass.lua
--
-- An evaluation tells, besides its verdict: checks, the names of those that were
-- made; inputs, what was drawn for them, with seeds; weakened, sentences about
-- whatever makes this verdict worth less than it could be; quarantined, why its
-- times were taken twice.
--
-- The order is always: poison, candidate, and only then the expected answer, so
-- that nothing a candidate could read holds it while it runs.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local check    = require "kernelband.evaluate.check"
local evidence = require "kernelband.evaluate.evidence"
local inputs   = require "kernelband.evaluate.inputs"
local json     = require "kernelband.base.json"
local mutants  = require "kernelband.evaluate.mutants"
local rooms    = require "kernelband.evaluate.room"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"
local timing   = require "kernelband.evaluate.timing"
local verdict  = require "kernelband.evaluate.verdict"
local weakened = require "kernelband.evaluate.weakened"

local evaluate = {}

local now = core.system.now_ns

local fail = verdict.fail

local function seconds_since(start) return (now() - start) / 1e9 end

-- A full disk is nobody's verdict: the run stops, and can go on.
local function check_room_on_disk()
  local dir = os.getenv "TMPDIR" or "/tmp"
  local free = core.system.disk_free(dir)
  if free and free < 4 << 20 then
    error(("the disk of %s, where candidates are built, is full"):format(dir), 0)
  end
end

local function refused(s, out, text, code)
  check_room_on_disk()
  out.log = text
  if code == "EPLAN" then return fail("launch_failed", "%s", text) end
  if code == "EDENIED" then return fail("cheated", "%s", text) end
  return fail("build_failed", "%s", code == "EBUILD" and verdict.first_error(text, s.task.name)
                                    or ("compiling: %s (%s)"):format(text, s.language))
end

local function judge(s, source, options, out)
  local t, seconds = s.task, out.seconds
  local start = now()
  local kernel, log, code = rooms.candidate(s, source)
  seconds.build = seconds_since(start)
  if not kernel then return refused(s, out, log, code) end
  local _ <close> = kernel.object
  s.atomics = rooms.has_atomics(s, source)
  s.warnings[1] = s.atomics and weakened.by_atomics(t) or nil
  local mix, bad
  if s.language == "c" then
    mix = evidence.read_object(kernel.object)
    if not mix then
      s.warnings[1] = "objdump or readelf is missing: nobody looked for code that runs at load"
    end
    bad = evidence.admit(mix)
  end
  if bad then return bad end
  verdict.ran(s, "admission of the object")

  start = now()
  assert(s.device:claim(true))          -- others may compile meanwhile
  s.started = true
  for _, room in ipairs(s.rooms) do
    bad = check.room(s, room, function() return rooms.load(s, kernel, room.buffers, room.shape) end)
    if bad then break end
  end
  if s.strict and not bad then
    bad = require("kernelband.evaluate.strict").judge(s, kernel, source)
  end
  seconds.check = seconds_since(start)
  if bad then return bad end

  start = now()
  local before = s.device:state()
  bad = timing.candidate(s, out, kernel, options)
  out.clocks = before and { before = before, after = s.device:state() }
  seconds.time = seconds_since(start) - (seconds.profile or 0)
  if bad then return bad end
  local facts = out.facts or { device = s.machine }
  out.facts = nil
  facts.mix = mix
  if s.language == "cuda" and (options.disassemble or options.baseline) then
    s.device:claim(false)               -- others may measure meanwhile
    facts.hot = require("kernelband.evaluate.sass").of(kernel.object, facts.launch.kernel)
  end
  out.evidence = s.evidence.make(s, out, facts)
  out.profile, out.evidence.profile = out.evidence.profile, nil
end

local session = {}
session.__index = session

-- Never raises for what a candidate does; raises when the device was lost before it began.
function session:evaluate(source, options)
  local start = now()
  local out = { verdict = "ok", shapes = {}, screened = false, seconds = {},
                tier = self.language == "cuda" and "device-only" or nil }
  options = options or {}
  self.ran, self.drawn, self.again, self.strict = {}, {}, options.inputs, options.strict
  self.warnings, self.started = {}, false
  local done, bad = pcall(judge, self, source, options, out)
  self.device:claim(false)
  if not done then
    local lost = self.device:lost()
    if not lost or not self.started then error(bad, 0) end
    bad = fail("crashed", "%s", lost)
  end
  if bad then
    bad.seconds, bad.log, out = out.seconds, out.log, bad
    out.shapes = {}
  end
  out.checks, out.inputs = table.move(self.ran, 1, #self.ran, 1, {}), self.drawn
  out.weakened = table.move(self.warnings, 1, #self.warnings, #self.weakened + 1,
                            table.move(self.weakened, 1, #self.weakened, 1, {}))
  out.lost = self.device:lost()
  out.seconds.total = seconds_since(start)
  return out
end

function session:close()
  self.device:close()
end

-- The baseline through every check, with the times just taken.
local function judge_baseline(s)
  s.judging_baseline = true
  local out = s:evaluate(task.source(s.task, "baseline"), { baseline = true })
  s.judging_baseline = nil
  if out.verdict ~= "ok" then
    local advice = out.verdict == "wrong" and ". If both are right, it is rounding that parts "
                   .. "them: see `reduction`, `scale` and `tolerance` of a task; or inputs that "
                   .. "neither is made for: `distributions`" or ""
    schema.raise("%s: refused: the baseline is not what the reference says: %s: %s%s",
                 s.task.file, out.verdict, out.reason, advice)
  end
  return out
end

-- What another worker of this run has found out about the same rooms.
local function take_over(s, known)
  for i, room in ipairs(s.rooms) do
    local r = known.rooms[i]
    room.baseline_n, room.baseline_ns, room.limit_ns = r.n, r.ns, r.limit_ns
    room.base_share = r.base_share
  end
  s.timed_kinds, s.noise = known.timed_kinds, known.noise
  s.steady = lists.places(s.timed_kinds)
  return known
end

local function remember(s, baseline)
  baseline.rooms = lists.collect(s.rooms, function(room)
    return { n = room.baseline_n, ns = room.baseline_ns, limit_ns = room.limit_ns,
             base_share = room.base_share }
  end)
  baseline.timed_kinds, baseline.noise = s.timed_kinds, s.noise
  return baseline
end

-- The device of that name; raises a configuration error when it is missing.
function evaluate.device(name)
  local device, why = core.device(name)
  if not device then
    why = why:gsub("TMPDIR", function() return "TMPDIR=" .. (os.getenv "TMPDIR" or "/tmp") end, 1)
    schema.raise("device '%s': %s", name, why)
  end
  return device
end

-- Of this machine. Tests measure a processor's once: KERNELBAND_ROOFLINE is a file that keeps it.
local function roofline(device, machine)
  local file = machine.language == "c" and os.getenv "KERNELBAND_ROOFLINE"
  local kept = file and core.system.read_file(file)
  if kept then return json.decode(kept) end
  local measured = assert(device:roofline())
  if file then assert(core.system.write_file(file, json.encode(measured))) end
  return measured
end

-- Raises a configuration error when the task is not fit; the worker reports it
-- as it is. known: the baseline of another session, which is then believed.
function evaluate.open(t, device, known)
  local machine = device:describe()
  t = task.for_language(t, machine.language)
  local s = setmetatable({ task = t, device = device, rooms = {}, machine = machine,
                           language = machine.language }, session)
  s.weakened = weakened.of(t, machine)
  s.evidence = evidence
  if s.language == "cuda" then
    s.evidence, s.planner = require "kernelband.evaluate.evidence_cuda",
                            require "kernelband.task.plan"
  end
  s.roofline = roofline(device, machine)
  machine.roofline = s.roofline
  machine.cpu = core.system.host().cpu
  s.reference, s.reference_wide = rooms.build_reference(s)
  local log
  s.baseline_kernel, log = rooms.candidate(s, task.source(t, "baseline"))
  if not s.baseline_kernel then
    local file = t.baseline[s.language]
    schema.raise("%s: the baseline does not build: %s", file,
                 verdict.first_error(log, t.name, file))
  end
  for _, role in ipairs { "smoke", "held_out", "timed" } do
    for _, shape in ipairs(t.shapes[role]) do s.rooms[#s.rooms + 1] = rooms.new(s, shape, role) end
  end
  s.timed = lists.collect(s.rooms, function(room) return room.role == "timed" and room end)
  if known then
    s.baseline = take_over(s, known)
  else
    assert(device:claim(true))
    inputs.choose_timed(s, function(room) check.expect(s, room, 1) end)
    timing.baseline(s)
    device:claim(false)
    local baseline = judge_baseline(s)
    assert(device:claim(true))
    local caught = mutants.refuse(s)
    s.noise = timing.noise(s)
    device:claim(false)
    s.baseline = remember(s, baseline)
    s.baseline.mutants = caught
  end
  return s
end

return evaluate
