local t = require "harness"
local core = require "kernelband.core"
local sse = require "kernelband.llm.sse"

-- All events of a text that arrives in pieces of n bytes.
local function read(text, n)
  local s, out = sse.new(), {}
  n = n or #text + 1
  for at = 1, #text, n do
    for _, e in ipairs(assert(s:feed(text:sub(at, at + n - 1)))) do
      out[#out + 1] = (e.name or "") .. "|" .. e.data
    end
  end
  for _, e in ipairs(s:finish()) do out[#out + 1] = (e.name or "") .. "|" .. e.data end
  return out
end

for _, case in ipairs {
  { "an event is its data", "data: {}\n\n", { "|{}" } },
  { "the space after the colon is optional, and only one",
    "data:a\n\ndata:  b\n\n", { "|a", "| b" } },
  { "data lines are joined", "data: a\ndata: b\n\n", { "|a\nb" } },
  { "an event has a name, for itself alone",
    "event: x\ndata: 1\n\ndata: 2\n\n", { "x|1", "|2" } },
  { "comments, ids and unknown fields are passed over",
    ": hi\nid: 3\nretry: 9\nfoo: x\ndata: 1\n\n",
    { "|1" } },
  { "an event without data is none", "event: ping\n\ndata: 1\n\n", { "|1" } },
  { "lines end in CR LF as well", "event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", { "x|1", "|2" } },
  { "lines end in CR as well", "data: 1\r\rdata: 2\r\r", { "|1", "|2" } },
  { "a byte order mark is no part of the first field", "\xEF\xBB\xBFdata: 1\n\n", { "|1" } },
  { "a stream cut before its empty line still says what it held",
    "data: 1\n\ndata: 2", { "|1", "|2" } },
  { "a field without a colon has no value", "data\n\n", { "|" } },
  { "an empty stream has no events", "", {} },
} do
  t.test(case[1], function()
    t.equal(read(case[2]), case[3])
    for n = 1, 7 do t.equal(read(case[2], n), case[3], "in pieces of " .. n) end
  end)
end

t.test("an event beyond the bound breaks the stream for good", function()
  local s = sse.new { max_event_bytes = 100 }
  t.equal(#s:feed("data: " .. ("x"):rep(50) .. "\n\n"), 1)
  local got, why = s:feed("data: " .. ("x"):rep(200))
  t.equal(got, nil)
  t.contains(why, "larger than 100 bytes")
  t.equal(s:feed "\n\ndata: 1\n\n", nil)
  t.equal(s:finish(), {})
end)

t.test("many data lines of one event are within the bound too", function()
  local s = sse.new { max_event_bytes = 1000 }
  t.equal(s:feed(("data: 12345678\n"):rep(200)), nil)
end)

t.test("a line that drips in byte by byte takes linear time", function()
  local s, began = sse.new(), core.system.now_ns()
  s:feed "data: "
  for _ = 1, 300000 do s:feed "x" end
  local events = s:feed "\n\n"
  t.equal(#events[1].data, 300000)
  assert(core.system.now_ns() - began < 3e9)
end)

t.finish()
