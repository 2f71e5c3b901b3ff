-- points.lua - points of a schedule, for the tests that judge what it writes.
local points = {}

local function draw(schedule, pick)
  local p = {}
  for _, parameter in ipairs(schedule.parameters) do
    p[parameter[1]] = parameter[2][pick(#parameter[2])]
  end
  return p
end

-- What the baseline does.
function points.first(schedule) return draw(schedule, function() return 1 end) end

-- Any, valid or not; each value as likely as another of its parameter.
function points.random(schedule, rng)
  return draw(schedule, function(n) return rng:below(n) + 1 end)
end

function points.valid(schedule, rng)
  local p
  repeat p = points.random(schedule, rng) until schedule.valid(p)
  return p
end

-- "a=1 b=2", in the schedule's order.
function points.describe(schedule, p)
  local words = {}
  for i, parameter in ipairs(schedule.parameters) do
    words[i] = ("%s=%s"):format(parameter[1], p[parameter[1]])
  end
  return table.concat(words, " ")
end

return points
