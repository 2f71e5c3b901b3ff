-- streams.lua - many slow streams at once, and what they cost this process.
--
--   local cost = require("streams").run { streams = 1000, tls = "good" | nil }
--   cost = { seconds =, cpu_s =, per_stream_ms =, per_piece_us =, resident_mib =,
--            pieces = }
--
-- Each stream sends 20 events of 200 bytes, 100 ms apart, as a model's do.
local core   = require "kernelband.core"
local loop   = require "kernelband.base.loop"
local server = require "server"

local streams = {}

local EVENTS = 20

local function scenario()
  local lines = { "on POST *", "head 200", "header Content-Type: text/event-stream", "chunked" }
  for i = 1, EVENTS do
    lines[#lines + 1] = ('data {"n":%d,"text":"%s"}'):format(i, ("x"):rep(180))
    if i < EVENTS then lines[#lines + 1] = "wait 100ms" end
  end
  lines[#lines + 1] = "last"
  return table.concat(lines, "\n")
end

local function resident_kib()
  return tonumber(core.system.read_file "/proc/self/status":match "VmRSS:%s*(%d+) kB")
end

function streams.run(options)
  local s = server.start(scenario(), { tls = options.tls })
  local L = loop.new { connections = options.streams }
  local left, pieces, bytes, most_kib = options.streams, 0, 0, 0
  local begun, cpu = core.system.now_ns(), os.clock()
  for _ = 1, options.streams do
    L:spawn(function()
      local r = assert(L:http {
        url = s.url .. "/v1/stream", body = ("p"):rep(2000),
        headers = { { "Content-Type", "application/json" } },
        ca_file = options.tls and server.certificates() .. "/ca.pem" or nil,
        on_data = function(chunk) pieces, bytes = pieces + 1, bytes + #chunk end })
      assert(r.status == 200)
      left = left - 1
    end)
  end
  local looked = 0
  while left > 0 do
    L:turn(10 ^ 9 // 1)
    if core.system.now_ns() - looked > 10 ^ 8 then
      looked, most_kib = core.system.now_ns(), math.max(most_kib, resident_kib())
    end
  end
  local cpu_s = os.clock() - cpu
  s:stop()
  assert(bytes >= options.streams * EVENTS * 200, "bytes were lost")
  return { seconds = (core.system.now_ns() - begun) / 1e9, cpu_s = cpu_s, pieces = pieces,
           per_stream_ms = cpu_s * 1e3 / options.streams, per_piece_us = cpu_s * 1e6 / pieces,
           resident_mib = most_kib / 1024 }
end

return streams
