-- generator/words.lua - what is known of a machine, of its judge and of a kernel, in words for
-- prompt.in. Every figure was measured here or follows from what was; each stands with its unit
-- and, where it is of one shape, in that shape's line. What is not known is left out.
local core  = require "kernelband.core"
local lists = require "kernelband.base.lists"
local reply = require "kernelband.llm.reply"
local tasks = require "kernelband.task"
local text  = require "kernelband.base.text"

local words = {}

local collect, bytes = lists.collect, text.bytes

function words.known(v) return type(v) == "number" and v == v and v > 0 end

local known = words.known

-- The machine -----------------------------------------------------------------------

-- Fields of a machine, each with its text and its unit, bytes where there is none.
local caches = { { "l1d_bytes", "L1d %s" }, { "l2_bytes", "L2 %s" },
                 { "l3_bytes", "L3 %s (shared by cores)" } }
local peaks = { { "f32_flops_per_s", "f32 %s", "flop/s" },
                { "f64_flops_per_s", "f64 %s", "flop/s" },
                { "f16_flops_per_s", "f16 tensor %s", "flop/s" },
                { "bf16_flops_per_s", "bf16 tensor %s", "flop/s" } }
local bandwidths = { { "l1_bytes_per_s", "L1 %s", "B/s" }, { "l2_bytes_per_s", "L2 %s", "B/s" },
                     { "dram_bytes_per_s", "memory read %s", "B/s" },
                     { "dram_copy_bytes_per_s", "memory copy %s", "B/s" } }

-- The texts of the fields that are known; false where none is.
local function told(of, fields)
  local list = collect(fields, function(f)
    local v = of[f[1]]
    return known(v) and f[2]:format(f[3] and text.amount(v, f[3]) or bytes(v))
  end)
  return #list > 0 and table.concat(list, ", ")
end

-- about: device. What its roofline has, where it was measured.
function words.hardware(about)
  local r = about.device and about.device.roofline or {}
  return { caches = told(r, caches), peaks = told(r, peaks), bandwidths = told(r, bandwidths) }
end

-- How a candidate is judged ---------------------------------------------------------
--
-- What inputs are drawn from, and the bound on every element with its numbers, which are those
-- that check.lua judges by (core.bound, core/measure/tensor.h).

-- The kinds of inputs; z is a standard normal.
local drawn = {
  normal = "z", wide = "z * 10^u, u from -3 to 3", uniform = "0 to 1", lognormal = "exp(1.5 z)",
  spikes = "z, one in 1000 is 100 z", ties = "runs of equal values", integers = "-8 to 8",
  denormal = "zeros and denormals among z",
}

local function input(kind) return ("%s (%s)"):format(kind, drawn[kind]) end

-- What the values above become in arrays of integers (tensor.h).
local function integers(task)
  local out = collect(task.args, function(a)
    if not tasks.is_given(a) then return nil end
    if a.below then return ("%s is drawn evenly below %s"):format(a.name, tostring(a.below)) end
    return core.bound(a.dtype, {}).u_out == 0
      and ("%s takes %s16 times that, rounded and saturated (integers as they are)"):format(
        a.name, a.dtype == "u8" and "the absolute value of " or "")
  end)
  return #out > 0 and " Of integer type: " .. table.concat(out, "; ") .. "." or ""
end

-- One figure where all timed shapes have the same, else a list of theirs.
local function by_shape(task, form, value)
  local out = collect(task.shapes.timed, function(s) return form:format(value(s)) end)
  local other = lists.find(out, function(one) return one ~= out[1] end)
  return other and table.concat(out, ", ") .. " at the timed shapes in their order" or out[1]
end

local function bound_of(task, dtype, shape, atomics)
  return core.bound(dtype, tasks.bound(task, shape or task.shapes.timed[1], atomics))
end

-- What the bound b on floats of a type is made of, as text.
local function of_floats(task, dtype, b)
  local function tiny(atomics)
    return by_shape(task, "%.3g", function(s) return bound_of(task, dtype, s, atomics).tiny end)
  end
  local sums = task.accumulate or (dtype == "f64" and "f64" or "f32")
  return { dtype = dtype, u = ("%.3g"):format(b.u_out), sums = sums,
           v = sums ~= dtype and ("%.3g"):format(b.u_acc), t = tiny(),
           t_atomic = tiny(task.language == "cuda") }
end

-- The RMS error that is allowed at each timed shape: what the baseline showed there, with a slash
-- between outputs.
local function rms(task, baseline)
  local rooms, timed = reply.list(baseline.rooms), task.shapes.timed
  local cells = collect(not task.exact and timed or {}, function(s, i)
    local shares = reply.list(reply.at(rooms, #rooms - #timed + i, "base_share"))
    local times = math.max(8, math.sqrt(tasks.terms(task, "reduction", s)))
    return #shares > 0 and table.concat(collect(shares, function(share)
      return type(share) == "number" and (share > 0 and ("%.2g"):format(share * times) or "-")
    end), "/")
  end)
  return #cells == #timed and table.concat(cells, ", ")
end

-- about: task, baseline (its evaluation, or nil). An element of integers, or of an exact task, is
-- equal; unless the task tolerates more.
function words.judged(about)
  local task, baseline = about.task, about.baseline or {}
  if not task.args or not task.shapes then return nil end
  local made = collect(task.args, function(a) return tasks.is_made(a) and a.dtype end)
  local equal, floats = {}, {}
  for _, dtype in ipairs(lists.distinct(made)) do
    local b = bound_of(task, dtype)
    local is_equal = b.exact or b.u_out == 0
    table.insert(is_equal and equal or floats, is_equal and dtype or of_floats(task, dtype, b))
  end
  local kinds = reply.list(baseline.timed_kinds)
  return {
    inputs = table.concat(collect(task.distributions or tasks.distributions, input), "; "),
    integers = integers(task), kinds = #kinds > 0 and table.concat(kinds, ", "),
    equal = #equal > 0 and table.concat(equal, ", "), floats = floats,
    terms = by_shape(task, "%.0f", function(s) return tasks.bound(task, s).reduction end),
    scaled = tasks.needs_scale(task), nudged = #tasks.nudged(task) > 0, rms = rms(task, baseline) }
end

-- A kernel's times ------------------------------------------------------------------

local busy <const> = 60                 -- percent of a roof: that is what binds

-- The roof over a shape's bytes, as evidence.roofs has it.
local function level(device, work)
  local r = device and device.language == "c" and device.roofline or {}
  if r.l1d_bytes and work.bytes <= r.l1d_bytes then return "L1" end
  return r.l2_bytes and work.bytes <= r.l2_bytes and "L2" or "memory"
end

local function bound(compute, bandwidth, where)
  local name, top = "arithmetic", compute
  local past = "fewer operations than the task counts, or a peak measured beside other work"
  if bandwidth > compute then
    name, top, past = where .. " bandwidth", bandwidth, "part of it comes from a nearer cache"
  end
  if top > 100 then return ("past the %s roof: %s"):format(name, past) end
  return "bound by " .. (top >= busy and name or "neither")
end

function words.interval(low, high)
  return low and high and (" (%.2f to %.2f)"):format(low, high) or ""
end

-- Of a kernel or of a shape of it: how far it is ahead.
function words.ahead(of)
  return ("%.2fx the first version%s"):format(of.speedup,
                                              words.interval(of.speedup_low, of.speedup_high))
end

-- How near a shape came to the roofs.
local function roofs(shape, about)
  if not (shape.compute_share and shape.bandwidth_share) then return "" end
  local where = level(about.device, about.task.work(shape.shape))
  local compute, bandwidth = 100 * shape.compute_share, 100 * shape.bandwidth_share
  return ("; %.1f %% of peak arithmetic, %.1f %% of %s bandwidth: %s"):format(compute, bandwidth,
    where, bound(compute, bandwidth, where))
end

-- What stands out in a profile --------------------------------------------------------

local most_findings <const> = 3
local worth_telling <const> = 0.15

local function feature(kernel, i)
  local v, kind = reply.at(kernel.phi, i), reply.at(kernel.phi_kind, i)
  if type(v) ~= "number" or v ~= v or not kind or kind == "missing" then return nil end
  return v, kind
end

local function on_cpu(add, kernel, about)
  local r = about.device and about.device.roofline or {}
  local hot = about.measured and about.measured.hot
  local lanes, width = feature(kernel, 4), known(r.vector_bytes) and r.vector_bytes // 4 or 16
  if lanes then
    add(1 - 16 * lanes / width, "arithmetic of the inner loops fills %.1f of %d f32 lanes",
        16 * lanes, width)
  end
  if hot and hot.calls and hot.calls[1] then
    add(0.95, "the costliest inner loop calls %s each turn", table.concat(
      collect(hot.calls, function(s) return "`" .. reply.excerpt(s, 40) .. "`" end), ", "))
  end
end

local waits = { long_scoreboard = "global or local memory", short_scoreboard = "shared memory",
  barrier = "barriers", math_pipe_throttle = "arithmetic pipes", wait = "fixed latencies",
  mio_throttle = "the shared-memory queue", lg_throttle = "the global-memory queue",
  not_selected = "their turn (enough warps are ready)", no_instruction = "instructions" }

local function on_gpu(add, kernel)
  local p = reply.list(kernel.profile)
  local o, stall = reply.list(p.occupancy), reply.at(p, "stalls", 1)
  local spilled, traffic = reply.at(p, "spills", "local_bytes"), reply.at(p, "traffic", "ratio")
  if known(o.waves) and o.waves < 1 then
    add(1 - o.waves, "%d blocks fill %.0f %% of the GPU", o.blocks, 100 * o.waves)
  end
  if known(o.possible) and o.limiter then
    add(0.8 * (1 - o.possible), "occupancy is held to %.0f %% by %s", 100 * o.possible, o.limiter)
  end
  if stall then
    add(stall.share, "warps wait for %s in %.0f %% of stalls", waits[stall.reason] or stall.reason,
        100 * stall.share)
  end
  if known(spilled) then add(0.9, "%d bytes a thread are spilled to local memory", spilled) end
  if known(traffic) then
    add(1 - 1 / math.max(traffic, 1), "it moves %.2f times its compulsory bytes", traffic)
  end
end

-- Findings of features, each { its place in phi, the value when all is well, how bad the worst is,
-- what the value is multiplied by in the text, the text }. lack: the text tells 1 - value. only:
-- features of this kind alone. look finds more.
local features = {
  c = { look = on_cpu,
    { 7, 0, 1, 100, "%.0f %% of the inner loops' memory accesses go to the stack" },
    { 8, 1, 0.9, 100, "%.0f %% of the inner loops' memory accesses are whole contiguous vectors" },
    { 5, 1, 1, 4, "%.2f instructions a cycle (counted)" },
    { 1, 1, 2, 100, "%.1f %% of cache references miss (counted)", lack = true },
    { 9, 1, 0.5, 100, "%.0f %% of arithmetic instructions are fused multiply-adds" } },
  cuda = { look = on_gpu, only = "measured",
    { 8, 1, 1, 100, "%.0f %% of the bytes moved are used" },
    { 4, 1, 1, 100, "%.0f %% of a warp's threads are active" },
    { 7, 0, 1, 100, "%.0f %% of shared-memory wavefronts come from bank conflicts" } },
}

-- The largest findings, the worst first, as a list of sentences.
local function findings(about)
  local list, kernel, rows = {}, about.kernel, features[about.language] or {}
  local function add(bad, form, ...)  -- how bad, from 0 to 1
    if bad > worth_telling then list[#list + 1] = { bad, form:format(...) } end
  end
  if rows.look then rows.look(add, kernel, about) end
  for _, f in ipairs(rows) do
    local v, kind = feature(kernel, f[1])
    if v and kind == (rows.only or kind) then
      add(f[3] * math.abs(f[2] - v), f[5], f[4] * (f.lack and 1 - v or v))
    end
  end
  return collect(lists.sorted(list, function(f) return -f[1] end), function(f, i)
    return i <= most_findings and f[2]
  end)
end

-- about: kernel, measured (tried.measured), task, device, language.
function words.profile(about)
  local measured = about.measured or {}
  local hot = reply.list(measured.hot)
  return { findings = findings(about), hot = type(hot.text) == "string" and hot,
           remarks = reply.list(measured.remarks),
           roofs = function(shape) return roofs(shape, about) end }
end

return words
