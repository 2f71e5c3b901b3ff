-- llm/providers.lua - how each API is spoken to: one small table an API, and one
-- line a place that speaks it. APIs move; what is known of them is here alone.
--
--   api.path                     added to the base address
--   api.headers(key)             a list of { name, value }
--   api.body(r)                  the request as a table. r = { model=, system=, stable=,
--                                fresh=, max_tokens=, temperature=, effort=, stream=,
--                                local_server= }
--   api.whole(result, json)      a whole answer, into result
--   api.event(result, json, name)  one event of a stream, into result; true: it ended
--   result = { pieces = { text, .. }, finish =, model =, id =, usage = { tokens_in, tokens_out,
--              tokens_cached, tokens_cache_write, tokens_reasoning, usd }, raw_usage = table,
--              refusal =, error = table or text }; its tables are there from the beginning
--   finish is "stop", "length", "refusal" or the provider's own word
--
-- Fields are sent only when set; api.optional names those a server may refuse
-- and that are then left out.
local lists = require "kernelband.base.lists"
local reply = require "kernelband.llm.reply"

local at, text, count = reply.at, reply.text, reply.count
local json_body <const> = { "content-type", "application/json" }

local providers = {}

local function add(result, piece)
  if text(piece) then result.pieces[#result.pieces + 1] = piece end
end

-- What all APIs call alike, of an answer or of its first event.
local function named(result, json)
  result.model, result.id = text(json.model) or result.model, text(json.id) or result.id
  result.error = json.error
end

local finishes = {
  content_filter = "refusal", completed = "stop", end_turn = "stop", stop_sequence = "stop",
  max_tokens = "length", max_output_tokens = "length", model_context_window_exceeded = "length",
}

local function finish(word) return finishes[word] or text(word) end

-- OpenAI's usage; input, output: what it calls these tokens. Events add to what is known.
local function take_usage(result, u, input, output)
  local raw = lists.with(result.raw_usage, u)
  local of_input = raw[input .. "_details"]
  result.raw_usage = raw
  result.usage = {
    tokens_in = count(raw[input]), tokens_out = count(raw[output]), usd = reply.money(raw.cost),
    tokens_cached = count(at(of_input, "cached_tokens")) or count(raw.prompt_cache_hit_tokens),
    tokens_cache_write = count(at(of_input, "cache_write_tokens")),
    tokens_reasoning = count(at(raw, output .. "_details", "reasoning_tokens")),
  }
end

-- OpenAI Chat Completions, and whoever speaks it -------------------------------

local chat = {
  path = "/chat/completions",
  optional = { "temperature", "reasoning_effort", "stream_options", "max_completion_tokens",
               "max_tokens", "stream" },
  -- A field refused under one name is sent under the other.
  instead = { max_completion_tokens = "max_tokens", max_tokens = "max_completion_tokens" },
}

function chat.headers(key) return { json_body, key and { "authorization", "Bearer " .. key } } end

function chat.body(r)
  return {
    model = r.model, temperature = r.temperature, reasoning_effort = r.effort,
    messages = { { role = "system", content = r.system },
                 { role = "user", content = r.stable .. r.fresh } },
    [r.local_server and "max_tokens" or "max_completion_tokens"] = r.max_tokens,
    stream = r.stream or nil, stream_options = r.stream and { include_usage = true } or nil,
  }
end

-- An answer has a message, an event a delta with the same fields; reasoning is counted, not kept.
function chat.whole(result, json)
  local choice = at(json, "choices", 1)
  local message = at(choice, "message") or at(choice, "delta")
  local content = at(message, "content")
  named(result, json)
  add(result, content)
  for _, part in ipairs(reply.list(content)) do add(result, at(part, "text")) end
  local refusal = text(at(message, "refusal"))
  if refusal then result.refusal = (result.refusal or "") .. refusal end
  result.finish = finish(at(choice, "finish_reason")) or result.finish
  take_usage(result, reply.list(json.usage), "prompt_tokens", "completion_tokens")
  return result.error ~= nil
end

chat.event = chat.whole

-- OpenAI Responses -------------------------------------------------------------

local responses = {
  path = "/responses",
  optional = { "temperature", "reasoning", "store", "stream", "max_output_tokens" },
  headers = chat.headers,
}

function responses.body(r)
  return {
    model = r.model, instructions = r.system, temperature = r.temperature, store = false,
    input = { { role = "user", content = r.stable .. r.fresh } },
    max_output_tokens = r.max_tokens, stream = r.stream or nil,
    reasoning = r.effort and { effort = r.effort } or nil,
  }
end

-- What a stream has said already is not said again by the answer at its end.
function responses.whole(result, json)
  local streamed = result.pieces[1]
  named(result, json)
  for _, item in ipairs(reply.list(json.output)) do
    for _, part in ipairs(reply.list(at(item, "content"))) do
      if at(part, "type") == "output_text" and not streamed then add(result, part.text) end
      if at(part, "type") == "refusal" then result.refusal = text(part.refusal) or "refused" end
    end
  end
  take_usage(result, reply.list(json.usage), "input_tokens", "output_tokens")
  result.finish = finishes[at(json, "incomplete_details", "reason")] or finish(json.status)
end

local terminal = lists.places { "response.completed", "response.incomplete", "response.failed" }

function responses.event(result, json, name)
  local kind = text(json.type) or name
  if kind == "error" then
    result.error = json.error or json
  elseif terminal[kind] then
    responses.whole(result, reply.list(json.response))
  elseif kind == "response.output_text.delta" then
    add(result, json.delta)
  elseif kind == "response.created" then
    named(result, reply.list(json.response))
  end
  return kind == "error" or terminal[kind]
end

-- Anthropic Messages -----------------------------------------------------------

local messages = {
  path = "/v1/messages",
  optional = { "temperature", "output_config", "stream" },
}

function messages.headers(key)
  return { json_body, { "anthropic-version", "2023-06-01" }, key and { "x-api-key", key } }
end

-- Two marks of the cache: after the system text, and after what the calls of one
-- search have in common.
function messages.body(r)
  local mark = { type = "ephemeral" }
  return {
    model = r.model, max_tokens = r.max_tokens, temperature = r.temperature,
    system = { { type = "text", text = r.system, cache_control = mark } },
    messages = { { role = "user", content = {
      { type = "text", text = r.stable, cache_control = mark },
      { type = "text", text = r.fresh } } } },
    stream = r.stream or nil, output_config = r.effort and { effort = r.effort } or nil,
  }
end

-- input_tokens leaves out what was read from or written to the cache.
local function messages_usage(result, u)
  take_usage(result, u, "input_tokens", "output_tokens")
  local usage, raw = result.usage, result.raw_usage
  local read, written = count(raw.cache_read_input_tokens), count(raw.cache_creation_input_tokens)
  usage.tokens_in = usage.tokens_in and usage.tokens_in + (read or 0) + (written or 0)
  usage.tokens_cached, usage.tokens_cache_write = read, written
  usage.tokens_reasoning = count(at(raw, "output_tokens_details", "thinking_tokens"))
                           or usage.tokens_reasoning
end

function messages.whole(result, json)
  named(result, json)
  for _, block in ipairs(reply.list(json.content)) do
    if at(block, "type") == "text" then add(result, block.text) end
  end
  messages_usage(result, reply.list(json.usage))
  result.finish = finish(json.stop_reason)
end

function messages.event(result, json, name)
  local kind = text(json.type) or name
  if kind == "error" then
    result.error = json.error or "error"
  elseif kind == "message_start" then
    messages.whole(result, reply.list(json.message))
  elseif kind == "content_block_delta" then
    if at(json, "delta", "type") == "text_delta" then add(result, json.delta.text) end
  elseif kind == "message_delta" then
    result.finish = finish(at(json, "delta", "stop_reason")) or result.finish
    messages_usage(result, reply.list(json.usage))
  end
  return kind == "error" or kind == "message_stop"
end

-- Places. key_env: where the key is looked for; base_env: an address that people
-- set beside it; organisation: headers, and the variables with what people send in them beside
-- the key; keyless: no key is needed; local_server: speaks an older dialect;
-- tells_cost: says what a call cost.
providers.places = {
  openai = { api = chat, base = "https://api.openai.com/v1", key_env = "OPENAI_API_KEY",
             base_env = "OPENAI_BASE_URL", organisation = {
               { "OpenAI-Organization", "OPENAI_ORG_ID" },
               { "OpenAI-Project", "OPENAI_PROJECT_ID" } } },
  anthropic = { api = messages, base = "https://api.anthropic.com",
                key_env = "ANTHROPIC_API_KEY", base_env = "ANTHROPIC_BASE_URL" },
  gemini = { api = chat, base = "https://generativelanguage.googleapis.com/v1beta/openai",
             key_env = "GEMINI_API_KEY", local_server = true },
  openrouter = { api = chat, base = "https://openrouter.ai/api/v1",
                 key_env = "OPENROUTER_API_KEY", local_server = true, tells_cost = true },
  deepseek = { api = chat, base = "https://api.deepseek.com", key_env = "DEEPSEEK_API_KEY",
               local_server = true },
  vllm = { api = chat, base = "http://localhost:8000/v1", keyless = true, local_server = true },
  sglang = { api = chat, base = "http://localhost:30000/v1", keyless = true, local_server = true },
  llamacpp = { api = chat, base = "http://localhost:8080/v1", keyless = true, local_server = true },
  ollama = { api = chat, base = "http://localhost:11434/v1", keyless = true, local_server = true },
}

providers.places.responses = lists.with(providers.places.openai, { api = responses })

providers.names = { "openai", "anthropic", "responses", "gemini", "openrouter", "deepseek", "vllm",
                    "sglang", "llamacpp", "ollama" }

return providers
