-- llm_bodies.lua - seeded, mutated bodies of servers and answers of models, through
-- everything that reads them: nothing raises, nothing hangs, nothing that comes out is
-- out of bounds.
--   local report = require("llm_bodies").run(count, seed, seconds)
local core      = require "kernelband.core"
local answer    = require "kernelband.llm.answer"
local client    = require "kernelband.llm.client"
local errors    = require "kernelband.llm.errors"
local normal    = require "kernelband.base.source".normal
local prices    = require "kernelband.llm.prices"
local providers = require "kernelband.llm.providers"
local tuning    = require "kernelband.search.tuning"

local bodies = {}

local text = "Try:\\n```c\\nvoid axpy(int n) { n++; } // \\\"x\\\"\\n```\\n"
local seeds = {
  'data: {"id":"c","model":"m","choices":[{"delta":{"content":"' .. text .. '"}}]}\n\n'
  .. 'data: {"choices":[{"delta":{"reasoning":"x"},"finish_reason":"stop"}]}\n\n'
  .. 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,'
  .. '"prompt_tokens_details":{"cached_tokens":3}}}\n\ndata: [DONE]\n\n',
  'event: message_start\r\ndata: {"type":"message_start","message":{"id":"m","usage":'
  .. '{"input_tokens":4,"cache_read_input_tokens":5}}}\r\n\r\nevent: content_block_delta\r\n'
  .. 'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"' .. text
  .. '"}}\r\n\r\n: ping\r\n\r\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
  .. '"usage":{"output_tokens":9}}\r\n\r\ndata: {"type":"message_stop"}\r\n\r\n',
  'data: {"type":"response.output_text.delta","delta":"' .. text .. '"}\n\n'
  .. 'data: {"type":"response.completed","response":{"status":"completed","output":[{"content":'
  .. '[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":1,"output_tokens":2}}}\n\n',
  'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  '{"choices":[{"message":{"content":"' .. text .. '","refusal":null},"finish_reason":"stop"}],'
  .. '"usage":{"prompt_tokens":1e3,"completion_tokens":2,"cost":0.1}}',
  '{"content":[{"type":"text","text":"' .. text .. '"}],"stop_reason":"end_turn"}',
  '{"error":{"message":"Unsupported value: temperature","param":"temperature","code":400}}',
  '{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]}',
  "<html><body>502 Bad Gateway</body></html>",
}
local words = {
  "data:", "data: ", "event: ", "\n", "\n\n", "\r", "\r\n", "{", "}", "[", "]", "[[[[", '"', ":",
  ",", "null", "true", "-1", "1e999", "1e308", "0.1", '"content":', '"choices":', '"error":',
  '"usage":', '"delta":', '"message":', '"type":', '"text":', '"output":', '"response":',
  "\\u0000", "\\ud800", "\0", "\255", "\xEF\xBB\xBF", "[DONE]", "```", "```c\\n", "~~~",
  "<think>", "</think>",
  "> ", "- ", "1. ", "// kb: tune A 1 2\\n", "// kb:", "/*", "*/", "//", "\\\\\\n", "#define A ",
  "void axpy(", "__global__", "insufficient_quota", "temperature", '{"a":', "nan", "inf",
}
local headers = { "retry-after", "retry-after-ms", "x-ratelimit-reset-requests",
                  "anthropic-ratelimit-tokens-reset", "x-ratelimit-remaining-tokens",
                  "x-should-retry", "content-type", "x-request-id" }
local values = { "1", "-1", "1e999", "nan", "6m0s", "99999999h", "12ms", "soon", "", "true",
                 "false",
                 "Sun, 06 Nov 1994 08:49:37 GMT", "2026-13-45T99:99:99Z", "0x10", "\255",
                 ("9"):rep(400) }
local statuses = { 200, 200, 200, 200, 400, 401, 408, 413, 422, 429, 500, 529, 0, 302 }
local places = { "openai", "anthropic", "responses" }

local function mutate(s, rng)
  for _ = 1, rng:below(6) do
    local at, kind = rng:below(#s + 1), rng:below(5)
    if kind == 0 then
      s = s:sub(1, at) .. words[1 + rng:below(#words)] .. s:sub(at + 1)
    elseif kind == 1 then
      s = s:sub(1, at) .. s:sub(at + 1 + rng:below(30))
    elseif kind == 2 then
      s = s:sub(1, at) .. string.char(rng:below(256)) .. s:sub(at + 2)
    elseif kind == 3 then
      local from = rng:below(#s + 1)
      s = s:sub(1, at) .. s:sub(from, from + rng:below(200)) .. s:sub(at + 1)
    else
      local piece = s:sub(at + 1, at + 1 + rng:below(6))
      s = s:sub(1, at) .. piece:rep(rng:below(100)) .. s:sub(at + 1)
    end
  end
  return s
end

local function noise(rng)
  local out = {}
  for i = 1, rng:below(300) do out[i] = string.char(rng:below(256)) end
  return table.concat(out)
end

local function body_of(rng)
  if rng:below(10) == 0 then return noise(rng) end
  return mutate(seeds[1 + rng:below(#seeds)], rng)
end

local function headers_of(rng)
  local out = {}
  for _ = 1, rng:below(4) do
    out[headers[1 + rng:below(#headers)]] = values[1 + rng:below(#values)]
  end
  return out
end

-- A loop that gives one mutated response after the other, in pieces, and no time.
local function loop_of(rng)
  local L = {}
  function L.inside() return true end
  function L.sleep(_, ns)
    assert(ns >= 0 and ns < 1e18)
    return true
  end
  function L.http(_, request)
    local said, size = body_of(rng), 1 + rng:below(400)
    for at = 1, #said, size do
      if request.on_data(said:sub(at, at + size - 1)) == false then break end
    end
    local status = statuses[1 + rng:below(#statuses)]
    if rng:below(10) == 0 then return nil, "reset", "EHTTP", { status = status, headers = {} } end
    return { status = status, headers = headers_of(rng), body = "" }
  end
  return L
end

local function check_record(rec, got)
  for _, name in ipairs { "tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning" } do
    local n = rec[name]
    assert(n == nil or math.type(n) == "integer" and n >= 0, name)
  end
  assert(rec.usd == nil or rec.usd >= 0 and rec.usd < 1e9, "usd")
  for _, name in ipairs { "error", "request_id", "model_returned", "finish", "usage" } do
    assert(not rec[name] or utf8.len(rec[name]), name)
  end
  assert(not got or utf8.len(got.text), "text")
end

function bodies.run(count, seed, seconds)
  local rng, slowest, answers, sources = core.rng(seed), 0, 0, 0
  local stop_ns = core.system.now_ns() + math.floor((seconds or 1e6) * 1e9)
  local book, tried = prices.load { m = { input = 1, output = 2 } }, 0
  local L = loop_of(rng)
  while tried < count and core.system.now_ns() < stop_ns do
    tried = tried + 1
    local name = places[1 + rng:below(#places)]
    local place = providers.places[name]
    local ask = client.new { loop = L, note = function() end, provider = name, place = place,
      base = "http://h", model = "m", headers = {}, max_tokens = 100, temperature = 1,
      effort = "low", stream = true, prices = book, n_parallel = 1, refused = {}, attempts = 3,
      retry_s = 0.1, patience_s = 900, connect_s = 1, idle_s = 1, timeout_s = 1 }
    local began = core.system.now_ns()
    local got, why, _, rec = ask({ system = "s", stable = "a", fresh = "b" }, rng)
    check_record(rec, got)
    local said = got and got.text or body_of(rng):gsub("\\n", "\n")
    if got then answers = answers + 1 else assert(type(why) == "string" and utf8.len(why)) end
    local language = rng:below(2) == 0 and "c" or "cuda"
    local source, reason = answer.read(said, { language = language, entry = "axpy",
                                               finish = got and got.finish })
    assert(source or type(reason) == "string")
    source = source and utf8.len(source) and source or said
    if source ~= said then sources = sources + 1 end
    assert(#normal(source) <= 3 * #source + 2)
    assert(type(tuning.first({ source = source }).source) == "string")
    errors.wait_s(headers_of(rng), 1e9)
    slowest = math.max(slowest, core.system.now_ns() - began)
  end
  assert(slowest < 2e9, ("a body took %.0f ms"):format(slowest / 1e6))
  return ("%d bodies, %d answers, %d sources, slowest %.1f ms"):format(tried, answers, sources,
                                                                       slowest / 1e6)
end

return bodies
