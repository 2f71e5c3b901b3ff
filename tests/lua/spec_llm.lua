-- Models over HTTP, against a loop that answers from a list: what is sent, what is
-- read, what is tried again. tests/lua/spec_llm_server.lua does it over the network.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local json = require "kernelband.base.json"
local errors = require "kernelband.llm.errors"
local providers = require "kernelband.llm.providers"

local code = "void axpy(const float *x, float *y, int n)\n{\n    y[0] = x[0];\n}\n"
local text = "Here it is:\n```c\n" .. code .. "```\n"
local task = { name = "axpy", summary = "y = x", language = "c" }
local strategy = { name = "tiling", summary = "tile", prompt = "Tile it.", moves = {} }
local parent = { id = 1, source = code, time_ns = 2000, speedup = 1, phi = {}, phi_kind = {},
                 h = {}, h_kind = {} }

-- A loop whose transfers are the items of list: { status, body or chunks [, headers] },
-- or { fail = text, code = }. It keeps the requests and the waits.
local function fake(list)
  local L = { sent = {}, waits = {}, n = 0 }
  function L.inside() return true end
  function L.sleep(_, ns)
    L.waits[#L.waits + 1] = ns / 1e9
    return true
  end
  function L.http(_, request)
    L.n = L.n + 1
    L.sent[L.n] = request
    local r = list[math.min(L.n, #list)]
    for _, chunk in ipairs(type(r[2]) == "table" and r[2] or { r[2] }) do
      if chunk ~= "" and request.on_data(chunk) == false then
        break                           -- as loop.lua, which says what had come
      end
    end
    if r.fail then return nil, r.fail, r.code or "EHTTP", { status = r[1] } end
    return { status = r[1], headers = r[3] or {}, body = "", seconds = {} }
  end
  return L
end

local function sse(...)
  local out = {}
  for i, e in ipairs { ... } do
    local v = type(e) == "table" and json.encode(e) or e
    out[i] = (type(e) == "table" and e.type and "event: " .. e.type .. "\n" or "")
             .. "data: " .. v .. "\n\n"
  end
  return table.concat(out)
end

-- The streams of the three APIs that say `text`, and the same in one piece.
local streams = {
  openai = sse({ id = "c1", model = "gpt-x-1", choices = { { delta = { role = "assistant" } } } },
    { choices = { { delta = { content = text:sub(1, 20) } } } },
    { choices = { { delta = { content = text:sub(21) }, finish_reason = "stop" } } },
    { choices = json.empty_list, usage = { prompt_tokens = 100, completion_tokens = 50,
      prompt_tokens_details = { cached_tokens = 80 },
      completion_tokens_details = { reasoning_tokens = 30 } } }, "[DONE]"),
  anthropic = sse({ type = "message_start", message = { id = "m1", model = "claude-x-1",
      usage = { input_tokens = 15, cache_read_input_tokens = 80, cache_creation_input_tokens = 5,
                output_tokens = 1 } } },
    { type = "content_block_start", index = 0 }, { type = "ping" },
    { type = "content_block_delta", delta = { type = "thinking_delta", thinking = "hm" } },
    { type = "content_block_delta", delta = { type = "text_delta", text = text:sub(1, 9) } },
    { type = "content_block_delta", delta = { type = "text_delta", text = text:sub(10) } },
    { type = "message_delta", delta = { stop_reason = "end_turn" },
      usage = { output_tokens = 50 } },
    { type = "message_stop" }),
  responses = sse({ type = "response.created", response = { id = "r1", model = "gpt-x-1" } },
    { type = "response.output_text.delta", delta = text:sub(1, 30) },
    { type = "response.output_text.delta", delta = text:sub(31) },
    { type = "response.completed", response = { id = "r1", model = "gpt-x-1",
      status = "completed", usage = { input_tokens = 100, output_tokens = 50,
        input_tokens_details = { cached_tokens = 80 },
        output_tokens_details = { reasoning_tokens = 30 } } } }),
}
local wholes = {
  openai = json.encode { id = "c1", model = "gpt-x-1", choices = { { message = { content = text },
    finish_reason = "stop" } }, usage = { prompt_tokens = 100, completion_tokens = 50,
      prompt_tokens_details = { cached_tokens = 80 } } },
  anthropic = json.encode { id = "m1", model = "claude-x-1", stop_reason = "end_turn",
    content = { { type = "thinking", thinking = "hm" }, { type = "text", text = text } },
    usage = { input_tokens = 15, cache_read_input_tokens = 80, cache_creation_input_tokens = 5,
              output_tokens = 50 } },
  responses = json.encode { id = "r1", model = "gpt-x-1", status = "completed",
    output = { { type = "reasoning" }, { type = "message",
      content = { { type = "output_text", text = text } } } },
    usage = { input_tokens = 100, output_tokens = 50,
              input_tokens_details = { cached_tokens = 80 } } },
}

local fresh = 0

-- One proposal. What the server says, options; returns candidate or nil, reason,
-- code, then the loop and the record of the call. more may be a generator.
local function propose(list, more)
  local L, records = fake(list), {}
  fresh = fresh + 1
  local options = { provider = "openai", model = "m" .. fresh, base_url = "http://127.0.0.1:1/v1" }
  for k, v in pairs(more or {}) do options[k] = v end
  local notes = {}
  L.generator = more and more.start and more or kb.generator.llm(options)
  local g = L.generator.start(task, { loop = L,
    note = function(n) notes[#notes + 1] = n end })
  local c, why, status = g.propose(parent, strategy, core.rng(1), { pull = 7,
    call = function(r) records[#records + 1] = r end })
  L.notes = notes
  return c, why, status, L, records[1]
end

for _, name in ipairs { "openai", "anthropic", "responses" } do
  for _, how in ipairs { "streamed", "whole", "dripped" } do
    t.test(("%s, %s: the candidate and what it cost"):format(name, how), function()
      local said = how == "whole" and wholes[name] or streams[name]
      local pieces = { said }
      if how == "dripped" then
        for i = 1, #said do pieces[i] = said:sub(i, i) end
      end
      local c, why, _, L, rec = propose({ { 200, pieces, { ["x-request-id"] = "q1" } } },
        { provider = name, prices = { ["gpt-x-1"] = { input = 1, cached = 0.1, output = 10 },
                                      ["claude-x-1"] = { input = 1, cached = 0.1, output = 10,
                                                         cache_write = 2 } } })
      assert(c, why)
      t.equal(c.source, code)
      t.equal(rec.tokens_in, 100)
      t.equal(rec.tokens_cached, 80)
      t.equal(rec.tokens_out, 50)
      t.equal(rec.finish, "stop")
      t.equal(rec.request_id, "q1")
      t.equal(rec.usd_source, "table")
      local write = name == "anthropic" and 5 * 2 - 5 or 0
      t.near(rec.usd, (20 + 8 + 500 + write) / 1e6, 1e-12)
      t.equal(rec.pull, 7)
      t.equal(rec.kind, "propose")
      t.equal(rec.answer, text)
      t.contains(rec.request, "Tile it.")
      t.equal(rec.attempts, 1)
      t.contains(rec.usage, "80")
      t.equal(L.sent[1].url, name == "anthropic" and "http://127.0.0.1:1/v1/v1/messages"
        or name == "openai" and "http://127.0.0.1:1/v1/chat/completions"
        or "http://127.0.0.1:1/v1/responses")
    end)
  end
end

t.test("sampling fields are sent only when set, each where its API has it", function()
  local r = { model = "m", system = "s", stable = "a", fresh = "b", max_tokens = 9, effort = "low",
              stream = true }
  local chat = providers.places.openai.api.body(r)
  t.equal(chat.temperature, nil)
  t.equal(chat.reasoning_effort, "low")
  t.equal(chat.max_completion_tokens, 9)
  t.equal(chat.messages[2].content, "ab")
  t.equal(chat.stream_options, { include_usage = true })
  local messages = providers.places.anthropic.api.body(r)
  t.equal(messages.output_config, { effort = "low" })
  t.equal(messages.max_tokens, 9)
  t.equal(messages.messages[1].content[1].cache_control, { type = "ephemeral" })
  t.equal(messages.messages[1].content[2], { type = "text", text = "b" })
  local responses = providers.places.responses.api.body(r)
  t.equal(responses.reasoning, { effort = "low" })
  t.equal(responses.instructions, "s")
  t.equal(responses.store, false)
  r.local_server, r.temperature = true, 0.5
  chat = providers.places.openai.api.body(r)
  t.equal(chat.max_tokens, 9)
  t.equal(chat.max_completion_tokens, nil)
  t.equal(chat.temperature, 0.5)
end)

t.test("extra goes into the body as it is", function()
  local _, _, _, L = propose({ { 200, wholes.openai } },
    { extra = { chat_template_kwargs = { enable_thinking = false } } })
  t.contains(L.sent[1].body, '"chat_template_kwargs":{"enable_thinking":false}')
end)

t.test("a price that is not known is unknown, not nothing", function()
  local c, _, _, _, rec = propose { { 200, wholes.openai } }
  assert(c)
  t.equal({ rec.usd, rec.usd_source }, { nil, "unknown" })
end)

t.test("what the provider says a call cost comes before the table", function()
  local said = json.encode { choices = { { message = { content = text } } },
    usage = { prompt_tokens = 1, completion_tokens = 1, cost = 0.25 } }
  local c, _, _, _, rec = propose({ { 200, said } },
    { model = "m", prices = { m = { input = 1, output = 1 } } })
  assert(c)
  t.equal({ rec.usd, rec.usd_source }, { 0.25, "provider" })
end)

t.test("counts that cannot be are not believed", function()
  local said = json.encode { choices = { { message = { content = text } } },
    usage = { prompt_tokens = -5, completion_tokens = 1e300, cost = "free" } }
  local _, _, _, _, rec = propose { { 200, said } }
  t.equal({ rec.tokens_in, rec.tokens_out, rec.usd }, {})
end)

-- Fields a server refuses ---------------------------------------------------------------

for _, case in ipairs {
  { '{"error":{"message":"Unsupported value: \'temperature\' does not support 0.5","type":'
    .. '"invalid_request_error","param":"temperature","code":"unsupported_value"}}',
    "temperature" },
  { '{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is '
    .. 'deprecated for this model"}}', "temperature" },
  { '{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs '
    .. 'are not permitted: reasoning_effort"}]}', "reasoning_effort" },
  { '{"object":"error","message":"Unknown field stream_options","code":400}', "stream_options" },
} do
  t.test("a 400 that names an unsupported field drops it and remembers: " .. case[1]:sub(1, 40),
         function()
    local list = { { 400, case[1] }, { 200, wholes.openai } }
    local c, why, _, L, rec = propose(list, { temperature = 0.5, effort = "low", model = "same" })
    assert(c, why)
    t.equal(#L.waits, 0)
    t.equal(rec.attempts, 1)
    t.contains(L.sent[1].body, '"' .. case[2] .. '"')
    assert(not L.sent[2].body:find('"' .. case[2] .. '"', 1, true))
    t.contains(L.notes[1], ("same does not take '%s'"):format(case[2]))
    _, _, _, L = propose({ { 200, wholes.openai } }, L.generator)
    assert(not L.sent[1].body:find('"' .. case[2] .. '"', 1, true))
  end)
end

t.test("a limit of tokens refused under one name is sent under the other", function()
  local c, why, _, L = propose({ { 400,
    '{"error":{"param":"max_tokens","message":"Unsupported parameter: max_tokens is '
    .. 'not supported with this model. Use max_completion_tokens instead."}}' },
    { 200, wholes.openai } })
  assert(c, why)
  t.contains(L.sent[2].body, '"max_completion_tokens":32000')
end)

t.test("a server that does not stream is asked for the whole answer", function()
  local c, why, _, L = propose({ { 400, '{"error":{"message":"stream is not supported"}}' },
                                 { 200, wholes.openai } })
  assert(c, why)
  assert(not L.sent[2].body:find '"stream"')
end)

t.test("a 400 that names no field we sent stops, and does not go round", function()
  local c, why, status, L = propose { { 400, '{"error":{"message":"Unknown model flavour"}}' } }
  t.equal(c, nil)
  t.equal(status, "ESTOP")
  t.contains(why, "Unknown model flavour")
  t.equal(L.n, 1)
end)

-- Trying again ----------------------------------------------------------------------------

local busy = '{"error":{"message":"slow down","type":"rate_limit_exceeded"}}'

for _, case in ipairs {
  { { ["retry-after"] = "7" }, 7 }, { { ["retry-after"] = "2.5" }, 2.5 },
  { { ["retry-after-ms"] = "1500", ["retry-after"] = "9" }, 1.5 },
  { { ["x-ratelimit-reset-requests"] = "6m0s", ["x-ratelimit-remaining-requests"] = "0",
      ["x-ratelimit-reset-tokens"] = "12ms", ["x-ratelimit-remaining-tokens"] = "100" }, 360 },
  { { ["x-ratelimit-reset-tokens"] = "1.5s", ["x-ratelimit-remaining-tokens"] = "0" }, 1.5 },
  { { ["x-ratelimit-reset-requests"] = "-1", ["retry-after"] = "3" }, 3 },
} do
  t.test("a hint is obeyed: " .. json.encode(case[1]), function()
    local c, why, _, L, rec = propose { { 429, busy, case[1] }, { 200, wholes.openai } }
    assert(c, why)
    t.equal(#L.waits >= 1, true)
    assert(L.waits[1] >= case[2] and L.waits[1] <= case[2] * 1.1 + 1e-6, L.waits[1])
    t.equal(rec.attempts, 2)
  end)
end

t.test("dates are read as dates", function()
  t.equal(errors.wait_s({ ["retry-after"] = "Sun, 06 Nov 1994 08:49:37 GMT" }, 784111747), 30)
  t.equal(errors.wait_s({ ["retry-after"] = "Sun, 06 Nov 1994 08:49:37 GMT" }, 784111999), 0)
  t.equal(errors.wait_s({ ["anthropic-ratelimit-tokens-reset"] = "2026-11-21T12:00:30Z" },
                        1795262400), 30)
  t.equal(errors.wait_s({ ["anthropic-ratelimit-tokens-reset"] = "2026-11-21T13:00:30+01:00" },
                        1795262400), 30)
  for _, junk in ipairs { "soon", "nan", "-4", "1e400", "", "Sun, 99 Foo 1994", "0x10ms" } do
    t.equal(errors.wait_s({ ["retry-after"] = junk == "0x10ms" and "x" or junk,
                            ["x-ratelimit-reset-requests"] = junk }, 0), nil, junk)
  end
end)

t.test("without a hint the waits grow, and are the same for the same seed", function()
  local list = { { 500, "oops" }, { 529, '{"error":{"type":"overloaded_error"}}' }, { 503, "" },
                 { 200, wholes.openai } }
  local c, _, _, L, rec = propose(list)
  t.equal(c.source, code)
  t.equal(rec.attempts, 4)
  t.equal(rec.error, nil)
  assert(L.waits[1] > 0.7 and L.waits[1] <= 1, L.waits[1])
  assert(L.waits[2] > 1.8 and L.waits[2] <= 2.5, L.waits[2])
  local _, _, _, again = propose(list)
  t.equal(again.waits, L.waits)
end)

for _, case in ipairs {
  { "a connection refused", { 0, "", fail = "connection refused" } },
  { "a reset in mid-stream", { 200, streams.openai:sub(1, 150), fail = "reset by peer" } },
  { "a stall", { 200, streams.openai:sub(1, 150), fail = "nothing for 180 s", code = "ETIME" } },
  { "a stream that just ends", { 200, streams.openai:sub(1, 150) } },
  { "HTML where JSON should be", { 200, "<html>proxy", { ["content-type"] = "text/html" } } },
  { "malformed JSON in a stream", { 200, "data: {\"a\":\n\n" } },
  { "malformed JSON", { 200, "{\"a\":" } },
  { "JSON nested a thousand deep", { 200, ("["):rep(1000) .. ("]"):rep(1000) } },
  { "empty choices", { 200, '{"choices":[]}' } },
  { "an empty body", { 200, "" } },
  { "an error event after 200", { 200, sse { type = "error",
    error = { type = "overloaded_error", message = "Overloaded" } } }, "anthropic" },
  { "an error chunk after 200", { 200, sse { error = { message = "oops", code = 500 } } } },
  { "response.failed", { 200, sse { type = "response.failed", response = { status = "failed",
    error = { code = "server_error", message = "oops" } } } }, "responses" },
} do
  t.test(case[1] .. " is tried again", function()
    local name = case[3] or "openai"
    local c, why, _, L, rec = propose({ case[2], { 200, streams[name] } }, { provider = name })
    assert(c, why)
    t.equal(c.source, code)
    t.equal(rec.attempts, 2)
    t.equal(#L.waits, 1)
  end)
end

t.test("what does not mend pauses the search, and says how often it was tried", function()
  local c, why, status, L, rec = propose({ { 0, "", fail = "connection refused" } },
                                         { attempts = 3 })
  t.equal(c, nil)
  t.equal(status, "EPAUSE")
  t.contains(why, "connection refused (tried 3 times)")
  t.equal(L.n, 3)
  t.equal(rec.error, "connection refused")
  t.equal(rec.attempts, 3)
end)

t.test("a server that asks for more patience than there is pauses the search", function()
  local _, why, status, L = propose({ { 429, busy, { ["retry-after"] = "3600" } } })
  t.equal(status, "EPAUSE")
  t.contains(why, "slow down")
  t.equal(L.n, 1)
end)

for _, case in ipairs {
  { 429, '{"error":{"type":"insufficient_quota","message":"You exceeded your current quota",'
    .. '"code":"credit_balance_exhausted"}}', "exceeded your current quota", "EPAUSE" },
  { 400, '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance '
    .. 'is too low"}}', "credit balance", "EPAUSE" },
  { 402, '{"error":{"message":"Payment required"}}', "has no credit", "EPAUSE" },
  { 401, '{"error":{"message":"Incorrect API key"}}', "check the key", "ESTOP" },
  { 404, '{"error":{"message":"no such model"}}', "check model and base_url", "ESTOP" },
  { 404, '{"error":{"message":"There is no such model."}}', "model; check model", "ESTOP" },
  { 403, "<html><b>Forbidden</b></html>", "Forbidden", "ESTOP" },
} do
  t.test(("HTTP %d ends it at once, by %s: %s"):format(case[1], case[4], case[3]), function()
    local c, why, status, L = propose { { case[1], case[2] } }
    t.equal(c, nil)
    t.equal(status, case[4])
    t.contains(why, case[3])
    t.equal(L.n, 1)
  end)
end

t.test("x-should-retry has the last word", function()
  local _, _, status, L = propose { { 500, "no", { ["x-should-retry"] = "false" } } }
  t.equal(status, "EPAUSE")
  t.equal(L.n, 1)
  local c = propose { { 400, "busy", { ["x-should-retry"] = "true" } }, { 200, wholes.openai } }
  t.equal(c.source, code)
end)

t.test("a question too long costs a pull, not the search", function()
  local c, why, status = propose { { 400, '{"error":{"code":"context_length_exceeded","message":'
    .. '"maximum context length is 8192"}}' } }
  t.equal(c, nil)
  t.equal(status, nil)
  t.contains(why, "maximum context length")
end)

t.test("a refusal is an answer that holds nothing", function()
  local c, why, status, _, rec = propose { { 200, json.encode { choices = { {
    message = { refusal = "I cannot help." }, finish_reason = "stop" } } } } }
  t.equal({ c, status }, {})
  t.contains(why, "the model refused: I cannot help.")
  t.equal(rec.finish, "refusal")
  c, why = propose({ { 200, json.encode { content = { { type = "text", text = "No." } },
    stop_reason = "refusal" } } }, { provider = "anthropic" })
  t.equal(c, nil)
  t.contains(why, "the model refused")
end)

t.test("an answer cut off by its limit says so", function()
  local c, why, _, _, rec = propose { { 200, json.encode { choices = { {
    message = { content = text:sub(1, 40) }, finish_reason = "length" } } } } }
  t.equal(c, nil)
  t.contains(why, "raise max_tokens")
  t.equal(rec.finish, "length")
end)

t.test("reasoning that comes beside the answer or in it is no part of it", function()
  local c = propose { { 200, sse(
    { choices = { { delta = { reasoning_content = "```c\nno\n```" } } } },
    { choices = { { delta = { reasoning = "more" } } } },
    { choices = { { delta = { content = "<think>x</think>" .. text }, finish_reason = "stop" } } },
    "[DONE]") } }
  t.equal(c.source, code)
end)

t.test("what a connection does after the last event is no matter", function()
  local c, why = propose { { 200, streams.openai, fail = "reset by peer" } }
  assert(c, why)
end)

t.test("invalid UTF-8 does not reach the source", function()
  local c = propose { { 200, '{"choices":[{"message":{"content":"```c\\n// \xff\xc3\\n'
    .. code:gsub("\n", "\\n") .. '```"}}]}' } }
  assert(utf8.len(c.source))
end)

-- One repair ------------------------------------------------------------------------------

t.test("a failed candidate goes back once with its error", function()
  local L = fake { { 200, wholes.openai } }
  local records = {}
  local function call(r) records[#records + 1] = r end
  local g = kb.generator.llm { model = "m", base_url = "http://h/v1" }.start(task, { loop = L })
  local c = g.propose(parent, strategy, core.rng(1), { pull = 3, call = call })
  local mended, why = g.repair(c, { verdict = "build_failed", reason = "error: no such thing",
    log = "axpy.c:3: error: no such thing\n and more" }, core.rng(1), { pull = 3, call = call })
  assert(mended, why)
  t.equal(mended.by.repaired, 1)
  t.equal(records[2].kind, "repair")
  t.equal(records[2].attempt, 2)
  t.contains(records[2].request, "axpy.c:3: error: no such thing")
  t.contains(records[2].request, "It does not compile:")
  local again
  again, why = g.repair(mended, { verdict = "wrong" }, core.rng(1), {})
  t.equal(again, nil)
  t.contains(why, "repaired before")
  again, why = kb.generator.llm { model = "m", base_url = "http://h", repair = 0 }
               .start(task, {}).repair(c, { verdict = "wrong" }, core.rng(1), {})
  t.equal(again, nil)
  t.contains(why, "repaired before")
end)

-- The prefix --------------------------------------------------------------------------------

t.test("questions of one search begin with the same bytes", function()
  local L = fake { { 200, wholes.anthropic } }
  local g = kb.generator.llm { provider = "anthropic", model = "m", base_url = "http://h" }
            .start(task, { loop = L })
  g.propose(parent, strategy, core.rng(1), { pull = 1 })
  g.propose({ id = 2, source = "int b;", time_ns = 1, speedup = 2 }, strategy, core.rng(2),
            { pull = 2, history = { { strategy = "tiling", verdict = "wrong", reason = "no" } } })
  local a, b = L.sent[1].body, L.sent[2].body
  local parts = { json.decode(a), json.decode(b) }
  t.equal(parts[1].system, parts[2].system)
  t.equal(parts[1].messages[1].content[1], parts[2].messages[1].content[1])
  assert(parts[1].messages[1].content[2].text ~= parts[2].messages[1].content[2].text)
end)

-- Keys ------------------------------------------------------------------------------------

t.test("a key that is not there is an error before anything starts", function()
  for name, variable in pairs { openai = "OPENAI_API_KEY", anthropic = "ANTHROPIC_API_KEY",
                                deepseek = "DEEPSEEK_API_KEY" } do
    if not os.getenv(variable) then
      local why = t.raises("environment variable " .. variable .. " is not set", function()
        local _ = kb.generator.llm { provider = name, model = "m" }
      end)
      t.contains(why, "spec_llm.lua:")
    end
  end
  t.raises("environment variable NO_SUCH_KEY_ is not set", kb.generator.llm,
           { model = "m", api_key_env = "NO_SUCH_KEY_", base_url = "http://h" })
  t.raises("not the key itself", kb.generator.llm, { model = "m", api_key_env = "sk-abc" })
  t.raises("without a password", kb.generator.llm, { model = "m", base_url = "http://a:b@h/" })
end)

t.test("the example names the key of the model it is asked for", function()
  local system = core.system
  for model, variable in pairs { ["claude-x"] = "ANTHROPIC_API_KEY",
                                 ["gpt-x"] = "OPENAI_API_KEY" } do
    local pipe = io.popen(("env -u ANTHROPIC_API_KEY -u OPENAI_API_KEY '%s' run "
      .. "examples/llm.lua %s 2>&1"):format(system.exe(), model))
    local said = pipe:read "a"
    pipe:close()
    t.contains(said, "environment variable " .. variable .. " is not set")
  end
end)

t.test("a server that echoes the key does not get it any further", function()
  -- $PATH is a variable that is set everywhere; here it plays the key.
  local key = os.getenv "PATH"
  local echo = { error = { message = "bad key " .. key .. " and " .. key } }
  local said = { { 401, json.encode(echo) } }
  local c, why, _, L, rec = propose(said, { api_key_env = "PATH" })
  t.equal(c, nil)
  t.contains(json.encode(L.sent[1].headers), json.encode("Bearer " .. key))
  local all = json.encode { why, rec.error, rec.request or "", rec.answer or "" }
  assert(not (all .. why):find(key, 1, true))
  t.contains(why, "bad key [key] and [key]")
  said = { { 200, json.encode { model = key, id = key, choices = { { message = {
    content = "// " .. key .. "\n" .. text } } }, usage = { x = key } } } }
  c, why, _, _, rec = propose(said, { api_key_env = "PATH" })
  assert(c, why)
  for _, v in pairs(rec) do assert(not tostring(v):find(key, 1, true)) end
end)

t.test("a key goes to the address it is for", function()
  local _, _, _, L = propose { { 200, wholes.openai } }
  for _, h in ipairs(L.sent[1].headers) do assert(h[1] ~= "authorization") end
end)

for _, case in ipairs {
  { { provider = "opnai", model = "m" }, "one of" },
  { {}, "missing option 'model'" },
  { { model = "m", temprature = 1 }, "did you mean 'temperature'" },
  { { model = "m", base_url = "ftp://x" }, "http(s)://host" },
  { { model = "m", base_url = "http://h", prices = { m = { input = 1 } } }, "'output'" },
  { { model = "m", base_url = "http://h", prices = "/no/such/file" }, "prices: " },
  { { model = "m", base_url = "http://h", prompt = { sistem = "" } }, "'prompt.sistem' (did" },
} do
  t.test("an option is checked: " .. case[2], function()
    t.raises(case[2], kb.generator.llm, case[1])
  end)
end

t.test("a page of nothing but angle brackets is read in linear time", function()
  local began = os.clock()
  t.equal(#errors.read(("<"):rep(200000), function(s) return s end).message, 203)
  assert(os.clock() - began < 1)
end)

t.test("prices may come from a file in LiteLLM's format", function()
  local file = os.tmpname()
  assert(core.system.write_file(file, json.encode { sample = "x", m = {
    input_cost_per_token = 2e-6, output_cost_per_token = 1e-5 } }))
  local said = json.encode { choices = { { message = { content = text } } },
    usage = { prompt_tokens = 1000, completion_tokens = 100 } }
  local _, _, _, _, rec = propose({ { 200, said } }, { model = "m", prices = file })
  os.remove(file)
  t.near(rec.usd, 0.003, 1e-12)
end)

t.test("a refusal beside the text is no part of the text", function()
  local client = require "kernelband.llm.client"
  local event = "data: " .. json.encode { choices = { { delta = { content = "x",
    refusal = "no" } } } } .. "\n\n"
  local L = { inside = function() return true end, sleep = function() return true end }
  function L.http(_, r)
    r.on_data(event .. event .. "data: [DONE]\n\n")
    return { status = 200, headers = {}, body = "" }
  end
  local ask = client.new { loop = L, provider = "openai", place = providers.places.openai,
    base = "http://h", model = "refuses", headers = {}, max_tokens = 100, stream = true,
    n_parallel = 1, refused = {}, attempts = 1, retry_s = 0, patience_s = 1, connect_s = 1,
    prices = require "kernelband.llm.prices".load(), idle_s = 1, timeout_s = 1 }
  local got = ask({ system = "", stable = "", fresh = "" }, core.rng(1))
  t.equal({ got.refusal, got.text }, { "nono", "xx" })
end)

t.finish()
