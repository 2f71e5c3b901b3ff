-- base/json.lua - JSON as the journal needs it: keys sorted, so that equal values
-- are equal texts, and numbers with all their digits, so that what is read
-- back decides as what was written did. lua-cjson does the reading and the
-- strings; its own encoder keeps 14 digits and no order.

local cjson = require "cjson"

-- {} itself is written as an object, and an absent field not at all.
local json = { empty_list = {}, null = cjson.null }

local function number(v)
  if v ~= v or v == math.huge or v == -math.huge then
    error("a number that is not finite cannot be written as JSON", 0)
  end
  if math.type(v) == "integer" or v == math.floor(v) and math.abs(v) < 2 ^ 53 then
    return ("%d"):format(v)
  end
  local short = ("%.15g"):format(v)
  return tonumber(short) == v and short or ("%.17g"):format(v)
end

-- lua-cjson escapes slashes, which JSON does not ask for.
local function text(v) return (cjson.encode(v):gsub("\\/", "/")) end

function json.encode(v)
  if type(v) == "number" then return number(v) end
  if type(v) ~= "table" then return text(v) end
  local parts = {}
  if #v > 0 or v == json.empty_list then
    for i = 1, #v do parts[i] = json.encode(v[i]) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for k in pairs(v) do
    if type(k) ~= "string" then error("a JSON object has text keys, not " .. type(k), 0) end
    parts[#parts + 1] = k
  end
  table.sort(parts)
  for i, k in ipairs(parts) do parts[i] = text(k) .. ":" .. json.encode(v[k]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- What lua-cjson decoded: whole numbers come back as integers and null as an absent field, which
-- is what they were before they were written.
function json.restore(v)
  if v == cjson.null then return nil end
  if type(v) == "number" then return math.tointeger(v) or v end
  if type(v) ~= "table" then return v end
  for k, x in pairs(v) do v[k] = json.restore(x) end
  return v
end

function json.decode(s)
  local ok, v = pcall(cjson.decode, s)
  if not ok then error(v, 0) end        -- without a line of this file
  return json.restore(v)
end

-- The object or list that a text is; nil for every other text, and for nil.
function json.table(s)
  local ok, v = pcall(cjson.decode, s)
  return ok and type(v) == "table" and json.restore(v) or nil
end

return json
