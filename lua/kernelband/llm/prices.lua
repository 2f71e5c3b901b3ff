-- llm/prices.lua - what a call costs, in dollars. No prices are built in: they
-- change, and a wrong one is worse than none.
--
--   p = prices.load { ["model-x"] = { input = 2.5, cached = 0.25, output = 10 } }
--   p = prices.load "model_prices.json"       a file in LiteLLM's format
--   usd, source = p.cost({ "model-x", "model-x-2026-01" }, usage)
--   p.known({ "model-x", .. })                the first of these that has a price
--
-- Prices are dollars a million tokens. cached defaults to input, cache_write to
-- 1.25 times input. usage = { tokens_in =, tokens_cached =, tokens_cache_write =, tokens_out =,
-- usd = }; tokens_in counts all of the prompt, cached and written tokens included. What the
-- provider says a call cost comes before any table. An unknown price is nil,
-- "unknown", never 0.
local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"
local reply  = require "kernelband.llm.reply"
local schema = require "kernelband.base.schema"

local prices = {}

local who <const> = "kb.generator.llm"

local rules = {
  { "input", "number", at_least = 0 }, { "output", "number", at_least = 0 },
  { "cached", "number", optional = true, at_least = 0 },
  { "cache_write", "number", optional = true, at_least = 0 },
}

local function per_million(v) return reply.money(v) and v * 1e6 end

local function from_file(file)
  local text, why = core.system.read_file(file)
  local all, fault = reply.decode(schema.must_at_call(text, who, "prices: %s", why))
  schema.must_at_call(all, who, "prices: %s: %s", file, fault)
  local models = {}
  for name, p in pairs(all) do
    p = reply.list(p)
    models[name] = { input = per_million(p.input_cost_per_token),
                     output = per_million(p.output_cost_per_token),
                     cached = per_million(p.cache_read_input_token_cost),
                     cache_write = per_million(p.cache_creation_input_token_cost) }
    if not (models[name].input and models[name].output) then models[name] = nil end
  end
  return models
end

local function from_table(given)
  local models = {}
  for name, p in pairs(given) do
    schema.must_at_call(type(name) == "string" and type(p) == "table", who,
      "prices: expected [\"model\"] = { input =, output = } in dollars a million tokens, got "
      .. "[%s] = %s", tostring(name), schema.show(p))
    models[name] = schema.options(p, rules, who .. ": prices['" .. name .. "']", "field")
  end
  return models
end

function prices.load(given)
  local models, book = (type(given) == "string" and from_file or from_table)(given or {}), {}

  -- The first of these names that has a price.
  function book.known(names) return lists.find(names, function(name) return models[name] end) end

  function book.cost(names, usage)
    if usage.usd then return usage.usd, "provider" end
    local p = models[book.known(names)]
    if not (p and usage.tokens_in and usage.tokens_out) then return nil, "unknown" end
    local cached, written = usage.tokens_cached or 0, usage.tokens_cache_write or 0
    local fresh = math.max(usage.tokens_in - cached - written, 0)
    return (fresh * p.input + cached * (p.cached or p.input) + usage.tokens_out * p.output
            + written * (p.cache_write or 1.25 * p.input)) / 1e6, "table"
  end

  return book
end

return prices
