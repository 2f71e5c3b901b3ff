-- This file tests lua/kernelband/llm/events.lua, which parses server-sent events. It checks streams
-- that are cut at any byte, the size limit of an event, and the running time.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local events = require "kernelband.llm.events"

-- A reader: feed(text) gives the list of all events so far, or nil, why, code.
local function reader(most)
  local out = {}
  local feed = events.reader(function(data, name) out[#out + 1] = (name or "") .. "|" .. data end,
                             most)
  return function(text)
    local ok, why, code = feed(text)
    if not ok then return nil, why, code end
    return out
  end
end

-- All events of a text that arrives in pieces of n bytes.
local function read(text, n)
  local feed = reader()
  n = n or #text + 1
  for at = 1, #text, n do assert(feed(text:sub(at, at + n - 1))) end
  return feed "\n\n"
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
  local feed = reader(100)
  t.equal(#feed("data: " .. ("x"):rep(50) .. "\n\n"), 1)
  local got, why = feed("data: " .. ("x"):rep(200))
  t.equal(got, nil)
  t.contains(why, "larger than 100 bytes")
  t.equal(feed "\n\ndata: 1\n\n", nil)
  t.equal(select(3, feed ""), "EFULL")
end)

t.test("many data lines of one event are within the bound too", function()
  t.equal(reader(1000)(("data: 12345678\n"):rep(200)), nil)
end)

t.test("many events of less than the bound are not beyond it together", function()
  t.equal(#reader(20)(("data: 12345678\n\n"):rep(200)), 200)
end)

t.test("a line that drips in byte by byte takes linear time", function()
  local feed, began = reader(), os.clock()
  feed "data: "
  for _ = 1, 300000 do feed "x" end
  t.equal(#feed("\n\n")[1], 300001)
  assert(os.clock() - began < 3)
end)

t.test("the ends of lines may be parted", function()
  local feed = reader()
  assert(feed "data: 1\r" and feed "\n\r" and feed "")
  t.equal(feed "\ndata: 2", { "|1" })
  assert(feed "\r")
  t.equal(feed "\ndata: 3\n\r\n", { "|1", "|2\n3" })
end)

t.test("events are the same however their bytes are cut", function()
  local rng = core.rng(7)
  local letters = { "\n", "\n", "\r", "data:", "data: ", "event:", ":", "x", "\0", "\xEF\xBB\xBF" }
  for _ = 1, 300 do
    local text = {}
    for i = 1, 40 do text[i] = letters[1 + rng:below(#letters)] end
    text = table.concat(text)
    local feed, at = reader(), 1
    while at <= #text do
      local n = 1 + rng:below(9)
      assert(feed(text:sub(at, at + n - 1)))
      at = at + n
    end
    t.equal(feed "\n\n", read(text))
  end
end)

t.finish()
