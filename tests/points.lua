-- points.lua - points of a schedule, for the tests that judge what it writes.
local points = {}

-- A valid one, each value as likely as another of its parameter.
function points.random(schedule, rng)
  local p
  repeat
    p = {}
    for _, parameter in ipairs(schedule.parameters) do
      p[parameter[1]] = parameter[2][rng:below(#parameter[2]) + 1]
    end
  until schedule.valid(p)
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
