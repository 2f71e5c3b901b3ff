-- generator/judged.lua - how a candidate is judged, in words for prompt.in: what inputs are
-- drawn from, the bound on every element with its numbers, which are those that check.lua judges
-- by (core.bound, core/measure/tensor.h).
local core  = require "kernelband.core"
local lists = require "kernelband.base.lists"
local reply = require "kernelband.llm.reply"
local tasks = require "kernelband.task"

local collect = lists.collect

local judged = {}

-- z is a standard normal.
local drawn = {
  normal = "z", wide = "z * 10^u, u from -3 to 3", uniform = "0 to 1", lognormal = "exp(1.5 z)",
  spikes = "z, one in 1000 is 100 z", ties = "runs of equal values", integers = "-8 to 8",
  denormal = "zeros and denormals among z",
}

local function name(kind) return drawn[kind] and ("%s (%s)"):format(kind, drawn[kind]) or kind end

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
  local other = lists.find(out, function(text) return text ~= out[1] end)
  return other and table.concat(out, ", ") .. " at the timed shapes in their order" or out[1]
end

local function bound_of(task, dtype, shape, atomics)
  return core.bound(dtype, tasks.bound(task, shape or task.shapes.timed[1], atomics))
end

-- What the bound on floats of a type is made of, as text.
local function of_floats(task, dtype)
  local function tiny(atomics)
    return by_shape(task, "%.3g", function(s) return bound_of(task, dtype, s, atomics).tiny end)
  end
  local b = bound_of(task, dtype)
  local sums = task.accumulate or (dtype == "f64" and "f64" or "f32")
  return { dtype = dtype, u = ("%.3g"):format(b.u_out), sums = sums,
           v = sums ~= dtype and ("%.3g"):format(b.u_acc), t = tiny(),
           t_atomic = tiny(task.language == "cuda") }
end

-- The RMS error that is allowed at each timed shape: what the baseline showed there.
local function rms(task, baseline)
  local rooms, timed = reply.list(baseline.rooms), task.shapes.timed
  local cells = collect(not task.exact and timed or {}, function(s, i)
    local share = reply.at(rooms, #rooms - #timed + i, "base_share")
    return type(share) == "number" and ("%.2g"):format(share
           * math.max(8, math.sqrt(tasks.terms(task, "reduction", s))))
  end)
  return #cells == #timed and table.concat(cells, ", ")
end

-- about: task, baseline (its evaluation, or nil). An element of integers, or of an exact task, is
-- equal; unless the task tolerates more.
function judged.values(about)
  local task, baseline = about.task, about.baseline or {}
  if not task.args or not task.shapes then return nil end
  local made = collect(task.args, function(a) return tasks.is_made(a) and a.dtype end)
  local dtypes, exact = lists.distinct(made), {}
  for _, dtype in ipairs(dtypes) do
    local b = bound_of(task, dtype)
    exact[dtype] = b.exact or b.u_out == 0
  end
  local equal = collect(dtypes, function(dtype) return exact[dtype] and dtype end)
  local kinds = reply.list(baseline.timed_kinds)
  return {
    inputs = table.concat(collect(task.distributions or tasks.distributions, name), "; "),
    integers = integers(task), kinds = #kinds > 0 and table.concat(kinds, ", "),
    equal = #equal > 0 and table.concat(equal, ", "),
    floats = collect(dtypes, function(d) return not exact[d] and of_floats(task, d) end),
    terms = by_shape(task, "%.0f", function(s) return tasks.bound(task, s).reduction end),
    scaled = tasks.needs_scale(task), nudged = #tasks.nudged(task) > 0, rms = rms(task, baseline) }
end

return judged
