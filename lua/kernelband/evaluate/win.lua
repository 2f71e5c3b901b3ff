-- evaluate/win.lua - when is a measured speed-up one? Arithmetic on times, no clock.
--
-- A win has the lower end of its 99 percent interval above 1.01 and an estimate above what
-- the baseline against itself, on this task in this session, says noise can do. What is
-- faster than the machine's roofs, or more than ten times the baseline, is measured twice before
-- anyone believes it.
local core     = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence"
local fill     = require("kernelband.base.template").fill
local lines    = require("kernelband.base.text").lines

local win = { confidence = 0.99 }

local least_low    = math.log(1.01)     -- the lower end of a win is above that
local too_good     = 10                 -- times the baseline
local no_surprise  = math.log(1.1)      -- over the best kernel so far
local floor_slack  = 1.25               -- roofs are measured, and clocks move

-- The geometric mean over shapes. Its interval is that of out.logs, the means over the shapes of
-- each round, about their estimate; they are not kept.
function win.overall(out)
  local log, time, base, n, logs = 0, 0, 0, #out.shapes, out.logs
  for _, r in ipairs(out.shapes) do
    log, time = log + math.log(r.speedup) / n, time + math.log(r.time_ns) / n
    base = base + math.log(r.baseline_ns) / n
  end
  out.time_ns, out.baseline_ns, out.speedup = math.exp(time), math.exp(base), math.exp(log)
  local function ends(confidence)
    local p = logs and core.stats.paired(logs, confidence) or { method = "none" }
    if p.method == "none" then return nil end
    return math.exp(log + p.low - p.estimate), math.exp(log + p.high - p.estimate)
  end
  out.speedup_low, out.speedup_high = ends(0.95)
  out.sure_low, out.logs = ends(win.confidence), nil
  return out
end

-- The mean over shapes of the log of their times over these.
function win.log_ratio(shapes, times_ns)
  local log = 0
  for i, r in ipairs(shapes) do log = log + math.log(r.time_ns / times_ns[i]) end
  return log / #shapes
end

-- lists: for each shape the logs of A/A rounds. sigma: the standard error of the estimate
-- over all shapes, from the median deviation; bias: that estimate; least: the log of the
-- speed-up that a win must have; shapes: the same of each.
function win.noise(lists)
  local variance, bias, rounds, shapes = 0, 0, 0, {}
  local function least(sigma, off)
    -- Beyond what chance explains, the machine itself prefers one side.
    local prefers = math.abs(off) > 3 * sigma and math.abs(off) > 0.003 and 2 * math.abs(off) or 0
    return math.max(least_low, 3 * sigma, prefers)
  end
  for i, logs in ipairs(lists) do
    -- A median of n normal values varies pi/2 times as much as their mean.
    local one = (1.4826 * core.stats.mad(logs)) ^ 2 * math.pi / 2 / #logs
    local off = core.stats.paired(logs, 0.95).estimate
    variance, bias, rounds = variance + one, bias + off / #lists, rounds + #logs
    shapes[i] = { sigma = math.sqrt(one), bias = off, rounds = #logs,
                  least = least(math.sqrt(one), off) }
  end
  local sigma = math.sqrt(variance) / #lists
  return { sigma = sigma, bias = bias, rounds = rounds, least = least(sigma, bias),
           shapes = shapes }
end

function win.may_be(out)
  return out.sure_low ~= nil and math.log(out.sure_low) > least_low
end

function win.decide(out)
  out.win = win.may_be(out) and not out.impossible and math.log(out.speedup) >= out.noise.least
end

-- No kernel is done sooner than this: flops at the measured peak, compulsory
-- bytes at the speed of the fastest memory they can come from. On a CPU that is
-- the first cache, since nobody knows what lies where. 0 flops or bytes: none.
function win.floor_ns(s, work)
  local flops_per_s, bytes_per_s = evidence.roofs(s, work)
  local bytes = work.bytes
  if s.language == "c" then
    bytes_per_s = s.roofline.l1_bytes_per_s
  else                                  -- what is written may still be in the cache
    bytes = math.max(bytes - (s.machine.l2_bytes or 0), bytes / 2)
  end
  return 1e9 * math.max(work.flops / flops_per_s, bytes / bytes_per_s) / floor_slack
end

function win.below_floor(s, out)
  for _, r in ipairs(out.shapes) do
    local floor = win.floor_ns(s, s.task.work(r.shape))
    if r.time_ns < floor then
      return ("%s: %.4g us, and by work() and this machine's roofs nothing takes less than %.4g us")
             :format(r.label, r.time_ns / 1e3, floor / 1e3)
    end
  end
end

-- What a reader should know about the figures: sentences, or nil.
function win.findings(out)
  local found = lines(fill("evaluate/sentences.findings", out))
  return #found > 0 and found or nil
end

-- Why a result must be measured again before it is believed, or nil. More than ten times the
-- baseline is no surprise where the best kernel so far is about as fast: the two are measured side
-- by side then, and a winner is confirmed.
function win.suspicious(s, out, options)
  local why = win.below_floor(s, out)
  if why then return why end
  if out.speedup <= too_good then return nil end
  local best = options.best_times_ns
  if best and #best == #out.shapes and not options.confirm then
    if win.log_ratio(out.shapes, best) >= -no_surprise then return nil end
  end
  return ("%.4g times the baseline is more than %d"):format(out.speedup, too_good)
end

return win
