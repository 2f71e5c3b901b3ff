-- base/json.lua - JSON as the journal needs it: keys sorted, so that equal values
-- are equal texts, and numbers with all their digits, so that what is read
-- back decides as what was written did. lua-cjson does the reading and the
-- strings; its own encoder keeps 14 digits and no order.

local cjson = require "cjson"

local json = { empty_list = {} }        -- {} itself is written as an object

local function number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v ~= v or v == math.huge or v == -math.huge then
    error("a number that is not finite cannot be written as JSON", 0)
  end
  if v == math.floor(v) and math.abs(v) < 2 ^ 53 then
    return ("%d"):format(v)
  end
  local short = ("%.15g"):format(v)
  return tonumber(short) == v and short or ("%.17g"):format(v)
end

-- lua-cjson escapes slashes, which JSON does not ask for.
local function text(v) return (cjson.encode(v):gsub("\\/", "/")) end

local write

local function object(t, out)
  local keys = {}
  for k in pairs(t) do
    if type(k) ~= "string" then
      error("a JSON object has text keys, not " .. type(k), 0)
    end
    keys[#keys + 1] = k
  end
  table.sort(keys)
  out[#out + 1] = "{"
  for i, k in ipairs(keys) do
    if i > 1 then out[#out + 1] = "," end
    out[#out + 1] = text(k) .. ":"
    write(t[k], out)
  end
  out[#out + 1] = "}"
end

function write(v, out)
  local kind = type(v)
  if kind == "number" then
    out[#out + 1] = number(v)
  elseif kind == "table" and #v > 0 then
    for i = 1, #v do
      out[#out + 1] = i == 1 and "[" or ","
      write(v[i], out)
    end
    out[#out + 1] = "]"
  elseif v == json.empty_list then
    out[#out + 1] = "[]"
  elseif kind == "table" then
    object(v, out)
  else
    out[#out + 1] = text(v)
  end
end

function json.encode(v)
  local out = {}
  write(v, out)
  return table.concat(out)
end

-- Whole numbers come back as integers and null as an absent field, which is
-- what they were before they were written.
local function restore(v)
  if v == cjson.null then return nil end
  if type(v) == "number" then return math.tointeger(v) or v end
  if type(v) ~= "table" then return v end
  for k, x in pairs(v) do v[k] = restore(x) end
  return v
end

function json.decode(s)
  local ok, v = pcall(cjson.decode, s)
  if not ok then error(v, 0) end        -- without a line of this file
  return restore(v)
end

-- The object or list that a text is; nil for every other text, and for nil.
function json.table(s)
  local ok, v = pcall(cjson.decode, s)
  return ok and type(v) == "table" and restore(v) or nil
end

return json
