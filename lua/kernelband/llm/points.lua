-- llm/points.lua - first points from a model: sets of a schedule's parameters, asked for once,
-- before the search knows anything.
--
--   points.ask(parameters, file) -> the fresh part's end: what is asked, and in which form
--   points.read(text, parameters) -> list of { name = value }, how many were left out
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local lists    = require "kernelband.base.lists"
local markdown = require "kernelband.llm.markdown"
local prose    = require("kernelband.base.path").prose
local reply    = require "kernelband.llm.reply"
local text     = require "kernelband.base.text"

local points = {}

local least <const>, most <const> = 8, 16
local most_head <const> = 60            -- lines of the schedule's file

local function listed(parameters)
  return table.concat(lists.collect(parameters, function(p)
    return ("- `%s`: %s"):format(p[1], table.concat(lists.collect(p[2], json.encode), ", "))
  end), "\n")
end

-- The head of the schedule's file, where it says all the parameters: comments tell what they do.
local function head_of(file, parameters)
  local lines = text.lines(file and core.system.read_file(file) or "")
  local head = table.concat(lines, "\n", 1, math.min(#lines, most_head))
  return not lists.find(parameters, function(p)
    return not head:find('"' .. p[1] .. '"', 1, true)
  end) and head or nil
end

function points.ask(parameters, file)
  local head = head_of(file, parameters)
  return prose("llm/points.md", { LEAST = least, MOST = most, NAME = parameters[1][1],
    VALUE = json.encode(parameters[1][2][1]),
    PARAMETERS = head and "```lua\n" .. head .. "\n```" or listed(parameters) })
end

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
    local fit = #out < most and type(set) == "table" and fitted(set, parameters)
    if fit then out[#out + 1] = fit else lost = lost + 1 end
  end
  return out, lost
end

return points
