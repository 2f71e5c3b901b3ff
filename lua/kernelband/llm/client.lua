-- llm/client.lua - one question to a model: sent, streamed, tried again where that
-- helps, and counted.
--
--   c = client.new { place =, base =, key =, model =, ... }    (generator/llm.lua)
--   answer, why, code, record = c:ask(L, { system =, stable =, fresh = }, rng, note)
--
-- answer = { text, finish, model, id, usage, usd, usd_source, raw_usage (JSON),
--   status, attempts, first_s, total_s }; code is "EPAUSE" when the world refuses for
-- now (record.wait_s: for how long, where it says so), "ESTOP" until somebody has
-- mended it, "ECANCELED", or nil when this one question got no answer. record has
-- what is known in every case.
--
-- The key is in the headers of the request and nowhere else: every text that comes
-- back from here has gone through the censor.
local collect = require("kernelband.base.lists").collect
local core   = require "kernelband.core"
local errors = require "kernelband.llm.errors"
local events = require "kernelband.llm.events"
local jobs   = require "kernelband.base.jobs"
local json   = require "kernelband.base.json"
local reply  = require "kernelband.llm.reply"
local providers = require "kernelband.llm.providers"

local client = {}

local methods = {}
methods.__index = methods

local most_bytes <const> = 64 << 20
local kept_bytes <const> = 4096         -- of a body that is no stream, for messages
local gather_ns <const> = 1000000000   -- nobody waits for a piece of an answer
local broken_tries <const> = 3          -- for answers that make no sense

-- Fields that a server has refused, by address and model: left out from then on.
local refused = {}

function client.forget() refused = {} end

-- c: the options of kb.generator.llm and place, base, key, key_env, prices, headers, local_server.
function client.new(c)
  c.where = c.base .. " " .. c.model
  refused[c.where] = refused[c.where] or {}
  c.refused = refused[c.where]
  c.censor = reply.censor { c.key }
  c.not_before_ns = 0
  return setmetatable(c, methods)
end

local function to_ns(s) return math.tointeger(math.floor(math.min(s, 1e9) * 1e9)) end

-- The request --------------------------------------------------------------------

-- The body and the optional fields it sends.
local function body_of(self, question)
  local api = self.place.api
  local stream = self.stream and not self.refused.stream
  local body = api.body {
    model = self.model, system = question.system, stable = question.stable,
    fresh = question.fresh, max_tokens = self.max_tokens, temperature = self.temperature,
    effort = self.effort, stream = stream, local_server = self.local_server,
  }
  for name, value in pairs(self.extra or {}) do body[name] = value end
  for _, name in ipairs(api.optional) do
    local other = self.refused[name] and api.instead and api.instead[name]
    if other and not self.refused[other] then body[other] = body[name] or body[other] end
    if self.refused[name] then body[name] = nil end
  end
  return body, collect(api.optional, function(name) return body[name] ~= nil and name end), stream
end

-- Gathers what arrives: events when it is a stream, else text.
local function collector(api)
  local c = { result = providers.new_result(), bytes = 0, head = {}, kept = 0 }
  local stream = events.new()

  local function read(data, name)
    local value, why = reply.decode(data)
    if value then
      c.over = api.event(c.result, name, value)
    else
      c.broken = c.broken or why
    end
  end

  local function use(chunk)
    local _, why = stream:feed(chunk)
    while not why and not c.over do
      local data, name = stream:next()
      if not data then
        why = name
        break
      end
      c.events = true
      if data == "[DONE]" then c.over = true else read(data, name) end
    end
    if not c.over then c.broken = c.broken or why end
  end

  -- A stream begins with the name of a field or with a comment; JSON and HTML do not.
  function c.on_data(chunk)
    c.first_ns = c.first_ns or core.system.now_ns()
    c.bytes = c.bytes + #chunk
    if c.plain == nil and chunk:find "%S" then c.plain = chunk:find "^%s*[{%[<]" ~= nil end
    if c.plain or c.kept < kept_bytes then
      c.head[#c.head + 1], c.kept = chunk, c.kept + #chunk
    end
    if c.plain then return c.kept <= reply.most_bytes end
    use(chunk)
    return not c.broken
  end

  function c.finish() if not c.plain then use "\n\n" end end
  function c.text() return table.concat(c.head) end
  return c
end

-- One try. Returns result | nil, failure = { kind, why, status, wait_s }.
local function failure(self, kind, why, more)
  more = more or {}
  more.kind, more.why = kind, self.censor(why)
  return nil, more
end

local function refusal_of(self, status, headers, e, sent)
  local kind = errors.kind(status, headers, e)
  local why = ("%s %s"):format(status == 200 and "error" or "HTTP " .. status,
                               e.message or e.type or e.code or "without a word")
  local field = kind == "field" and errors.field(e, sent)
  if kind == "field" and not field then kind = "stop" end
  return failure(self, kind, why, { status = status, field = field,
    wait_s = (kind == "retry" or kind == "pause")
             and errors.wait_s(headers, core.system.wall_s()) or nil })
end

local function finish_of(self, got, result, sent, headers)
  if result.error then
    return refusal_of(self, 200, headers, errors.of(self.censor(result.error)), sent)
  elseif got.broken then
    return failure(self, "broken", got.broken)
  elseif result.refusal or result.finish == "refusal" then
    result.finish = "refusal"
  elseif result.empty or (#result.pieces == 0 and not result.finish) then
    return failure(self, "broken", "an answer without content")
  end
  return result
end

local function read_response(self, got, response, sent)
  local headers = response.headers or {}
  if response.status ~= 200 then
    return refusal_of(self, response.status, headers,
                      errors.read(got.text(), self.censor), sent)
  end
  got.finish()
  if got.events or got.broken then
    if not (got.over or got.result.finish or got.broken) then
      return failure(self, "broken", "the stream ended before the answer did")
    end
    return finish_of(self, got, got.result, sent, headers)
  end
  local value, why = reply.decode(got.text())
  if not value then
    local head = reply.excerpt(self.censor(got.text()), 100)
    local kind = reply.excerpt(headers["content-type"] or "none", 60)
    local page = kind:find("html", 1, true) and "; a page is no answer of an API: check base_url"
    return failure(self, "broken", ("%s (content-type %s): %s%s"):format(why, kind, head,
                                                                        page or ""))
  end
  return finish_of(self, got, self.place.api.whole(value), sent, headers)
end

local function try(self, L, question, record)
  local body, sent, stream = body_of(self, question)
  local headers = { { "content-type", "application/json" },
                    { "accept", stream and "text/event-stream" or "application/json" } }
  for _, h in ipairs(self.place.api.headers(self.key)) do headers[#headers + 1] = h end
  for _, h in ipairs(self.headers) do headers[#headers + 1] = h end
  local got = collector(self.place.api)
  local response, why, code, partial = L:http {
    url = self.base .. self.place.api.path, method = "POST", headers = headers,
    body = json.encode(body), connect_ns = to_ns(self.connect_s), ca_file = self.ca_file,
    idle_ns = to_ns(stream and self.idle_s or self.timeout_s), total_ns = to_ns(self.timeout_s),
    max_bytes = most_bytes, on_data = got.on_data, gather_ns = gather_ns,
  }
  record.first_s = got.first_ns and (got.first_ns - record.began_ns) / 1e9
  record.total_s = (core.system.now_ns() - record.began_ns) / 1e9
  if response and type(response.body) == "string" and response.body ~= "" then
    got.on_data(response.body)          -- a loop that kept it
  end
  if response then
    record.http_status = response.status
    record.request_id = response.headers and (response.headers["x-request-id"]
                                              or response.headers["request-id"])
    return read_response(self, got, response, sent)
  end
  record.http_status = partial and partial.status
  if code == "ECANCELED" and not got.broken then
    return failure(self, "cancelled", "cancelled")
  end
  -- The last event was there: what happened to the connection then is no matter.
  if got.over and not got.broken then return finish_of(self, got, got.result, sent, {}) end
  if got.broken then return failure(self, "broken", got.broken) end
  if partial and partial.status and partial.status >= 400 then
    return refusal_of(self, partial.status, partial.headers or {},
                      errors.read(got.text(), self.censor), sent)
  end
  local reason = partial and partial.reason           -- a certificate does not mend itself
  local kind = (reason == "tls" or code == "EINVAL") and "stop"
               or reason == "size" and "broken" or "retry"
  return failure(self, kind, tostring(why))
end

-- Trying again -------------------------------------------------------------------

-- What is waited before try n + 1: the server's word for it, or an exponential
-- delay up to two minutes, either spread so that many streams do not return at once.
local function delay_s(self, n, hint, rng)
  if hint then return hint * (1 + 0.1 * rng:uniform()) end
  return math.min(self.retry_s * 2.5 ^ (n - 1), 120) * (1 - 0.25 * rng:uniform())
end

local function leave_out(self, field, note)
  self.refused[field] = true
  if note then note(("%s does not take '%s': left out from now on"):format(self.model, field)) end
end

local function give_up(self, fail, tries)
  return ("%s: %s%s"):format(self.where, fail.why:gsub("([^.])%.$", "%1"),
    tries > 1 and (" (tried %d times)"):format(tries) or "")
end

local advice = {
  [401] = "check the key in %s", [403] = "the key in %s may not do this",
  [402] = "the account of the key in %s has no credit", [404] = "check model and base_url",
}

local function paused(self, fail, tries)
  local what = advice[fail.status or 0]
  return ("%s; %s, then resume"):format(give_up(self, fail, tries),
    what and what:format(self.key_env or "api_key_env") or "mend it or wait")
end

-- Answers, or nil, why, code; see above.
local function persist(self, L, question, rng, note, record)
  local until_ns = core.system.now_ns() + to_ns(self.patience_s)
  local broken = 0
  record.attempts, record.began_ns = 0, core.system.now_ns()
  while true do
    local early_ns = self.not_before_ns - core.system.now_ns()
    if early_ns > 0 and not L:sleep(early_ns) then return nil, "cancelled", "ECANCELED" end
    record.attempts = record.attempts + 1
    local result, fail = try(self, L, question, record)
    if result then return result end
    record.error, record.wait_s = fail.why, nil
    if fail.kind == "field" then
      leave_out(self, fail.field, note)
      record.attempts = record.attempts - 1
    elseif fail.kind == "refused" then
      return nil, fail.why
    elseif fail.kind == "cancelled" then
      return nil, fail.why, "ECANCELED"
    elseif fail.kind == "pause" or fail.kind == "stop" then
      record.wait_s = fail.wait_s
      return nil, paused(self, fail, record.attempts),
             fail.kind == "pause" and "EPAUSE" or "ESTOP"
    else
      broken = broken + (fail.kind == "broken" and 1 or 0)
      local wait_ns = to_ns(delay_s(self, record.attempts, fail.wait_s, rng))
      local now = core.system.now_ns()
      if record.attempts >= self.attempts or broken >= broken_tries
         or now + wait_ns > until_ns then
        record.wait_s = fail.wait_s
        return nil, paused(self, fail, record.attempts), "EPAUSE"
      end
      -- A server that says when: all of this generator's questions wait for it.
      if fail.wait_s then self.not_before_ns = math.max(self.not_before_ns, now + wait_ns) end
      if not L:sleep(wait_ns) then return nil, "cancelled", "ECANCELED" end
    end
  end
end

local function short(text) return text and reply.excerpt(text, 200) end

function methods:ask(L, question, rng, note)
  -- first_s and total_s count from the first try on.
  local record = { provider = self.provider, model = self.model, attempts = 0 }
  if self.loop ~= L then                -- n_parallel questions at a time
    self.loop, self.places = L, jobs.places(L, self.n_parallel)
  end
  local fine, result, text, status = pcall(self.places.use, persist, self, L, question, rng, note,
                                           record)
  if not fine then error(self.censor(tostring(result)), 0) end
  record.error = self.censor(record.error)
  record.request_id = short(self.censor(record.request_id))
  if not result then return nil, self.censor(text), status, record end
  record.error = nil
  local usage = result.usage
  local usd, source = self.prices:cost({ self.model, result.model,
                                         self.provider .. "/" .. self.model }, usage)
  record.model_returned = short(self.censor(result.model))
  record.request_id = record.request_id or short(self.censor(result.id))
  record.finish, record.usd, record.usd_source = short(result.finish), usd, source
  record.tokens_in, record.tokens_out = usage.input, usage.output
  record.tokens_cached, record.tokens_cache_write = usage.cached, usage.cache_write
  record.tokens_reasoning = usage.reasoning
  local fine_json, raw = pcall(json.encode, result.raw_usage)
  if result.raw_usage and fine_json then
    record.usage = reply.utf8(self.censor(raw):sub(1, 4096))
  end
  return { text = self.censor(reply.utf8(table.concat(result.pieces))), finish = result.finish,
           refusal = short(self.censor(result.refusal)), usage = usage, usd = usd },
         nil, nil, record
end

return client
