-- generator/judged.lua - how a candidate is judged, as text for a model: the score, what inputs are
-- drawn from, the bound on every element with its numbers, which are those that check.lua judges
-- by (core.bound, core/measure/tensor.h).
local collect = require("kernelband.base.lists").collect
local core    = require "kernelband.core"
local tasks   = require "kernelband.task"

local judged = {}

-- z is a standard normal.
local drawn = {
  normal = "z", wide = "z * 10^u, u from -3 to 3", uniform = "0 to 1", lognormal = "exp(1.5 z)",
  spikes = "z, one in 1000 is 100 z", ties = "runs of equal values", integers = "-8 to 8",
  denormal = "zeros and denormals among z",
}

local function names(list, with)
  return table.concat(collect(list, function(name)
    return with and drawn[name] and ("%s (%s)"):format(name, drawn[name]) or name
  end), with and "; " or ", ")
end

local function outputs(task)
  local seen = {}
  return collect(task.args, function(a)
    local new = tasks.is_made(a) and not seen[a.dtype]
    seen[a.dtype] = seen[a.dtype] or new
    return new and a.dtype
  end)
end

-- What the values above become in arrays of integers (tensor.h).
local function integers(task)
  local out = {}
  for _, a in ipairs(task.args) do
    local given = tasks.is_given(a)
    if given and a.below then
      out[#out + 1] = ("%s is drawn evenly below %s"):format(a.name, tostring(a.below))
    elseif given and core.bound(a.dtype, {}).u_out == 0 then
      out[#out + 1] = ("%s takes %s16 times that, rounded and saturated (integers as they "
        .. "are)"):format(a.name, a.dtype == "u8" and "the absolute value of " or "")
    end
  end
  return #out > 0 and " Of integer type: " .. table.concat(out, "; ") .. "." or ""
end

-- One figure where all timed shapes have the same, else a list of theirs.
local function by_shape(task, form, value)
  local out, same = {}, true
  for i, s in ipairs(task.shapes.timed) do
    out[i] = form:format(value(s))
    same = same and out[i] == out[1]
  end
  return same and out[1] or table.concat(out, ", ") .. " at the timed shapes in their order"
end

-- An element of integers, or of an exact task, is equal; unless the task tolerates more.
local function on_equality(task, dtypes, out)
  if task.tolerance then
    out[#out + 1] = ("- Every element c of %s, r the reference: |c - r| <= %.3g."):format(
      table.concat(dtypes, ", "), task.tolerance)
  else
    out[#out + 1] = ("- Every element of %s must equal the reference, rounded to its type."):format(
      table.concat(dtypes, ", "))
  end
end

local function on_floats(task, dtype, out)
  local function tiny(atomics)
    return by_shape(task, "%.3g", function(s)
      return core.bound(dtype, tasks.bound(task, s, atomics)).tiny
    end)
  end
  local b = core.bound(dtype, tasks.bound(task, task.shapes.timed[1]))
  local sums = task.accumulate or (dtype == "f64" and "f64" or "f32")
  local u, v = ("u = %.3g (%s)"):format(b.u_out, dtype), "u"
  if sums ~= dtype then u, v = ("%s, v = %.3g (%s)"):format(u, b.u_acc, sums), "v" end
  out[#out + 1] = ("- Every element c of %s, r the float64 reference: |c - r| <= 4 u |r| + "
    .. "min(8 sqrt(K), K) %s s + t, %s, t = %s."):format(dtype, v, u, tiny())
  if task.language == "cuda" and tiny(true) ~= tiny() then
    out[#out + 1] = ("  For a kernel with atomic additions, which flush denormal numbers to 0, "
      .. "t = %s."):format(tiny(true))
  end
end

local function bound(task, out)
  local equal, floats = {}, {}
  for _, dtype in ipairs(outputs(task)) do
    local b = core.bound(dtype, tasks.bound(task, task.shapes.timed[1]))
    local list = (b.exact or b.u_out == 0) and equal or floats
    list[#list + 1] = dtype
  end
  if #equal > 0 then on_equality(task, equal, out) end
  for _, dtype in ipairs(floats) do on_floats(task, dtype, out) end
  if #floats == 0 then return end
  local scaled = tasks.needs_scale(task)
  out[#out + 1] = ("  K, terms summed into an element: %s. s: %s. On %s inputs K stands in "
    .. "place of 8 sqrt(K)."):format(by_shape(task, "%.0f", function(s)
      return tasks.bound(task, s).reduction
    end), scaled and "r of absolute inputs" or "|r|",
    "ties, integers, denormal" .. (scaled and "" or ", spikes, wide, lognormal"))
  if #tasks.nudged(task) > 0 then
    out[#out + 1] = "  On top: eight times the mean move of r when each input moves by one "
                    .. "rounding."
  end
end

-- The RMS error that is allowed at each timed shape: what the baseline showed there.
local function rms(task, baseline, out)
  local rooms = baseline and baseline.rooms
  if type(rooms) ~= "table" or task.exact then return end
  local first = #rooms - #task.shapes.timed
  local cells = collect(task.shapes.timed, function(s, i)
    local share = (rooms[first + i] or {}).base_share
    return type(share) == "number" and ("%.2g"):format(share
           * math.max(8, math.sqrt(tasks.terms(task, "reduction", s))))
  end)
  if #cells == #task.shapes.timed then
    out[#out + 1] = ("- RMS error over RMS of the answer, at the timed shapes in their order: at "
      .. "most %s (max(8, sqrt(K)) times the first version's)."):format(table.concat(cells, ", "))
  end
end

-- about: task, baseline (its evaluation, or nil).
function judged.text(about)
  local task = about.task
  if not task.args or not task.shapes then return nil end
  local out = { "- Score: the geometric mean of its speed-ups over the first version at the "
                .. "timed shapes. Other shapes are checked too." }
  local kinds = task.distributions or tasks.distributions
  out[2] = "- Inputs, by secret seeds, are " .. names(kinds, true) .. "; z is a standard normal."
           .. integers(task)
  local timed = about.baseline and about.baseline.timed_kinds
  if type(timed) == "table" and #timed > 0 then
    out[3] = "- Timed on " .. names(timed) .. "."
  end
  bound(task, out)
  rms(task, about.baseline, out)
  return table.concat(out, "\n")
end

return judged
