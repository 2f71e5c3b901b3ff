-- Texts taken from events without reading their JSON are what their JSON says.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local json = require "kernelband.base.json"
local pieces = require "kernelband.llm.pieces"
local reply = require "kernelband.llm.reply"

local frames = {
  { "content", '{"id":"c","choices":[{"index":0,"delta":{"content":"%s"},"finish":null}]}' },
  { "content", '{"choices": [{"delta": {"content": "%s"}}], "usage": null}' },
  { "content", '{"choices":[{"delta":{"content":"%s"}}],"usage":null,"obfuscation":"%r"}' },
  { "text", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}' },
  { "delta", '{"type":"response.output_text.delta","sequence_number":%n,"delta":"%s"}' },
}

-- The piece an event says; nil when its JSON is to be read.
local function read(p, data)
  assert(p:feed("data: " .. data .. "\n\n"))
  local said, other = assert(p:next())
  if other then t.equal({ said, other }, { "", data }) end
  return not other and said or nil
end

local function find(v, key)
  if type(v) ~= "table" then return nil end
  if type(v[key]) == "string" then return v[key] end
  for _, x in pairs(v) do
    local said = find(x, key)
    if said then return said end
  end
end

local rng = core.rng(4)
local letters = { "a", "é", '\\"', "\\n", "\\\\", "\\u00e9", "\\u0000", "/", "\\/", " ", "}", "{",
                  ":", ",", "\\t", '","content":"', '"', "\\", '"}', "\1", "\xff", '\\"},"' }

local function text(most)
  local out = {}
  for i = 1, rng:below(6) do out[i] = letters[1 + rng:below(most)] end
  return table.concat(out)
end

t.test("a piece is read only where reading the JSON gives the same", function()
  local done, wrong = 0, 0
  for _, f in ipairs(frames) do
    local p = pieces.new(f[1])
    for i = 1, 4000 do
      local said = text(i % 2 == 0 and 15 or #letters)
      local data = f[2]:gsub("%%(.)", { s = said, r = text(3), n = tostring(i) })
      local got, value = read(p, data), reply.decode(data)
      local true_one = value and find(value, f[1])
      if got then
        done = done + 1
        if got ~= true_one then wrong = wrong + 1 end
      elseif true_one then
        p:learn(data, true_one)
      end
    end
  end
  t.equal(wrong, 0)
  assert(done > 4000, done)
end)

t.test("an event of another kind is not taken for one of the kind learnt", function()
  local p = pieces.new "content"
  local function event(more)
    return '{"id":"1","choices":[{"delta":{"content":"a"}' .. more .. "}]}"
  end
  t.equal(read(p, event ""), nil)
  p:learn(event "", "a")
  t.equal(read(p, event ""), "a")
  t.equal(read(p, event ',"finish_reason":"stop"'), nil)
  t.equal(read(p, (event ""):gsub('"1"', '"2"')), nil)
  p:forget()
  t.equal(read(p, event ""), nil)
end)

t.test("what could be another field of that name is not learnt", function()
  local p = pieces.new "content"
  for _, data in ipairs { '{"content":"a","delta":{"content":"a"}}', '{"content":["a"]}',
                          '{"content":"\\u0061"}', '{"x":"a"}' } do
    p:learn(data, "a")
    t.equal(read(p, data), nil, data)
  end
end)

t.test("a refusal beside the text is never learnt as text", function()
  local client = require "kernelband.llm.client"
  local providers = require "kernelband.llm.providers"
  local event = "data: " .. json.encode { choices = { { delta = { content = "x",
    refusal = "no" } } } } .. "\n\n"
  local L = { inside = function() return true end, sleep = function() return true end }
  function L.http(_, r)
    r.on_data(event .. event .. "data: [DONE]\n\n")
    return { status = 200, headers = {}, body = "" }
  end
  local c = client.new { provider = "openai", place = providers.places.openai, base = "http://h",
    model = "refuses", headers = {}, max_tokens = 100, stream = true, n_parallel = 1, attempts = 1,
    prices = require "kernelband.llm.prices".load(), retry_s = 0, patience_s = 1, connect_s = 1,
    idle_s = 1, timeout_s = 1 }
  local got = c:ask(L, { system = "", stable = "", fresh = "" }, core.rng(1))
  t.equal({ got.refusal, got.text }, { "nono", "xx" })
end)

t.finish()
