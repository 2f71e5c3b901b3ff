-- llm/errors.lua - what a refused call means: try again (and when), leave a field
-- out, give this one up, or stop asking until a person has looked.
--
--   e = errors.read(body, censor)     body: text of any kind -> { message, type, code, param }
--   errors.of(table)                  the same from an error event
--   kind, why = errors.kind(status, headers, e)
--       "retry"   429, 5xx, 408, 409 and what servers say is for a moment
--       "pause"   the quota is spent: later
--       "stop"    key, model, request: not before somebody has mended it
--       "field"   a field of the request is not supported (why: its name, if named)
--       "refused" this one request: too long, or against the provider's rules
--   s = errors.wait_s(headers, now_s) what the server asks to wait; nil when it does not
local find  = require("kernelband.base.lists").find
local reply = require "kernelband.llm.reply"
local epoch_s = require("kernelband.base.text").epoch_s

local errors = {}

local function words(v) return type(v) == "string" and reply.excerpt(v, 400) or nil end

-- An error object as servers write it: OpenAI's and Anthropic's, FastAPI's
-- detail, or a bare message.
function errors.of(v)
  if type(v) == "string" then return { message = words(v) } end
  if type(v) ~= "table" then return {} end
  local inner = type(v.error) == "table" and v.error or v
  local code = inner.code
  local message = words(inner.message) or words(v.error) or words(v.detail)
  if not message and type(v.detail) == "table" then
    message = words(reply.at(v.detail, 1, "msg"))
    code = code or reply.at(v.detail, 1, "type")
  end
  return { message = message, type = words(inner.type), param = words(inner.param),
           code = words(code) or type(code) == "number" and ("%.0f"):format(code) or nil }
end

function errors.read(body, censor)
  local json = body:find "^%s*[{%[]" and reply.decode(body)
  body = censor(body)
  if json then
    local e = errors.of(censor(json[1] or json))
    e.message = e.message or reply.excerpt(body, 200)
    return e
  end
  return { message = body ~= "" and reply.excerpt((body:gsub("<[^<>]*>", " ")), 200) or nil }
end

local function mentions(e, list)
  local all = ((e.code or "") .. " " .. (e.type or "") .. " " .. (e.message or "")):lower()
  return find(list, function(word) return all:find(word, 1, true) end)
end

local quota = { "insufficient_quota", "credit_balance", "credit balance", "spend_limit",
                "usage_limit", "spend limit", "billing", "exceeded your current quota",
                "insufficient credits", "insufficient balance" }
local too_long = { "context_length_exceeded", "context length", "context window",
                   "maximum context", "prompt is too long", "too many tokens",
                   "request_too_large" }
local against_rules = { "content_policy", "content policy", "content_filter", "invalid_prompt",
                        "safety" }
local not_known = { "unsupported", "not support", "unknown", "unrecognized", "unrecognised",
                    "deprecated", "not permitted", "extra inputs", "extra fields", "not allowed",
                    "unexpected", "not available", "only the default", "unknown_parameter",
                    "does not accept", "extra_forbidden" }
local for_good = { invalid_request_error = true, authentication_error = true,
                   permission_error = true, not_found_error = true, billing_error = true }
local transient = { overloaded_error = true, api_error = true, rate_limit_error = true,
                    timeout_error = true, server_error = true, rate_limit_exceeded = true,
                    internal_server_error = true, overloaded = true }

function errors.kind(status, headers, e)
  if status == 402 or ((status == 429 or status == 400 or status == 403 or status == 200)
                       and mentions(e, quota)) then
    return "pause"
  end
  if status == 401 or status == 403 or status == 404 or status == 407 then return "stop" end
  local told = headers and headers["x-should-retry"]
  if told == "true" then return "retry" end
  if status == 413 or mentions(e, too_long) then return "refused" end
  if (status == 400 or status == 422) and mentions(e, not_known) then return "field" end
  if mentions(e, against_rules) then return "refused" end
  if told == "false" then return "pause" end
  if status == 408 or status == 409 or status == 429 or status >= 500
     or transient[e.type or ""] or transient[e.code or ""] then
    return "retry"
  end
  return status == 200 and not for_good[e.type or ""] and "retry" or "stop"
end

-- Which of the fields sent the refusal names: by param, or as a word of the text.
function errors.field(e, sent)
  local param = e.param and e.param:match "^[%w_]+"
  local text = e.message or ""
  return find(sent, function(name) return param == name end)
         or find(sent, function(name) return text:find("%f[%w_]" .. name .. "%f[^%w_]") end)
end

-- Time -------------------------------------------------------------------------

local months = { Jan = 1, Feb = 2, Mar = 3, Apr = 4, May = 5, Jun = 6, Jul = 7, Aug = 8, Sep = 9,
                 Oct = 10, Nov = 11, Dec = 12 }

local function date(text)
  local d, mo, y, h, mi, s = text:match "(%d%d?)[ -](%a%a%a)[ -](%d%d%d%d) (%d+):(%d+):(%d+)"
  if d and months[mo] then return epoch_s(y, months[mo], d, h, mi, s) end
  y, mo, d, h, mi, s = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)[Tt ](%d+):(%d+):(%d+%.?%d*)"
  if not y then return nil end
  local at = epoch_s(y, mo, d, h, mi, s)
  local sign, oh, om = text:match "([+-])(%d%d):?(%d%d)$"
  if sign then at = at - (sign == "+" and 1 or -1) * (oh * 3600 + om * 60) end
  return at
end

local unit_s = { h = 3600, m = 60, s = 1, ms = 1e-3, us = 1e-6, ns = 1e-9 }

-- "6m0s", "12ms", "1.5s"; a bare number is seconds.
local function duration(text)
  if tonumber(text) then return tonumber(text) end
  local sum, rest = 0, text
  while rest ~= "" do
    local n, unit, more = rest:match "^(%d+%.?%d*)(%a+)(.*)$"
    if not (n and unit_s[unit]) then return nil end
    sum, rest = sum + tonumber(n) * unit_s[unit], more
  end
  return text ~= "" and sum or nil
end

local function sane(s)
  if s and s == s and s >= 0 and s < 1e9 then return s end
end

-- Limits that are spent say when they are full again; where none says that it is
-- spent, the first that will be.
local function reset_s(headers, now_s)
  local spent, soonest
  for _, family in ipairs { "x-ratelimit-%s-", "anthropic-ratelimit-%s-" } do
    for _, what in ipairs { "requests", "tokens", "input-tokens", "output-tokens" } do
      local text = headers[family:format "reset" .. what]
                   or headers[("anthropic-ratelimit-%s-reset"):format(what)]
      local left = headers[family:format "remaining" .. what]
                   or headers[("anthropic-ratelimit-%s-remaining"):format(what)]
      local at = text and date(text)
      local s = text and sane(at and math.max(at - now_s, 0) or duration(text))
      if s and left and tonumber(left) == 0 then spent = math.max(spent or 0, s) end
      if s then soonest = math.min(soonest or s, s) end
    end
  end
  return spent or soonest
end

function errors.wait_s(headers, now_s)
  local ms = sane(tonumber(headers["retry-after-ms"] or ""))
  if ms then return ms / 1000 end
  local after = headers["retry-after"]
  if after then
    local s = sane(tonumber(after))
    if s then return s end
    local at = date(after)
    if at then return math.max(at - now_s, 0) end
  end
  return reset_s(headers, now_s)
end

return errors
