-- A thousand slow streams at once stay within 200 MiB and 2 ms of processor
-- each, in the open and under TLS.
package.path = "tests/lib/?.lua;" .. package.path
local t       = require "harness"
local server  = require "server"
local streams = require "streams"

for _, tls in ipairs { false, "good" } do
  t.test("a thousand slow streams" .. (tls and " under TLS" or ""), function()
    local c = streams.run { streams = 1000, tls = tls or nil }
    print(("%.0f MiB resident, %.2f ms of processor a stream of %.0f pieces"):format(
          c.resident_mib, c.per_stream_ms, c.pieces / 1000))
    assert(c.resident_mib < 200, c.resident_mib)
    assert(c.per_stream_ms < (tls and 8 or 2), c.per_stream_ms)
  end)
end

server.clean()
t.finish()
