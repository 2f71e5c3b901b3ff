-- Models over HTTP, against a real server on this machine that answers to order.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local server = require "server"
local core = kb.core
local json = require "kernelband.base.json"
local loop = require "kernelband.base.loop"
local looped = require "looped"

local code = "void axpy(const float *x, float *y, int n)\n{\n    y[0] = x[0];\n}\n"
local text = "Here it is:\n```c\n" .. code .. "```\n"
local task = { name = "axpy", summary = "y = x", language = "c" }
local strategy = { name = "tiling", summary = "tile", prompt = "Tile it.", moves = {} }
local parent = { id = 1, source = code, time_ns = 2000, speedup = 1 }

local apis = {
  openai = {
    path = "/v1/chat/completions",
    whole = { id = "c", model = "gpt-1", choices = { { message = { content = text },
      finish_reason = "stop" } }, usage = { prompt_tokens = 9, completion_tokens = 5 } },
    stream = { { choices = { { delta = { content = text:sub(1, 30) } } } },
      { choices = { { delta = { content = text:sub(31) }, finish_reason = "stop" } } },
      { choices = json.empty_list, usage = { prompt_tokens = 9, completion_tokens = 5 } },
      "[DONE]" },
  },
  anthropic = {
    path = "/v1/v1/messages",
    whole = { id = "m", model = "claude-1", stop_reason = "end_turn",
      content = { { type = "text", text = text } },
      usage = { input_tokens = 4, cache_read_input_tokens = 5, output_tokens = 5 } },
    stream = { { type = "message_start", message = { id = "m", model = "claude-1",
        usage = { input_tokens = 4, cache_read_input_tokens = 5, output_tokens = 1 } } },
      { type = "content_block_delta", delta = { type = "text_delta", text = text } },
      { type = "message_delta", delta = { stop_reason = "end_turn" },
        usage = { output_tokens = 5 } }, { type = "message_stop" } },
  },
  responses = {
    path = "/v1/responses",
    whole = { id = "r", model = "gpt-1", status = "completed", output = { { type = "message",
      content = { { type = "output_text", text = text } } } },
      usage = { input_tokens = 9, output_tokens = 5 } },
    stream = { { type = "response.output_text.delta", delta = text },
      { type = "response.completed", response = { id = "r", model = "gpt-1",
        status = "completed", usage = { input_tokens = 9, output_tokens = 5 } } } },
  },
}

-- Scenario text -------------------------------------------------------------------------

local function whole(status, value, headers)
  return ("on POST *\n times 1\n head %d\n%s json %s\n"):format(status, headers or "",
    type(value) == "table" and json.encode(value) or value)
end

local function events(list, between, last)
  local out = { "on POST *\n times 1\n head 200\n header content-type: text/event-stream\n",
                " chunked\n" }
  for _, e in ipairs(list) do
    local said = type(e) == "table" and json.encode(e) or e
    out[#out + 1] = (" data %s\n%s"):format(said, between or "")
  end
  out[#out + 1] = last or " last\n"
  return table.concat(out)
end

local good = events(apis.openai.stream)

local fresh = 0

-- One proposal from a server of that scenario.
local function propose(scenario, more, how)
  local s = server.start(scenario, how)
  fresh = fresh + 1
  local options = { provider = "openai", model = "s" .. fresh, base_url = s.url .. "/v1",
                    retry_s = 0.01, attempts = 3, idle_s = 5, timeout_s = 20 }
  for k, v in pairs(more or {}) do options[k] = v end
  local record
  local began = core.system.now_ns()
  local c, why, status = looped(function(L)
    local g = kb.generator.llm(options).start(task, { loop = L, note = function() end })
    return g.propose(parent, strategy, core.rng(1), { pull = 1, call = function(r) record = r end })
  end)
  local seconds = (core.system.now_ns() - began) / 1e9
  local requests = s:requests()
  s:stop()
  return c, why, status, { record = record, requests = requests, seconds = seconds }
end

for _, name in ipairs { "openai", "anthropic", "responses" } do
  for _, how in ipairs { "streamed", "whole" } do
    t.test(("%s answers, %s"):format(name, how), function()
      local api = apis[name]
      local said = how == "streamed" and events(api.stream) or whole(200, api.whole)
      local c, why, _, more = propose(said, { provider = name, stream = how == "streamed" })
      assert(c, why)
      t.equal(c.source, code)
      t.equal({ more.record.tokens_in, more.record.tokens_out }, { 9, 5 })
      t.equal(#more.requests, 1)
      t.equal(more.requests[1].path, api.path)
      local body = json.decode(more.requests[1].body)
      t.equal(body.stream, how == "streamed" or nil)
      t.equal(more.record.http_status, 200)
      assert(more.record.first_s <= more.record.total_s)
    end)
  end
end

t.test("a server that does not know streaming and answers in one piece is read", function()
  local c, why = propose(whole(200, apis.openai.whole))
  assert(c, why)
end)

for _, case in ipairs {
  { "seconds", "header retry-after: 0.2\n" }, { "milliseconds", "header retry-after-ms: 200\n" },
  { "a limit's reset", "header x-ratelimit-remaining-tokens: 0\n header "
    .. "x-ratelimit-reset-tokens: 200ms\n" },
} do
  t.test("a 429 that hints by " .. case[1] .. " is obeyed", function()
    local c, why, _, more = propose(whole(429, { error = { message = "slow" } }, case[2]) .. good)
    assert(c, why)
    t.equal(#more.requests, 2)
    assert(more.seconds >= 0.2, more.seconds)
  end)
end

t.test("a 429 that hints by a date is obeyed", function()
  local at = os.date("!%a, %d %b %Y %H:%M:%S GMT", math.floor(core.system.wall_s()) + 2)
  local c, why, _, more = propose(whole(429, { error = { message = "slow" } },
    "header retry-after: " .. at .. "\n") .. good)
  assert(c, why)
  assert(more.seconds >= 0.8, more.seconds)
end)

for _, case in ipairs {
  { "a 500", whole(500, "oops") },
  { "a 529", whole(529, { type = "error", error = { type = "overloaded_error" } }) },
  { "a reset before any answer", "on POST *\n times 1\n reset\n" },
  { "a reset in mid-stream", events({ apis.openai.stream[1] }, " wait 20ms\n", " reset\n") },
  { "a connection that closes in mid-stream", events({ apis.openai.stream[1] }, nil, " close\n") },
  { "a stream that ends early in good order", events { apis.openai.stream[1] } },
  { "HTML from a proxy", 'on POST *\n times 1\n head 200\n header content-type: text/html\n'
    .. ' body "<html><body>Sign in</body></html>"\n' },
  { "malformed JSON", whole(200, "{\"choices\": [") },
  { "malformed JSON in an event", events { "{\"choices\": [" } },
  { "empty choices", whole(200, "{\"choices\": []}") },
  { "an empty body", 'on POST *\n times 1\n head 200\n body ""\n' },
  { "an error chunk after 200", events { { error = { message = "engine died", code = 500 } } } },
  { "JSON of many megabytes", 'on POST *\n times 1\n head 200\n chunked\n send "2625A00\\r\\n{"\n'
    .. ' many 39999999 "["\n send "\\r\\n"\n last\n' },
  { "an event of many megabytes", 'on POST *\n times 1\n head 200\n chunked\n send "2625A06\\r\\n'
    .. 'data: "\n many 40000000 "x"\n send "\\r\\n"\n last\n' },
  { "an answer that is not HTTP",
    'on POST *\n times 1\n send "220 smtp ready\\r\\n\\r\\n"\n close\n' },
} do
  t.test(case[1] .. " is tried again", function()
    local c, why, _, more = propose(case[2] .. good)
    assert(c, why)
    t.equal(c.source, code)
    t.equal(#more.requests, 2)
    t.equal(more.record.attempts, 2)
  end)
end

t.test("an error event after 200 is tried again", function()
  local c, why = propose(events { { type = "error", error = { type = "overloaded_error",
    message = "Overloaded" } } } .. events(apis.anthropic.stream), { provider = "anthropic" })
  assert(c, why)
end)

t.test("a stall ends at the idle limit and is tried again", function()
  local c, why, _, more = propose(events({ apis.openai.stream[1] }, nil, " stall\n") .. good,
                                  { idle_s = 0.3 })
  assert(c, why)
  assert(more.seconds >= 0.3, more.seconds)
end)

t.test("a slow drip is no stall, and what it says in time counts", function()
  local said = {}
  for i, e in ipairs(apis.openai.stream) do
    said[i] = "data: " .. (type(e) == "table" and json.encode(e) or e) .. "\\n\\n"
  end
  local all = table.concat(said):gsub("\\n\\n", "\0"):gsub("\\", "\\\\"):gsub('"', '\\"')
    :gsub("%z", "\\n\\n")
  local c, why = propose('on POST *\n head 200\n header content-type: text/event-stream\n'
    .. ' header connection: close\n blank\n drip 2ms 7 "' .. all .. '"\n close\n', { idle_s = 0.5 })
  assert(c, why)
  t.equal(c.source, code)
end)

t.test("a drip without end is ended at the deadline, and the search pauses", function()
  local c, why, status, more = propose('on POST *\n head 200\n blank\n drip 20ms 1 ": '
    .. ("x"):rep(2000) .. '"\n', { timeout_s = 0.4, attempts = 2 })
  t.equal(c, nil)
  t.equal(status, "EPAUSE")
  t.contains(why, "tried 2 times")
  assert(more.seconds < 40, more.seconds)       -- it drips for longer
end)

t.test("a connection refused pauses the search after its tries", function()
  local port = server.port()
  local c, why, status = propose("on ANY *\n head 200\n", { base_url = ("http://127.0.0.1:%d/v1")
    :format(port) })
  t.equal(c, nil)
  t.equal(status, "EPAUSE")
  t.contains(why, "tried 3 times")
end)

t.test("a spent quota pauses the search at once", function()
  local c, why, status, more = propose(whole(429, { error = { type = "insufficient_quota",
    code = "insufficient_quota", message = "You exceeded your current quota" } }))
  t.equal(c, nil)
  t.equal(status, "EPAUSE")
  t.contains(why, "exceeded your current quota")
  t.equal(#more.requests, 1)
end)

t.test("a refusal and a cut answer are reported as such", function()
  local c, why = propose(whole(200, { choices = { { message = { refusal = "No." },
    finish_reason = "stop" } } }))
  t.equal(c, nil)
  t.contains(why, "the model refused: No.")
  c, why = propose(whole(200, { choices = { { message = { content = "```c\nvoid axpy(" },
    finish_reason = "length" } } }))
  t.equal(c, nil)
  t.contains(why, "cut off at the limit")
end)

t.test("invalid UTF-8 is made valid", function()
  local body = json.encode(apis.openai.whole):gsub("Here", "\xff\xfe")
  local c, why, _, more = propose(whole(200, body))
  assert(c, why)
  assert(utf8.len(more.record.answer))
end)

t.test("an unsupported field is dropped once", function()
  local c, why, _, more = propose(whole(400, { error = { message = "Unsupported value: "
    .. "'temperature' does not support 0.7 with this model.", param = "temperature",
    code = "unsupported_value" } }) .. good, { temperature = 0.7 })
  assert(c, why)
  t.equal(json.decode(more.requests[1].body).temperature, 0.7)
  t.equal(json.decode(more.requests[2].body).temperature, nil)
end)

t.test("a certificate that is trusted is taken, one that has expired is refused", function()
  local dir = server.certificates()
  local c, why = propose(good, { ca_file = dir .. "/ca.pem" }, { tls = "good" })
  assert(c, why)
  local status, more
  c, why, status, more = propose(good, { ca_file = dir .. "/ca.pem" }, { tls = "expired" })
  t.equal(c, nil)
  t.equal(status, "ESTOP")
  t.contains(why:lower(), "certificate")
  t.equal(#more.requests, 0)
  c, why, status = propose(good, {}, { tls = "good" })
  t.equal({ c, status }, { nil, "ESTOP" })
  t.contains(why:lower(), "certificate")
end)

-- Many at once ------------------------------------------------------------------------------

t.test("n_parallel bounds the questions under way, and each gets its answer", function()
  local s = server.delay(100, json.encode(apis.openai.whole))
  local L = loop.new()
  local g = kb.generator.llm { model = "many", base_url = s.url .. "/v1", n_parallel = 8 }
            .start(task, { loop = L })
  local done, most, began = 0, 0, core.system.now_ns()
  for i = 1, 80 do
    L:spawn(function()
      local c, why = g.propose(parent, strategy, core.rng(i), { pull = i })
      assert(c, why)
      most = math.max(most, #s:requests() - done)
      done = done + 1
    end)
  end
  while done < 80 do assert(L:turn(5e9)) end
  local seconds = (core.system.now_ns() - began) / 1e9
  s:stop()
  assert(seconds >= 1, seconds)         -- ten after another, not fewer
  assert(most >= 4, most)               -- and not eighty
end)

t.test("a question that is cancelled leaves its place to the next", function()
  local s = server.delay(300, json.encode(apis.openai.whole))
  local L = loop.new()
  local g = kb.generator.llm { model = "cancel", base_url = s.url .. "/v1", n_parallel = 1 }
            .start(task, { loop = L })
  local got = {}
  local tasks = {}
  for i = 1, 3 do
    tasks[i] = L:spawn(function()
      got[i] = table.pack(g.propose(parent, strategy, core.rng(i), { pull = i }))
    end)
  end
  L:turn(50 * 1000000)
  tasks[1]:cancel()
  tasks[2]:cancel()
  while not got[3] do assert(L:turn(5e9)) end
  s:stop()
  t.equal(got[1][3], "ECANCELED")
  t.equal(got[2][3], "ECANCELED")
  t.equal(got[3][1].source, code)
end)

-- Keys ------------------------------------------------------------------------------------

local secret = "sk-test/" .. core.system.random_hex(16)
local quoted = secret:gsub("/", "\\/")

-- A whole search in a process of its own, whose server says the key wherever it can.
local function leak(scenario, shown)
  local s = server.start(scenario)
  local dir = t.folder()
  local out = dir .. "/run"
  assert(core.system.write_file(dir .. "/s.lua", ([[
    local kb = require "kernelband"
    kb.search { task = kb.task "tests/lib/tasks/axpy", device = "cpu", strategies = "strategies/c",
      policy = "policies/random.lua", budget = { steps = 2 }, out = %q,
      confirm = false, patience = 0, progress = arg[1] or "always",
      generator = kb.generator.llm { model = "m", base_url = %q, api_key_env = "KB_SPEC_KEY",
        retry_s = 0.01, attempts = 2, record = %q } }]]):format(out, s.url, dir .. "/kept")))
  local pipe = io.popen(("KB_SPEC_KEY='%s' KERNELBAND_TRACE=1 %s run %s/s.lua %s 2>&1"):format(
    secret, core.system.exe(), dir, shown or ""))
  local said = pipe:read "a"
  local _, _, status = pipe:close()
  local requests = s:requests()
  s:stop()
  local grep = io.popen(("grep -rlaF -e '%s' -e '%s' -e '%s' %s/run %s/kept 2>&1"):format(secret,
    quoted, secret:sub(1, 20), dir, dir))
  local found = grep:read "a"
  grep:close()
  local files = core.system.list(out)
  return said, requests, found, files, status
end

t.test("a key is never in the folder of a run nor in what is printed", function()
  local answer = json.encode { id = secret, model = secret, system_fingerprint = secret,
    choices = { { finish_reason = "stop", message = { content = "// " .. secret .. "\n```c\n// "
      .. secret .. "\nvoid axpy(const float *x, float *y, int n)\n{\n"
      .. "    for (int i = 0; i < n; i++)\n        y[i] = 2 * x[i] + 1;\n}\n```\n" } } },
    usage = { prompt_tokens = 1, completion_tokens = 1, note = secret } }
  local head = "header x-request-id: " .. secret .. "\n"
  local said, requests, found, files = leak(
    whole(500, { error = { message = "your key " .. secret .. " broke me" } }, head)
    .. "on POST *\n head 200\n " .. head .. " json " .. answer .. "\n")
  t.equal(requests[1].headers.authorization, "Bearer " .. secret)
  assert(#requests >= 2, said)
  assert(#files > 0, said)
  t.equal(found, "")
  assert(not said:find(secret:sub(1, 20), 1, true), said)
end)

for _, shown in ipairs { "always", "json" } do
  t.test("a key that is refused is not told either, progress = " .. shown, function()
    local said, requests, found, _, status = leak("on POST *\n head 401\n json "
      .. json.encode { error = { message = "Incorrect API key provided: " .. secret } } .. "\n",
      shown)
    t.equal(#requests, 1)
    t.contains(said, "Incorrect API key provided: [key]")
    t.equal(status, 1)                  -- nothing was done
    t.equal(found, "")
    assert(not said:find(secret:sub(1, 20), 1, true), said)
  end)
end

t.test("a web page in place of an answer says where to look", function()
  local c, why = propose('on POST *\n head 200\n header content-type: text/html; charset=utf-8\n'
    .. ' body "<html><body>Sign in</body></html>"\n')
  t.equal(c, nil)
  t.contains(why, "check base_url")
end)

t.test("an error of a script does not tell the key", function()
  local s = server.start "on ANY *\n head 200\n"
  local script = os.tmpname()
  assert(core.system.write_file(script, ([[
    local kb = require "kernelband"
    kb.search { task = kb.task "tests/lib/tasks/axpy", device = "cpu", budget = { steps = 1 },
      generator = kb.generator.llm { model = "m", base_url = %q, api_key_env = "KB_SPEC_KEY",
        prompt = { ask = function(about) error("broken by hand") end } } }]]):format(s.url)))
  local pipe = io.popen(("KB_SPEC_KEY='%s' KERNELBAND_TRACE=1 %s run %s 2>&1"):format(secret,
    core.system.exe(), script))
  local said = pipe:read "a"
  pipe:close()
  s:stop()
  os.remove(script)
  t.contains(said, "broken by hand")
  assert(not said:find(secret:sub(1, 20), 1, true), said)
end)

-- Ctrl-C ------------------------------------------------------------------------------------

t.test("Ctrl-C with eight questions under way hangs up, and the run goes on later", function()
  local slow = server.delay(60000, "late")
  local dir = t.folder()
  assert(core.system.write_file(dir .. "/s.lua", [[
    local kb = require "kernelband"
    local r = kb.search { task = kb.task "tests/lib/tasks/axpy", device = "cpu", parallel = 8,
      policy = "policies/random.lua", strategies = "strategies/c", budget = { steps = 8 },
      out = arg[1], confirm = false,
      generator = kb.generator.llm { provider = "openai", model = "m" } }
    print(r.state, r.pulls)]]))
  local function command(url, words)
    return ("cd %s && OPENAI_API_KEY=%s OPENAI_BASE_URL=%s/v1 exec %s %s 2>&1"):format(
      core.system.realpath ".", secret, url, core.system.exe(), words)
  end
  local pipe = io.popen(("echo $$; " .. command(slow.url, "run %s/s.lua %s/run")):format(dir, dir))
  local pid, limit = pipe:read "l", core.system.now_ns() + 60e9
  while #slow:requests() < 8 and core.system.now_ns() < limit do core.system.sleep_ns(20000000) end
  t.equal(#slow:requests(), 8)
  local began = core.system.now_ns()
  os.execute("kill -INT " .. pid)
  local said = pipe:read "a"
  local _, how, status = pipe:close()
  assert(core.system.now_ns() - began < 50e9, "it did not hang up")
  t.equal({ how, status }, { "exit", 130 }, said)
  slow:stop()
  local reader = require("kernelband.store.run").reader(dir .. "/run")
  t.equal(reader:experiment().state, "interrupted")
  reader:close()
  local s = server.start("on POST *\n head 200\n json " .. json.encode(apis.openai.whole) .. "\n")
  local more = io.popen(command(s.url, ("resume %s/run --force"):format(dir)))
  said = said .. more:read "a"
  more:close()
  s:stop()
  t.contains(said, "done\t8")
  local grep = io.popen(("grep -rlaF '%s' %s"):format(secret:sub(1, 20), dir))
  t.equal(grep:read "a", "")
  grep:close()
  assert(not said:find(secret:sub(1, 20), 1, true), said)
end)

server.clean()
t.finish()
