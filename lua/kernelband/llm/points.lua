-- llm/points.lua - first points from a model: sets of a schedule's parameters, asked for once,
-- before the search knows anything.
--
--   points.least, points.most     how many are asked for
--   points.read(text, parameters) -> list of { name = value }, how many were left out
local lists    = require "kernelband.base.lists"
local markdown = require "kernelband.llm.markdown"
local reply    = require "kernelband.llm.reply"

local points = { least = 8, most = 16 }

-- The list that an answer holds: in its last block that is one, or bare.
local function list_of(said)
  local found
  for _, b in ipairs(markdown.blocks(said) or {}) do
    local list = b.text:find "^%s*%[" and reply.decode(b.text)
    if list and list[1] then found = list end
  end
  local bare = not found and said:match "^[^%[]*(%b[])"
  return reply.list(found or bare and reply.decode(bare))
end

-- The set with each value as the schedule has it, what is not named as in the first version;
-- nil where a value is none of the parameter's.
local function fitted(set, parameters)
  local out = {}
  for _, p in ipairs(parameters) do
    local given = set[p[1]]
    if given == nil then given = p[2][1] end
    local at = lists.places(p[2])[given]
    if not at then return nil end
    out[p[1]] = p[2][at]
  end
  return out
end

function points.read(said, parameters)
  local out, lost = {}, 0
  for _, set in ipairs(list_of(reply.utf8(said))) do
    local fit = #out < points.most and type(set) == "table" and fitted(set, parameters)
    if fit then out[#out + 1] = fit else lost = lost + 1 end
  end
  return out, lost
end

return points
