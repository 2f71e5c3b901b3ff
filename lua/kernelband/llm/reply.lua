-- llm/reply.lua - reading what a server says, which may be anything: JSON within
-- bounds, text as valid UTF-8, numbers that are counts, and no secret in any of it.
local cjson   = require "cjson"
local restore = require "kernelband.base.json".restore
local utf8_of = require "kernelband.base.text".utf8

local reply = {}

local reader = cjson.new()              -- its settings are its own
reader.decode_max_depth(64)
reader.decode_invalid_numbers(false)

-- The object a text holds, null in it as an absent field, or nil and why not.
function reply.decode(text)
  local ok, value = pcall(reader.decode, text)
  if not ok then return nil, "malformed JSON: " .. reply.excerpt(tostring(value), 120) end
  if type(value) ~= "table" then return nil, "JSON that is no object" end
  return restore(value)
end

-- v.a.b[1] .. for reply.at(v, "a", "b", 1); nil when anything on the way is not there.
function reply.at(v, ...)
  for i = 1, select("#", ...) do
    if type(v) ~= "table" then return nil end
    v = v[select(i, ...)]
  end
  return v
end

function reply.text(v) return type(v) == "string" and v or nil end

function reply.list(v) return type(v) == "table" and v or {} end

local function within(v, most) return type(v) == "number" and v >= 0 and v <= most and v or nil end

-- A count of tokens, nil for what cannot be one.
function reply.count(v)
  v = within(v, 2 ^ 40)
  return v and math.floor(v)
end

-- Dollars, as some providers say them.
function reply.money(v) return within(v, 1e6) end

-- Valid UTF-8 without NUL: what is not becomes U+FFFD, one a byte.
function reply.utf8(s) return utf8_of((s:gsub("%z", ""))) end

-- The first n bytes of a text as one line of printable characters.
function reply.excerpt(s, n)
  s = reply.utf8(s:sub(1, n * 4)):gsub("[%c%s]+", " "):gsub("^ ", ""):gsub(" $", "")
  if #s <= n then return s end
  return s:sub(1, utf8.offset(s, 0, n + 1) - 1) .. "..."
end

-- A function that takes every secret out of a text, or out of all texts of a table;
-- secrets as they are, as JSON writes them and as addresses do. Shorter than 8 bytes
-- they are placeholders such as "EMPTY". It comes before texts are cut: a piece of a
-- secret would not be found.
function reply.censor(secrets)
  local hidden = {}
  for _, s in ipairs(secrets) do
    local escaped = s:gsub("[^%w%-_.~]", function(c) return ("%%%02X"):format(c:byte()) end)
    for _, form in ipairs(#s >= 8 and { s, cjson.encode(s):sub(2, -2), escaped } or {}) do
      hidden[#hidden + 1] = form:gsub("%W", "%%%0")     -- as a pattern
    end
  end
  local function censor(text)
    if type(text) == "table" then
      local out = {}
      for k, v in pairs(text) do out[censor(k)] = censor(v) end
      return out
    elseif type(text) == "string" then
      for _, pattern in ipairs(hidden) do text = text:gsub(pattern, "[key]") end
    end
    return text
  end
  return censor
end

return reply
