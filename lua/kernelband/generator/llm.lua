-- generator/llm.lua - children from a language model, over HTTP.
--
--   kb.generator.llm { provider = "openai", model = "..." }
--
-- providers are listed in llm/providers.lua; base_url = "http://host:port/v1" with
-- provider = "openai" reaches any server that speaks its API. The key is taken from
-- the environment when the search starts and goes into request headers, nowhere else.
local client    = require "kernelband.llm.client"
local json      = require "kernelband.base.json"
local lists     = require "kernelband.base.lists"
local prices    = require "kernelband.llm.prices"
local prompt    = require "kernelband.generator.prompt"
local providers = require "kernelband.llm.providers"
local schema    = require "kernelband.base.schema"
local ask       = require "kernelband.generator.ask"

local rules = schema.declare("kb.generator.llm", {
  { "provider", "string", default = "openai", one_of = providers.names,
    doc = "whose interface the server speaks" },
  { "model", "string", check = function(s) return s ~= "", "a model's name" end,
    doc = "the model's name, as its provider calls it" },
  { "base_url", "string", optional = true, doc = "the server's address; else the provider's",
    check = function(s)
      return s:find "^https?://[^%s@]+$" ~= nil, "http(s)://host[:port][/path], without a password"
    end },
  { "api_key_env", "string", optional = true,
    doc = "the environment variable that holds the key; else the provider's",
    check = function(s) return s:find "^[%a_][%w_]*$" ~= nil,
      "the name of an environment variable, not the key itself" end },
  { "temperature", "number", optional = true, at_least = 0, doc = "sampling temperature" },
  { "effort", "string", optional = true, doc = "how much to reason, in the provider's words" },
  { "max_tokens", "integer", default = 32000, at_least = 16,
    doc = "the longest answer, in tokens" },
  { "extra", "table", optional = true, doc = "further fields of the request" },
  { "stream", "boolean", default = true, doc = "read the answer while it is written" },
  { "n_parallel", "integer", default = 16, at_least = 1, at_most = 1024,
    doc = "calls under way at once" },
  ask.repair, ask.prompt,
  { "prices", { "table", "string" }, optional = true,
    doc = "US dollars per million tokens by model, or a JSON file of them" },
  ask.record,
  { "attempts", "integer", default = 8, at_least = 1, at_most = 100,
    doc = "tries of a call that fails" },
  { "retry_s", "number", default = 1, at_least = 0,
    doc = "seconds until the first new try; they double" },
  { "patience_s", "number", default = 900, at_least = 0,
    doc = "the longest a call may be retried, in seconds" },
  { "connect_s", "number", default = 15, at_least = 0.001, doc = "seconds to connect" },
  { "idle_s", "number", default = 180, at_least = 0.001, doc = "seconds without a byte" },
  { "timeout_s", "number", default = 1200, at_least = 0.001, doc = "seconds for a whole call" },
  { "ca_file", "string", optional = true, doc = "certificates to trust, a PEM file" },
})

local who <const> = "kb.generator.llm"

-- Where to, and which variable's key goes there. A key of a well-known name goes to
-- the place it is for, or to the address that the environment gives beside it; to an
-- address of the script's only when the script names it.
local function address(opt, place)
  local base, key_env = opt.base_url, opt.api_key_env
  local own = (os.getenv(place.base_env or "") or ""):match ".+"
  if not base or base:gsub("/+$", "") == place.base then
    base, key_env = base or own or place.base, key_env or place.key_env
  end
  return base:gsub("/+$", ""), key_env
end

local function key_of(name, place, opt)
  if not name then return nil end
  local key = (os.getenv(name) or ""):gsub("%s+$", "")
  if key == "" and place.keyless and not opt.api_key_env then return nil end
  schema.must_at_call(key ~= "", who, "the environment variable %s is not set, and %s needs a key: "
    .. "export %s=..., or name another variable by api_key_env", name, opt.provider, name)
  schema.must_at_call(not key:find "[%c ]", who, "the environment variable %s holds a space or a "
    .. "control character, which no key has", name)
  return key
end

-- An organisation is told to the place that it is one of.
local function headers_of(place, key, opt)
  local headers = place.api.headers(key)
  for _, h in ipairs(not opt.base_url and place.organisation or {}) do
    local value = os.getenv(h[2])
    if value and value:find "^[%w_-]+$" then headers[#headers + 1] = { h[1], value } end
  end
  return headers
end

local function new(options)
  local opt = schema.options(options, rules, who)
  local place = providers.places[opt.provider]
  local base, key_env = address(opt, place)
  local key = key_of(key_env, place, opt)
  local book = prices.load(opt.prices)
  local spec = lists.with(opt, {
    place = place, base = base, key = key, key_env = key_env, prices = book,
    headers = headers_of(place, key, opt),
    local_server = place.local_server or opt.base_url ~= nil, refused = {},
  })
  return ask.generator {
    name = "llm", origin = ("llm %s %s"):format(opt.provider, opt.model), options = opt,
    identity = json.encode {            -- not where a model is reached
      kind = "llm", provider = opt.provider, model = opt.model, temperature = opt.temperature,
      effort = opt.effort, max_tokens = opt.max_tokens, extra = opt.extra, repair = opt.repair,
      prompt = prompt.identity(opt.prompt) },
    priced = place.tells_cost or book.known { opt.model, opt.provider .. "/" .. opt.model } ~= nil,
    begin = function(ctx)
      return client.new(lists.with(spec, { loop = ctx.loop, note = ctx.note }))
    end,
  }
end

return { new = new }
