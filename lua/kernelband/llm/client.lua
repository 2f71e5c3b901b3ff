-- llm/client.lua - one question to a model: sent, streamed, tried again where that
-- helps, and counted.
--
--   ask = client.new { place =, base =, key =, model =, loop =, note =, ... }  (generator/llm.lua)
--   answer, why, code, record = ask({ system =, stable =, fresh = }, rng)
--
-- answer = { text, finish, refusal }; code is "EPAUSE" when the world refuses for now
-- (record.wait_s: for how long, where it says so), "ESTOP" until somebody has mended it,
-- "ECANCELED", or nil when this one question got no answer. record has what is known in
-- every case: tries, times, tokens, dollars.
--
-- The key is in the headers of the request and nowhere else: every text that comes
-- back from here has gone through the censor.
local core      = require "kernelband.core"
local errors    = require "kernelband.llm.errors"
local events    = require "kernelband.llm.events"
local jobs      = require "kernelband.base.jobs"
local json      = require "kernelband.base.json"
local lists     = require "kernelband.base.lists"
local reply     = require "kernelband.llm.reply"

local collect, with, now_ns = lists.collect, lists.with, core.system.now_ns

local client = {}

local most_bytes <const> = 64 << 20
local gather_ns <const> = 1000000000    -- nobody waits for a piece of an answer
local broken_tries <const> = 3          -- for answers that make no sense

local function to_ns(s) return math.tointeger(math.floor(math.min(s, 1e9) * 1e9)) end

-- The request --------------------------------------------------------------------

-- The body, and the optional fields it sends.
local function body_of(self, question)
  local api = self.place.api
  local asked = with(with(self, question), { stream = self.stream and not self.refused.stream })
  local body = with(api.body(asked), self.extra)
  for _, name in ipairs(api.optional) do
    local other = self.refused[name] and api.instead and api.instead[name]
    if other and not self.refused[other] then body[other] = body[name] or body[other] end
    if self.refused[name] then body[name] = nil end
  end
  return body, collect(api.optional, function(name) return body[name] ~= nil and name end)
end

-- Gathers what arrives: events when it is a stream, else text. JSON and HTML hold no events.
local function collector(api)
  local c, head = { result = { pieces = {}, usage = {}, raw_usage = {} } }, {}
  local feed = events.reader(function(data, name)
    if c.over then return end
    local value, why = reply.decode(data)
    c.events = true
    if value then
      c.over = api.event(c.result, value, name)
    elseif data == "[DONE]" then
      c.over = true
    else
      c.broken = c.broken or why
    end
  end)

  function c.on_data(chunk)
    c.first_ns = c.first_ns or now_ns()
    if not c.events then head[#head + 1] = chunk end
    local _, why = feed(chunk)
    if not c.over then c.broken = c.broken or why end
    return not c.broken
  end

  function c.text() return table.concat(head) end
  return c
end

-- One try: result | nil, failure = { kind, why, status, field, wait_s }. ------------------

local function failure(kind, why) return nil, { kind = kind, why = why } end

local function refusal_of(status, headers, e, sent)
  local kind, field = errors.kind(status, headers, e, sent)
  return nil, { kind = kind, field = field, status = status,
    wait_s = errors.wait_s(headers, core.system.wall_s()),
    why = ("%s %s"):format(status == 200 and "error" or "HTTP " .. status,
                           e.message or e.type or e.code or "without a word") }
end

-- What is wrong with text that is no stream of events, or nil: it is in the result.
local function read_whole(self, got, headers)
  local value, why = reply.decode(got.text())
  if value then self.place.api.whole(got.result, value) end
  local kind = reply.excerpt(headers["content-type"] or "none", 60)
  return not value and ("%s (content-type %s): %s%s"):format(why, kind,
    reply.excerpt(self.censor(got.text()), 100), kind:find("html", 1, true)
    and "; a page is no answer of an API: check base_url" or "")
end

local function read_response(self, got, response, sent)
  local headers, result = response.headers or {}, got.result
  if response.status ~= 200 then
    return refusal_of(response.status, headers, errors.read(got.text(), self.censor), sent)
  end
  got.on_data "\n\n"                   -- the end of the last event
  local broken = got.broken
  if not (got.events or broken) then
    broken = read_whole(self, got, headers)
  elseif not (got.over or result.finish) then
    broken = broken or "the stream ended before the answer did"
  end
  if result.error then
    return refusal_of(200, headers, errors.of(self.censor(result.error)), sent)
  end
  if result.refusal then result.finish = "refusal" end
  if not (result.finish or result.pieces[1]) then broken = broken or "an answer without content" end
  if broken then return failure("broken", broken) end
  return result
end

local function try(self, question, record)
  local body, sent = body_of(self, question)
  local api, got = self.place.api, collector(self.place.api)
  local response, why, code, partial = self.loop:http {
    url = self.base .. api.path, method = "POST", headers = self.headers, body = json.encode(body),
    connect_ns = to_ns(self.connect_s), total_ns = to_ns(self.timeout_s),
    idle_ns = to_ns(body.stream and self.idle_s or self.timeout_s), ca_file = self.ca_file,
    max_bytes = most_bytes, on_data = got.on_data, gather_ns = gather_ns,
  }
  local seen = response or partial or {}
  local said = seen.headers or {}
  record.first_s = got.first_ns and (got.first_ns - record.began_ns) / 1e9
  record.total_s = (now_ns() - record.began_ns) / 1e9
  record.http_status = seen.status
  record.request_id = said["x-request-id"] or said["request-id"]
  if code == "ECANCELED" then return failure("cancelled", why) end
  -- Where the last event was there, what happened to the connection then is no matter.
  if response or got.over or got.broken or seen.status and seen.status >= 400 then
    return read_response(self, got, seen, sent)
  end
  local kind = (seen.reason == "tls" or code == "EINVAL") and "stop"    -- does not mend itself
               or seen.reason == "size" and "broken" or "retry"
  return failure(kind, why)
end

-- Trying again -------------------------------------------------------------------

-- What is waited before try n + 1: the server's word for it, or an exponential
-- delay up to two minutes, either spread so that many streams do not return at once.
local function delay_s(self, n, hint, rng)
  if hint then return hint * (1 + 0.1 * rng:uniform()) end
  return math.min(self.retry_s * 2.5 ^ (n - 1), 120) * (1 - 0.25 * rng:uniform())
end

local advice = {
  [401] = "check the key in %s", [403] = "the key in %s may not do this",
  [402] = "the account of the key in %s has no credit", [404] = "check model and base_url",
}

local function paused(self, fail, tries)
  local what = advice[fail.status] or "mend it or wait"
  return ("%s %s: %s%s; %s, then resume"):format(self.base, self.model,
    fail.why:gsub("([^.])%.$", "%1"), tries > 1 and (" (tried %d times)"):format(tries) or "",
    what:format(self.key_env or "api_key_env"))
end

-- A result, or nil, why, code; see above.
local function persist(self, question, rng, record)
  local L, broken = self.loop, 0
  record.began_ns = now_ns()
  local until_ns = record.began_ns + to_ns(self.patience_s)
  while true do
    local early_ns = self.not_before_ns - now_ns()
    if early_ns > 0 and not L:sleep(early_ns) then return nil, "cancelled", "ECANCELED" end
    record.attempts = record.attempts + 1
    local result, fail = try(self, question, record)
    if result then return result end
    local kind = fail.kind
    record.error, record.wait_s = fail.why, fail.wait_s
    if kind == "field" then
      self.refused[fail.field], record.attempts = true, record.attempts - 1
      self.note(("%s does not take '%s': left out from now on"):format(self.model, fail.field))
    elseif kind == "refused" or kind == "cancelled" then
      return nil, fail.why, kind == "cancelled" and "ECANCELED" or nil
    else
      local again = kind == "retry" or kind == "broken"
      local wait_ns = again and to_ns(delay_s(self, record.attempts, fail.wait_s, rng))
      local now = now_ns()
      broken = broken + (kind == "broken" and 1 or 0)
      if not again or record.attempts >= self.attempts or broken >= broken_tries
         or now + wait_ns > until_ns then
        return nil, paused(self, fail, record.attempts), kind == "stop" and "ESTOP" or "EPAUSE"
      end
      -- A server that says when: all of this generator's questions wait for it.
      if fail.wait_s then self.not_before_ns = math.max(self.not_before_ns, now + wait_ns) end
      if not L:sleep(wait_ns) then return nil, "cancelled", "ECANCELED" end
    end
  end
end

local function ask(self, question, rng)
  local function short(text) return text and reply.excerpt(self.censor(text), 200) end
  -- first_s and total_s count from the first try on.
  local record = { provider = self.provider, model = self.model, attempts = 0 }
  local fine, result, text, status = pcall(self.places.use, persist, self, question, rng, record)
  if not fine then error(self.censor(tostring(result)), 0) end
  record.error = not result and self.censor(record.error) or nil
  record.request_id = short(record.request_id or result and result.id)
  if not result then return nil, self.censor(text), status, record end
  record = with(record, result.usage)
  record.model_returned, record.finish = short(result.model), short(result.finish)
  record.usd, record.usd_source = self.prices.cost({ self.model, result.model,
                                                     self.provider .. "/" .. self.model },
                                                   result.usage)
  local encoded, raw = pcall(json.encode, result.raw_usage)
  if encoded and next(result.raw_usage) then
    record.usage = reply.utf8(self.censor(raw):sub(1, 4096))
  end
  return { text = self.censor(reply.utf8(table.concat(result.pieces))), finish = result.finish,
           refusal = short(result.refusal) }, nil, nil, record
end

-- c: the options of kb.generator.llm and place, base, key, key_env, prices, headers, local_server,
-- loop, note, refused: a table of fields that the server has refused, left out from then on.
function client.new(c)
  local self = with(c, { censor = reply.censor { c.key }, not_before_ns = 0,
                         places = jobs.places(c.loop, c.n_parallel) })
  return function(question, rng) return ask(self, question, rng) end
end

return client
