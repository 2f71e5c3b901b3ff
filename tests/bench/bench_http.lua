-- What transfers cost the engine: many slow streams at once, and answers that
-- take two seconds with 16 in flight.
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local core    = require "kernelband.core"
local loop    = require "kernelband.base.loop"
local server  = require "server"
local streams = require "streams"

for _, tls in ipairs { false, "good" } do
  for _, n in ipairs { 16, 1000 } do
    local c = streams.run { streams = n, tls = tls or nil }
    print(("%4d slow streams%s   %5.1f s, %4.0f MiB resident, processor %.2f ms a stream, "
           .. "%.0f us a piece"):format(n, tls and " TLS" or "    ", c.seconds, c.resident_mib,
                                        c.per_stream_ms, c.per_piece_us))
  end
end

local s = server.delay(2000, '{"ok":true}')
local L, left, begun, cpu = loop.new(), 64, core.system.now_ns(), os.clock()
for _ = 1, 16 do
  L:spawn(function()
    while left > 0 do
      left = left - 1
      assert(L:http { url = s.url .. "/", body = "{}" })
    end
  end)
end
repeat local ok, _, code = L:turn(10 ^ 9 // 1) until not ok and code == "EEMPTY"
local seconds, used = (core.system.now_ns() - begun) / 1e9, os.clock() - cpu
print(("  64 answers of 2 s, 16 in flight: %.1f s, %.1f times one at a time, "
       .. "processor %.2f ms each"):format(seconds, 128 / seconds, used * 1e3 / 64))
s:stop()
server.clean()
