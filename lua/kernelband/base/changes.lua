-- base/changes.lua - what one source has that another had not, in a line: parameters that moved,
-- else counts of lines and the names that came and went. Sources are strangers': of their
-- text only identifiers are told, and short pieces of lines, both marked as code.
--
--   changes.of(old, new [, old_params, new_params [, constants]]) -> text
--     constants: the parameters are constants of the sources, which may differ in more
local cut    = require("kernelband.base.text").cut
local diff   = require "kernelband.base.diff"
local lists  = require "kernelband.base.lists"
local normal = require "kernelband.base.source".normal

local changes = {}

local most_bytes <const> = 128 << 10    -- of a source whose lines are compared
local most_names <const> = 5
local most_params <const> = 6
local piece <const> = 44                -- bytes of a line that is told

local keywords = lists.places(lists.words [[
  auto break case char const continue default do double else enum extern float for goto if inline
  int long register restrict return short signed sizeof static struct switch typedef union unsigned
  void volatile while include define ifdef endif pragma def import from as in is and or not pass
  lambda None True False int8_t int16_t int32_t int64_t uint8_t uint32_t uint64_t size_t ptrdiff_t
]])

-- As code within a line of Markdown.
local function code(text, most)
  text = text:gsub("[^\x20-\x7e]", "?"):gsub("`", "'"):gsub("^%s+", ""):gsub("%s+$", "")
  return "`" .. cut(text, most or piece, "..") .. "`"
end
changes.code = code

-- Identifiers of a text and how often each stands there.
local function names_of(text)
  local count = {}
  for name in text:gmatch "[%a_][%w_]+" do
    if not keywords[name] then count[name] = (count[name] or 0) + 1 end
  end
  return count
end

-- Names that another text has not, those used most first: they tell most.
local function missing_in(other, count)
  local out = lists.collect(lists.keys(count), function(name) return not other[name] and name end)
  out = lists.sorted(out, function(name) return -count[name] end)
  out = lists.collect(out, function(name, i) return i <= most_names and code(name) end)
  return #out > 0 and table.concat(out, " ")
end

local function params(old, new)
  local out = lists.collect(lists.keys(new), function(name)
    return old[name] ~= nil and old[name] ~= new[name]
           and code(("%s = %s -> %s"):format(name, tostring(old[name]), tostring(new[name])))
  end)
  return #out > 0 and table.concat(out, ", ", 1, math.min(#out, most_params)) or nil
end

-- The first line that gave way to another, where no name came or went.
local function replaced(list)
  local before
  for _, e in ipairs(list) do
    local remark = e[2]:find "^%s*//" or e[2]:find "^%s*/?%*" or e[2]:find "^%s*#%s"
    if e[1] == "-" and not remark then before = before or e[2] end
    if e[1] == "+" and before then return ("%s -> %s"):format(code(before), code(e[2])) end
  end
end

function changes.of(old, new, old_params, new_params, constants)
  local moved = old_params and new_params and params(old_params, new_params)
  if moved and not constants then return moved end
  if #old > most_bytes or #new > most_bytes then return "another source" end
  local list = diff.lines(old, new)
  local before, now = names_of(normal(old)), names_of(normal(new))      -- without comments
  local came, went = missing_in(before, now), missing_in(now, before)
  local out = { ("+%d -%d lines"):format(diff.count(list)) }
  if came then out[#out + 1] = "new: " .. came end
  if went then out[#out + 1] = "gone: " .. went end
  if #out == 1 and not moved then out[2] = replaced(list) end
  out[#out + 1] = moved
  return table.concat(out, ", ")
end

return changes
