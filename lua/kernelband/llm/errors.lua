-- llm/errors.lua - what a refused call means: try again (and when), leave a field
-- out, give this one up, or stop asking until a person has looked.
--
--   e = errors.read(body, censor)     body: text of any kind -> { message, type, code, param }
--   errors.of(table)                  the same from an error event
--   kind, field = errors.kind(status, headers, e, sent)     sent: names of optional fields
--       "retry"   429, 5xx, 408, 409 and what servers say is for a moment
--       "pause"   the quota is spent: later
--       "stop"    key, model, request: not before somebody has mended it
--       "field"   this one of the fields sent is not supported
--       "refused" this one request: too long, or against the provider's rules
--   s = errors.wait_s(headers, now_s) what the server asks to wait; nil when it does not
local epoch_s = require("kernelband.base.text").epoch_s
local lists   = require "kernelband.base.lists"
local reply   = require "kernelband.llm.reply"

local errors = {}

local function words(v) return type(v) == "string" and reply.excerpt(v, 400) or nil end

-- An error object as servers write it: OpenAI's and Anthropic's, FastAPI's
-- detail, or a bare message.
function errors.of(v)
  if type(v) ~= "table" then return { message = words(v) } end
  local inner = type(v.error) == "table" and v.error or v
  local code = inner.code or reply.at(v, "detail", 1, "type")
  local message = words(inner.message) or words(v.error) or words(v.detail)
                  or words(reply.at(v, "detail", 1, "msg"))
  return { message = message, type = words(inner.type), param = words(inner.param),
           code = words(code) or type(code) == "number" and ("%.0f"):format(code) or nil }
end

function errors.read(body, censor)
  local json = reply.decode(body)
  local e = json and errors.of(censor(json[1] or json)) or {}
  body = censor(body)
  if not e.message and body ~= "" then
    e.message = reply.excerpt((body:gsub("<[^<>]*>", " ")), 200)
  end
  return e
end

local function mentions(e, list)
  local all = ((e.code or "") .. " " .. (e.type or "") .. " " .. (e.message or "")):lower()
  return lists.find(list, function(word) return all:find(word, 1, true) end)
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
local for_good = lists.places { "invalid_request_error", "authentication_error",
  "permission_error", "not_found_error", "billing_error" }
local transient = lists.places { "overloaded_error", "api_error", "rate_limit_error",
  "timeout_error", "server_error", "rate_limit_exceeded", "internal_server_error", "overloaded" }
local quota_statuses = lists.places { 429, 400, 403, 200 }
local key_statuses = lists.places { 401, 403, 404, 407 }
local busy_statuses = lists.places { 408, 409, 429 }

-- Which of the fields sent the refusal names: by param, or as a word of the text.
local function field_of(e, sent)
  local param, text = (e.param or ""):match "^[%w_]*", e.message or ""
  return lists.places(sent)[param] and param
         or lists.find(sent, function(name) return text:find("%f[%w_]" .. name .. "%f[^%w_]") end)
end

function errors.kind(status, headers, e, sent)
  if status == 402 or quota_statuses[status] and mentions(e, quota) then return "pause" end
  if key_statuses[status] then return "stop" end
  local told = headers and headers["x-should-retry"]
  if told == "true" then return "retry" end
  if status == 413 or mentions(e, too_long) then return "refused" end
  if (status == 400 or status == 422) and mentions(e, not_known) then
    local field = field_of(e, sent)
    return field and "field" or "stop", field
  end
  if mentions(e, against_rules) then return "refused" end
  if told == "false" then return "pause" end
  local again = busy_statuses[status] or status >= 500 or transient[e.type] or transient[e.code]
                or status == 200 and not for_good[e.type]
  return again and "retry" or "stop"
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
  local sum, rest = 0, text:gsub("^[%d.]+$", "%0s")
  while rest ~= "" do
    local n, unit, more = rest:match "^(%d+%.?%d*)(%a+)(.*)$"
    if not (n and unit_s[unit]) then return nil end
    sum, rest = sum + tonumber(n) * unit_s[unit], more
  end
  return text ~= "" and sum or nil
end

-- Seconds from now to a date or of a duration; nil for what is neither.
local function seconds(text, now_s)
  local at = text and date(text)
  local s = at and math.max(at - now_s, 0) or text and duration(text)
  return s and s < 1e9 and s or nil
end

-- Limits that are spent say when they are full again; where none says that it is
-- spent, the first that will be.
local function reset_s(headers, now_s)
  local spent, soonest
  for _, what in ipairs { "requests", "tokens", "input-tokens", "output-tokens" } do
    for _, form in ipairs { "x-ratelimit-%s-" .. what, "anthropic-ratelimit-" .. what .. "-%s" } do
      local s = seconds(headers[form:format "reset"], now_s)
      local left = tonumber(headers[form:format "remaining"] or "")
      if s and left == 0 then spent = math.max(spent or 0, s) end
      if s then soonest = math.min(soonest or s, s) end
    end
  end
  return spent or soonest
end

function errors.wait_s(headers, now_s)
  local ms = tonumber(headers["retry-after-ms"])
  if ms and ms >= 0 and ms < 1e12 then return ms / 1000 end
  return seconds(headers["retry-after"], now_s) or reset_s(headers, now_s)
end

return errors
