-- kernelband verify RUN: the winner of a run, built, checked and timed once more
-- from what its folder holds.
local with     = require("kernelband.base.lists").with
local core     = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local json     = require "kernelband.base.json"
local run      = require "kernelband.store.run"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"
local fill     = require("kernelband.base.template").fill
local text     = require "kernelband.base.text"

-- Two measurements of one ratio on one machine may differ by this much besides their
-- intervals: memory is placed anew in every process, and others use the machine.
local slack <const> = 1.1
local most_times <const> = 3            -- a busy machine may measure less once; each is reported

local function figures(e)
  return { speedup = e.speedup, low = e.speedup_low, high = e.speedup_high, time_ns = e.time_ns,
           baseline_ns = e.baseline_ns }
end

-- Why the new figures contradict the recorded ones; nil when they do not.
local function disagreement(old, out, same_machine)
  if out.verdict ~= "ok" then return ("%s: %s"):format(out.verdict, out.reason) end
  if not (out.speedup_low and old.low) then return "there is no interval to compare" end
  if old.low > 1 and not out.win then
    if out.impossible then return "it is faster than work() and this machine's roofs allow" end
    return "it is not faster than the baseline beyond doubt: " .. (out.sure_low <= 1.01
      and "its 99 % interval reaches 1.01" or "the gain is within this machine's noise")
  end
  if same_machine and out.speedup_high * slack < old.low then
    return "it is faster than the baseline, and by less than was recorded"
  end
end

-- Whether this machine is that of the run; say: what differs.
local function same_machine(recorded, machine, say)
  local device, cpu = recorded.device or {}, machine.language == "c"
  for _, what in ipairs { "compiler", "flags", "driver" } do
    local a, b = device[what], machine[what]
    if a and b and a ~= b then say(("%s then: %s; now: %s"):format(what, a, b)) end
  end
  local before, now = device.name, machine.name
  if cpu then before, now = recorded.cpu, core.system.host().cpu end
  if before ~= now then
    say(("recorded on another machine (%s): the size of the gain is not compared"):format(
        tostring(before)))
  end
  return before == now
end

local function verify(folder, opt, dir)
  local reader <close> = run.reader(folder)
  local notes = {}
  local function say(words) notes[#notes + 1] = words end
  local t, why = require("kernelband.store.archive").restore_task(reader, dir, task.load)
  if not t then schema.raise("%s: %s", folder, why) end
  local winner = require("kernelband.search.finish").winner(reader)
  if not winner then schema.raise("%s: there is no kernel in it", folder) end
  local kernel, recorded = winner.kernel, winner.row and winner.row.evaluation
  schema.must(type(recorded) == "table", "%s: kernel %d has no evaluation", folder, kernel.id)
  local machine = reader:experiment().machine
  local on_gpu = machine.device and machine.device.language == "cuda"
  local name = opt.device or (on_gpu and "cuda:0" or "cpu")
  local device = evaluate.device(name)
  local same = same_machine(machine, device:describe(), say)
  if not winner.confirmed then say "the run did not confirm this kernel itself" end
  local s = evaluate.open(t, device)
  local out, less
  for _ = 1, most_times do
    out = s:evaluate(kernel.source, { confirm = true, inputs = recorded.inputs,
                                      strict = opt.strict })
    less = disagreement(figures(recorded), out, same)
    if not less or out.verdict ~= "ok" then break end
    say(("measured %.4g times (%.4g to %.4g): %s"):format(out.speedup, out.speedup_low or 0,
        out.speedup_high or 0, less))
  end
  s:close()
  if kernel.id == 1 and out.verdict == "ok" then
    less = nil
    say "the best kernel is the baseline itself: there is no gain to confirm"
  end
  return { run = folder, notes = notes, task = t.name, kernel = kernel.id, device = name,
           strategy = kernel.strategy, evaluation = out, recorded = figures(recorded),
           measured = figures(out), reason = less, confirmed = less == nil }
end

-- Adds the result to the run: an evaluation of kind verify, and an event.
local function record(r)
  local e = with(r.evaluation, { confirmed = r.confirmed, not_confirmed = r.reason,
                                 notes = r.notes, device = r.device })
  local ok, why = run.add(r.run, function(db)
    assert(db:exec("INSERT INTO evaluations VALUES (NULL, 'verify', NULL, ?, NULL, NULL, ?, ?)",
                   r.kernel, e.verdict, json.encode(e)))
    assert(db:exec("INSERT INTO events SELECT NULL, coalesce(max(at_s), 0.0), 'verified', ? "
                   .. "FROM events", ("kernel %d: %s"):format(r.kernel, r.confirmed
                   and "confirmed" or "not confirmed: " .. r.reason)))
  end)
  if not ok then r.notes[#r.notes + 1] = "not written to its journal: " .. why end
end

local function figure(f)
  if not f.speedup then return "no figure" end
  return ("%.4g times the baseline%s"):format(f.speedup, f.low
         and (" (%.4g to %.4g)"):format(f.low, f.high) or "")
end

local function show(r)
  local said = fill("cli/judged.verify", with(r, { figure = figure }))
  print((said:gsub(" +\n", "\n")))
end

return { "verify", args = "RUN", folders = true, options = { "json", "strict", "device" },
  run = function(opt, rest)
    local dir = assert(core.system.temp_dir())
    local ok, report = pcall(verify, rest[1], opt, dir)
    os.execute("rm -rf " .. text.quote(dir))
    if not ok then error(report, 0) end
    record(report)
    if opt.json then print(json.encode(report)) else show(report) end
    return report.confirmed and 0 or 1
  end,
}
