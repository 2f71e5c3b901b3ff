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
--       options.build_only             no more than that it builds and is admitted
--       options.disassemble            a loop of a CUDA kernel's machine code, see sass.lua
--       options.profile                all counters of the device, for a person
--
-- s.rooms has a room a shape: the buffers and programs that the shape needs, see room.lua.
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

local evaluate = {}

local now = core.system.now_ns

local fail = verdict.fail

local function seconds_since(start) return (now() - start) / 1e9 end

local function refuse_source(s, out, text, code)
  local dir = os.getenv "TMPDIR" or "/tmp"
  local free = core.system.disk_free(dir)
  if free and free < 4 << 20 then       -- not the candidate's fault: the run can be resumed
    error(("the disk of %s, where candidates are built, is full"):format(dir), 0)
  end
  out.log = text
  local name = code == "EPLAN" and "launch_failed" or code == "EDENIED" and "cheated"
  if name then fail(name, "%s", text) end
  fail("build_failed", "%s", code == "EBUILD" and verdict.first_error(text, s.task.name)
                             or ("compiling: %s (%s)"):format(text, s.language))
end

-- Returns what fn returns, and keeps how long it took, whatever ended it.
local function phase(out, name, fn, ...)
  local start = now()
  local results = table.pack(pcall(fn, ...))
  out.seconds[name] = seconds_since(start)
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

-- The instruction mix of a C kernel's object, nil when there is no way to see it. Fails the
-- candidate whose object has code that runs at load.
local function admitted(s, object)
  local mix = evidence.read_object(object)
  local unseen = "objdump or readelf is missing: nobody looked for code that runs at load"
  if not mix then table.insert(s.warnings, unseen) end
  evidence.admit(mix)
  return mix
end

local function check_all(s, kernel, source)
  assert(s.device:claim(true))          -- until now others could use the device
  s.started = true
  for _, room in ipairs(s.rooms) do check.room(s, room, kernel) end
  if s.strict then require("kernelband.evaluate.strict").judge(s, kernel, source) end
end

local function time(s, out, kernel, options)
  local before = s.device:state()
  local facts = timing.candidate(s, out, kernel, options)
  out.clocks = before and { before = before, after = s.device:state() }
  return facts
end

local function judge(s, source, options, out)
  local kernel, log, code = phase(out, "build", rooms.build, s, source)
  if not kernel then refuse_source(s, out, log, code) end
  local object <close> = kernel.object
  s.atomics = rooms.has_atomics(s, source)
  if s.atomics then table.insert(s.warnings, verdict.by_atomics(s.task)) end
  local mix = s.language == "c" and admitted(s, object) or nil
  verdict.ran(s, "admission of the object")
  if options.build_only then return end
  phase(out, "check", check_all, s, kernel, source)
  local facts = phase(out, "time", time, s, out, kernel, options)
  out.seconds.time = out.seconds.time - (out.seconds.profile or 0)
  facts.mix = mix
  if s.language == "cuda" and (options.disassemble or options.baseline) then
    s.device:claim(false)               -- from now on others can use the device
    facts.hot = require("kernelband.evaluate.sass").of(object, facts.launch.kernel)
  end
  out.evidence = s.evidence.make(s, out, facts)
  out.profile, out.evidence.profile = out.evidence.profile, nil
end

local session = {}
session.__index = session

-- Never raises for what a candidate does. Raises for what is not the candidate's: a device that was
-- lost before the checks began, a full disk, an error of the engine.
function session:evaluate(source, options)
  local start = now()
  local out = { verdict = "ok", shapes = {}, screened = false, seconds = {},
                tier = self.language == "cuda" and "device-only" or nil }
  options = options or {}
  self.ran, self.drawn, self.again, self.strict = {}, {}, options.inputs, options.strict
  self.warnings, self.told_of_near, self.started = lists.with(self.weakened), false, false
  local done, bad = pcall(verdict.try, judge, self, source, options, out)
  self.device:claim(false)
  local lost = self.device:lost()
  if not done then
    if not lost or not self.started then error(bad, 0) end
    bad = { verdict = "crashed", reason = lost }
  end
  if bad then
    out = { verdict = bad.verdict, reason = bad.reason, seconds = out.seconds, log = out.log,
            shapes = {} }
  end
  out.checks, out.inputs, out.lost = lists.distinct(self.ran), self.drawn, lost
  out.weakened = lists.with(self.warnings)
  out.seconds.total = seconds_since(start)
  return out
end

function session:close() self.device:close() end

-- The baseline through every check, with the times just taken.
local function judge_baseline(s)
  s.judging_baseline = true
  local out = s:evaluate(task.source(s.task, "baseline"), { baseline = true })
  s.judging_baseline = nil
  if out.verdict ~= "ok" then
    local advice = out.verdict == "wrong" and ". If both are right, it is rounding that parts "
                   .. "them: see `reduction`, `scale`, `underflow` and `tolerance` of a task; or "
                   .. "inputs that neither is made for: `distributions`" or ""
    schema.raise("%s: refused: the baseline is not what the reference says: %s: %s%s",
                 s.task.file, out.verdict, out.reason, advice)
  end
  return out
end

-- What another worker of this run has found out about the same rooms.
local function take_over(s, known)
  for i, room in ipairs(s.rooms) do room.base = known.rooms[i] end
  s.timed_kinds, s.noise = known.timed_kinds, known.noise
  s.steady = lists.places(s.timed_kinds)
end

-- The baseline's evaluation, and in it what other workers take over.
local function find_out(s)
  assert(s.device:claim(true))
  inputs.choose_timed(s, function(room) check.expect(s, room, 1) end)
  timing.baseline(s)
  s.device:claim(false)
  local baseline = judge_baseline(s)
  assert(s.device:claim(true))
  baseline.mutants = mutants.refuse(s)
  s.noise = timing.noise(s)
  s.device:claim(false)
  baseline.rooms = lists.collect(s.rooms, "base")
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
-- as it is. known: the baseline of another session, which is then believed. source: one that is
-- built before anything runs; where it does not build, s.baseline is its evaluation and s not open.
function evaluate.open(t, device, known, source)
  local machine = device:describe()
  local language, cuda = machine.language, machine.language == "cuda"
  t = task.for_language(t, language)
  machine.cpu = core.system.host().cpu
  local s = setmetatable({ task = t, device = device, rooms = {}, ran = {}, drawn = {},
    machine = machine, language = language, weakened = verdict.weakened(t, machine),
    evidence = cuda and require "kernelband.evaluate.evidence_cuda" or evidence,
    planner = cuda and require "kernelband.task.plan" }, session)
  s.reference, s.reference_wide = rooms.build_reference(s)
  local file, log = t.baseline[language]
  s.baseline_kernel, log = rooms.build(s, task.source(t, "baseline"))
  if not s.baseline_kernel then
    schema.raise("%s: the baseline does not build: %s", file,
                 verdict.first_error(log, t.name, file))
  end
  if source and not known then
    s.baseline = s:evaluate(source, { build_only = true })
    if s.baseline.verdict ~= "ok" then return s end
  end
  machine.roofline = roofline(device, machine)
  s.roofline = machine.roofline
  for _, role in ipairs { "smoke", "held_out", "timed" } do
    for _, shape in ipairs(t.shapes[role]) do s.rooms[#s.rooms + 1] = rooms.new(s, shape, role) end
  end
  s.timed = lists.collect(s.rooms, function(room) return room.role == "timed" and room end)
  if known then take_over(s, known) end
  s.baseline = known or find_out(s)
  return s
end

return evaluate
