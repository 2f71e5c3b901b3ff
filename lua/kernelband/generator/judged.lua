-- generator/judged.lua - how a candidate is judged, as text for a model: the score, what inputs are
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

local function on_floats(task, dtype, add)
  local function tiny(atomics)
    return by_shape(task, "%.3g", function(s) return bound_of(task, dtype, s, atomics).tiny end)
  end
  local b = bound_of(task, dtype)
  local sums = task.accumulate or (dtype == "f64" and "f64" or "f32")
  local v = sums ~= dtype and (", v = %.3g (%s)"):format(b.u_acc, sums) or ""
  add("- Every element c of %s, r the float64 reference: |c - r| <= 4 u |r| + min(8 sqrt(K), K) %s "
    .. "s + t, u = %.3g (%s)%s, t = %s.", dtype, sums ~= dtype and "v" or "u", b.u_out, dtype, v,
      tiny())
  if task.language == "cuda" and tiny(true) ~= tiny() then
    add("  For a kernel with atomic additions, which flush denormal numbers to 0, t = %s.",
        tiny(true))
  end
end

-- An element of integers, or of an exact task, is equal; unless the task tolerates more.
local function bound(task, add)
  local made = collect(task.args, function(a) return tasks.is_made(a) and a.dtype end)
  local equal, floats = {}, {}
  for _, dtype in ipairs(lists.distinct(made)) do
    local b = bound_of(task, dtype)
    table.insert((b.exact or b.u_out == 0) and equal or floats, dtype)
  end
  if #equal > 0 then
    add(task.tolerance and "- Every element c of %s, r the reference: |c - r| <= %.3g."
        or "- Every element of %s must equal the reference, rounded to its type.",
        table.concat(equal, ", "), task.tolerance)
  end
  for _, dtype in ipairs(floats) do on_floats(task, dtype, add) end
  if #floats == 0 then return end
  local scaled = tasks.needs_scale(task)
  add("  K, terms summed into an element: %s. s: %s. On ties, integers, denormal%s inputs K stands "
    .. "in place of 8 sqrt(K).", by_shape(task, "%.0f", function(s)
      return tasks.bound(task, s).reduction
    end), scaled and "r of absolute inputs" or "|r|", scaled and "" or ", spikes, wide, lognormal")
  if #tasks.nudged(task) > 0 then
    add "  On top: eight times the mean move of r when each input moves by one rounding."
  end
end

-- The RMS error that is allowed at each timed shape: what the baseline showed there.
local function rms(task, baseline, add)
  local rooms, timed = reply.list(baseline.rooms), task.shapes.timed
  local cells = collect(not task.exact and timed or {}, function(s, i)
    local share = reply.at(rooms, #rooms - #timed + i, "base_share")
    return type(share) == "number" and ("%.2g"):format(share
           * math.max(8, math.sqrt(tasks.terms(task, "reduction", s))))
  end)
  if #cells == #timed then
    add("- RMS error over RMS of the answer, at the timed shapes in their order: at most %s "
      .. "(max(8, sqrt(K)) times the first version's).", table.concat(cells, ", "))
  end
end

-- about: task, baseline (its evaluation, or nil).
function judged.text(about)
  local task, baseline, out = about.task, about.baseline or {}, {}
  if not task.args or not task.shapes then return nil end
  local function add(form, ...) out[#out + 1] = form:format(...) end
  add("- Score: the geometric mean of its speed-ups over the first version at the timed shapes. "
    .. "Other shapes are checked too.")
  add("- Inputs, by secret seeds, are %s; z is a standard normal.%s", table.concat(
    collect(task.distributions or tasks.distributions, name), "; "), integers(task))
  local timed = reply.list(baseline.timed_kinds)
  if #timed > 0 then add("- Timed on %s.", table.concat(timed, ", ")) end
  bound(task, add)
  rms(task, baseline, add)
  return table.concat(out, "\n")
end

return judged
