-- L:http against a server that misbehaves to order, on loopback.
package.path = "tests/lib/?.lua;" .. package.path
local t      = require "harness"
local core   = require "kernelband.core"
local loop   = require "kernelband.base.loop"
local server = require "server"

local ms, second_ns = 10 ^ 6 // 1, 10 ^ 9 // 1
local now_ns = core.system.now_ns
local SECRET = "Bearer sk-do-not-show-this"

-- Runs fn in a coroutine and turns the loop until it has ended.
local function inside(fn, L)
  L = L or loop.new()
  local h = L:spawn(function() fn(L) end)
  local limit = now_ns() + 60 * second_ns
  while not h:done() do
    local ok, why, code = L:turn(second_ns)
    assert(ok or code == "ETIME" or code == "EINTR", why)
    assert(now_ns() < limit, "the transfer did not come to its end")
  end
end

-- One request; all that L:http returns, and the seconds it took.
local function ask(request)
  local out, took
  request.headers = request.headers or { { "Authorization", SECRET } }
  inside(function(L)
    local begun = now_ns()
    out = table.pack(L:http(request))
    took = (now_ns() - begun) / 1e9
  end)
  return out, took
end

local function refused(request, reason, code, ...)
  local out, took = ask(request)
  t.equal(out[1], nil)
  t.equal({ out[3], out[4] and out[4].reason }, { code, reason }, tostring(out[2]))
  for _, part in ipairs { ... } do t.contains(out[2], part) end
  assert(not out[2]:find "sk-do", "a header's value was told")
  return out[4], took
end

local s = server.start([[
on POST /plain
  head 200
  header Content-Type: application/json
  header X-Request-Id: abc
  header Set-Cookie: a=1
  header Set-Cookie: b=2
  json {"ok":true}
on POST /stream
  head 200
  header Content-Type: text/event-stream
  chunked
  data {"n":1}
  wait 20ms
  chunk "data: {\"n\""
  wait 20ms
  chunk ":2}\n\n"
  last
on POST /waves
  head 200
  chunked
  chunk "a"
  wait 60ms
  chunk "b"
  wait 60ms
  chunk "c"
  wait 60ms
  chunk "d"
  last
on POST /waves-and-silence
  head 200
  chunked
  chunk "a"
  wait 60ms
  chunk "b"
  wait 60ms
  chunk "c"
  stall
on POST /flood
  head 200
  chunked
  chunk "a"
  wait 60ms
  many 20000 "10\r\nxxxxxxxxxxxxxxxx\r\n"
  stall
on GET /429
  head 429
  header Retry-After: 7
  json {"error":"slow down"}
on POST /echo
  head 200
  body "read"
on GET /moved
  head 302
  header Location: /plain
  body ""
on POST /html
  head 200
  header Content-Type: text/html
  body "<html>\x00\xff\xfe</html>"
on POST /packed
  head 200
  header Content-Encoding: gzip
  body "\x1f\x8b\x08 not unpacked"
on POST /interim
  send "HTTP/1.1 100 Continue\r\nX-Not: this\r\n\r\n"
  wait 10ms
  send "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
  head 200
  body "after"
on POST /reset-before
  reset
on POST /closed-before
  close
on POST /reset-amid
  head 200
  chunked
  chunk "first"
  wait 30ms
  reset
on POST /cut
  head 200
  header Content-Length: 1000
  blank
  send "only this"
  close
on POST /stall-head
  stall
on POST /stall
  head 200
  chunked
  chunk "first"
  stall
on POST /drip
  head 200
  chunked
  drip 20ms 1 "5\r\nhello\r\n5\r\nhello\r\n5\r\nhello\r\n5\r\nhello\r\n5\r\nhello\r\n5\r\nhello\r\n"
  stall
on POST /trickle
  head 200
  chunked
]] .. ('  drip 1ms 1 "' .. ("1\\r\\nx\\r\\n"):rep(30) .. '"\n'):rep(8) .. [[
  stall
on POST /huge
  head 200
  chunked
  chunk "x"
  send "f4240\r\n"
  many 100000 "0123456789"
  send "\r\n"
  last
on POST /huge-headers
  head 200
  many 2000 "X-Padding: 0123456789012345678901234567890123456789\r\n"
  body ""
on POST /huge-line
  head 200
  send "X-Long: "
  many 40000 "0123456789"
  send "\r\n"
  body ""
on POST /endless-interim
  many 20000 "HTTP/1.1 100 Continue\r\n\r\n"
  head 200
  body "late"
on POST /nonsense
  send "SSH-2.0-OpenSSH_9.2\r\n"
  close
on POST /bad-status
  send "HTTP/1.1 abc\r\n\r\n"
  close
on POST /bad-chunk
  head 200
  chunked
  chunk "good"
  send "zz\r\nbad"
  close
on POST /nul-header
  send "HTTP/1.1 200 OK\r\nX-Nul: a\x00b\r\nContent-Length: 2\r\n\r\nok"
on POST /bye
  head 200
  body "bye"
  close
on GET /slow
  wait 100ms
  head 200
  body "slow"
on CONNECT *
  head 407
  body ""
on GET http*
  head 200
  body "through the proxy"
]])

t.test("headers are in lower case, and one that comes twice is joined by a comma", function()
  local r = ask({ url = s.url .. "/plain", body = "{}" })[1]
  t.equal({ r.status, r.body, r.headers["content-type"], r.headers["x-request-id"],
            r.headers["set-cookie"] },
          { 200, '{"ok":true}', "application/json", "abc", "a=1, b=2" })
  assert(r.seconds.first >= 0 and r.seconds.total >= r.seconds.first)
end)

t.test("a request says what it was given and little else", function()
  ask { url = s.url .. "/echo", body = ("p"):rep(200000),
        headers = { { "Authorization", SECRET }, { "Content-Type", "application/json" },
                    { "X-Empty", "" } } }
  local all = s:requests()
  local q = all[#all]
  t.equal({ q.method, q.path, #q.body, q.headers.authorization, q.headers["content-type"],
            q.headers["x-empty"], q.headers["user-agent"], q.headers["accept-encoding"],
            q.headers.expect },
          { "POST", "/echo", 200000, SECRET, "application/json", "", "kernelband" })
end)

t.test("a stream is heard piece by piece, and its body is then empty", function()
  local heard = {}
  local r = ask({ url = s.url .. "/stream", body = "{}", on_data = function(chunk, status)
    heard[#heard + 1] = { chunk, status }
  end })[1]
  t.equal(heard, { { 'data: {"n":1}\n\n', 200 }, { 'data: {"n"', 200 }, { ":2}\n\n", 200 } })
  t.equal({ r.status, r.body, r.stopped }, { 200, "" })
  assert(r.seconds.first < r.seconds.total)
end)

-- Pieces of a stream that may wait for more; and what L:http returned.
local function gathered(path, request)
  local pieces = {}
  request.url, request.gather_ns = s.url .. path, request.gather_ns or 10 * second_ns
  function request.on_data(chunk) pieces[#pieces + 1] = chunk end
  local out, took = ask(request)
  return pieces, out, took
end

t.test("with gather_ns the pieces of a stream arrive as one, at its end", function()
  local pieces, out, took = gathered("/waves", { body = "{}" })
  t.equal(pieces, { "abcd" })
  t.equal(out[1].status, 200)
  assert(took > 0.17, took)
end)

t.test("no piece is held back longer than gather_ns", function()
  local pieces = gathered("/waves", { body = "{}", gather_ns = 20 * ms })
  t.equal(table.concat(pieces), "abcd")
  assert(#pieces > 1, #pieces)
end)

t.test("a stream with gather_ns is idle only when no bytes arrive", function()
  local pieces, out, took = gathered("/waves-and-silence", { body = "{}", idle_ns = 150 * ms })
  t.equal({ out[3], out[4].reason }, { "ETIME", "idle" })
  t.equal(table.concat(pieces) .. out[4].body, "abc")
  assert(took > 0.26, took)
end)

t.test("a stream with gather_ns ends at its total deadline", function()
  local pieces, out, took = gathered("/waves-and-silence", { body = "{}", total_ns = 250 * ms })
  t.equal({ out[3], out[4].reason }, { "ETIME", "total" })
  t.equal(table.concat(pieces) .. out[4].body, "abc")
  assert(took > 0.24, took)
end)

t.test("a flood does not wait, and is stopped by its reader", function()
  local heard = 0
  local out, took = ask({ url = s.url .. "/flood", body = "{}", gather_ns = 600 * second_ns,
    on_data = function(chunk)
      heard = heard + #chunk
      return heard < 100000
    end })
  assert(out[1].stopped)
  assert(took < 500, took)
end)

t.test("a stream with gather_ns can be cancelled at once", function()
  local L, out = loop.new(), nil
  local h = L:spawn(function()
    out = table.pack(L:http { url = s.url .. "/waves-and-silence", gather_ns = 600 * second_ns,
                              on_data = function() end })
  end)
  local begun = now_ns()
  L:at(begun + 100 * ms, function() h:cancel() end)
  while not h:done() do L:turn(second_ns) end
  t.equal(out[3], "ECANCELED")
  assert(now_ns() - begun < 500 * second_ns)
end)

t.test("a reader may stop a stream, and an error of it is its own", function()
  local n = 0
  local r = ask({ url = s.url .. "/stall", on_data = function()
    n = n + 1
    return false
  end })[1]
  t.equal({ r.status, r.stopped, n }, { 200, true, 1 })
  t.raises("the reader failed", ask, { url = s.url .. "/stall", on_data = function()
    error("the reader failed")
  end })
  t.raises("only a coroutine of loop:spawn can wait", inside, function(L)
    L:http { url = s.url .. "/stall", on_data = function() L:sleep(1) end }
  end)
end)

t.test("any status is an answer, and redirects are not followed", function()
  local r = ask({ url = s.url .. "/429", method = "GET" })[1]
  t.equal({ r.status, r.headers["retry-after"], r.body }, { 429, "7", '{"error":"slow down"}' })
  r = ask({ url = s.url .. "/moved", method = "GET" })[1]
  t.equal({ r.status, r.headers.location }, { 302, "/plain" })
end)

t.test("bytes pass as they are: another type, NULs, what claims to be packed", function()
  local r = ask({ url = s.url .. "/html" })[1]
  t.equal({ r.headers["content-type"], r.body }, { "text/html", "<html>\0\xff\xfe</html>" })
  r = ask({ url = s.url .. "/packed" })[1]
  t.equal(r.body, "\x1f\x8b\x08 not unpacked")
end)

t.test("interim answers are not the answer", function()
  local r = ask({ url = s.url .. "/interim" })[1]
  t.equal({ r.status, r.body, r.headers["x-not"], r.headers.link }, { 200, "after" })
end)

t.test("a refused connection is reported with host and advice", function()
  refused({ url = ("http://user:pass@127.0.0.1:%d/x?key=sk-do"):format(server.port()) },
          "connect", "EHTTP", "127.0.0.1:", "refused", "is the server running")
  refused({ url = "http://kernelband-absent.invalid/" }, "resolve", "EHTTP",
          "kernelband-absent.invalid:80", "spelling")
end)

t.test("a connection that breaks says after how much, and keeps it", function()
  refused({ url = s.url .. "/reset-before" }, "reset", "EHTTP", "127.0.0.1")
  refused({ url = s.url .. "/closed-before" }, "reset", "EHTTP", "without an answer")
  local part = refused({ url = s.url .. "/reset-amid" }, "reset", "EHTTP", "5 bytes")
  t.equal({ part.status, part.body }, { 200, "first" })
  part = refused({ url = s.url .. "/cut" }, "reset", "EHTTP", "9 bytes")
  t.equal({ part.status, part.body, part.headers["content-length"] }, { 200, "only this", "1000" })
end)

t.test("a stream that breaks was heard until then", function()
  local heard = ""
  refused({ url = s.url .. "/reset-amid", on_data = function(c) heard = heard .. c end },
          "reset", "EHTTP")
  t.equal(heard, "first")
end)

t.test("a failure that has no words of its own is one all the same", function()
  local text, code, reason = require("kernelband.base.transfer").failure {
    failure = "odd", host = "there", bound = 0, seen_bytes = 0, detail = "" }
  t.equal({ text, code, reason }, { "there: it failed (odd)", "EHTTP", "other" })
end)

t.test("silence ends a transfer at idle_ns, before and amid the answer", function()
  local _, took = refused({ url = s.url .. "/stall-head", idle_ns = 80 * ms }, "idle", "ETIME",
                          "silent for 0.1 s")
  assert(took >= 0.08, took)
  local part
  part, took = refused({ url = s.url .. "/stall", idle_ns = 80 * ms }, "idle", "ETIME")
  t.equal(part.body, "first")
  assert(took >= 0.08, took)
end)

t.test("a slow drip is ended at total_ns though it is never silent", function()
  local part, took = refused({ url = s.url .. "/drip", idle_ns = 10 * second_ns,
                               total_ns = 300 * ms }, "total", "ETIME", "not done within 0.3 s")
  assert(took >= 0.3, took)
  assert(#part.body > 0 and #part.body < 30, #part.body)
end)

t.test("a transfer whose time is up is not said to have had no connection", function()
  -- libcurl ends it up to a millisecond early, when bytes come then.
  local outs = {}
  inside(function(L)
    local all = {}
    for i = 1, 4 do
      all[i] = L:spawn(function()
        outs[i] = table.pack(L:http { url = s.url .. "/trickle", total_ns = second_ns })
      end)
    end
    for _, h in ipairs(all) do while not h:done() do L:sleep(10 * ms) end end
  end)
  for _, out in ipairs(outs) do t.equal({ out[3], out[4].reason }, { "ETIME", "total" }, out[2]) end
end)

t.test("a connection that is not agreed on is given up at connect_ns", function()
  -- A server that waits for a request, not for TLS.
  local _, took = refused({ url = s.url:gsub("http:", "https:") .. "/", connect_ns = 100 * ms,
                            idle_ns = 10 * ms }, "connect", "ETIME", "within 0.1 s")
  assert(took >= 0.1, took)
end)

t.test("a body over max_bytes is broken off, and what fitted is kept", function()
  t.equal(refused({ url = s.url .. "/plain", max_bytes = 0 }, "size", "EHTTP").body, "")
  local part = refused({ url = s.url .. "/huge", max_bytes = 5000 }, "size", "EHTTP",
                       "more than 5000 bytes", "max_bytes")
  t.equal(#part.body, 5000)
  local heard = 0
  refused({ url = s.url .. "/huge", max_bytes = 5000, on_data = function(c)
    heard = heard + #c
  end }, "size", "EHTTP")
  t.equal(heard, 5000)
  t.equal(#ask({ url = s.url .. "/huge" })[1].body, 1000001)
end)

t.test("headers over 64 KiB are broken off: many, one long, or never the last", function()
  for _, path in ipairs { "/huge-headers", "/huge-line", "/endless-interim" } do
    refused({ url = s.url .. path }, "size", "EHTTP", "headers are more than 65536 bytes")
  end
end)

t.test("an answer that is not HTTP is reported as such", function()
  refused({ url = s.url .. "/nonsense" }, "protocol", "EHTTP", "is not HTTP")
  refused({ url = s.url .. "/bad-status" }, "protocol", "EHTTP", "is not HTTP")
  local out = ask { url = s.url .. "/bad-chunk" }
  t.equal({ out[1], out[3], out[4].body }, { nil, "EHTTP", "good" })
  out = ask { url = s.url .. "/nul-header" }
  assert(out[1] or out[3] == "EHTTP")
end)

t.test("a request that cannot be sent is refused before it is", function()
  for _, value in ipairs { "sk-do\n", "sk-do\r\nX-Injected: 1", "sk-do\1" } do
    local out = ask { url = s.url .. "/plain", headers = { { "Authorization", value } } }
    t.equal({ out[1], out[3] }, { nil, "EINVAL" })
    t.contains(out[2], "line break")
    assert(not out[2]:find "sk%-do")
  end
  for _, url in ipairs { "ftp://host/", "file:///etc/passwd", "host/path", "", "http://",
                         "http://host:99999/" } do
    t.equal(ask({ url = url })[3], "EINVAL", url)
  end
  t.equal(ask({ url = s.url, method = "BREW" })[3], "EINVAL")
  for _, request in ipairs { { body = "x" }, { url = s.url, headers = { "a" } },
                             { url = s.url, max_bytes = -1 }, { url = s.url, colour = 1 },
                             { url = s.url, headers = { { "A", SECRET .. "\0" } } } } do
    local why = t.raises("", ask, request)
    assert(not tostring(why):find "sk%-do")
  end
end)

t.test("transfers overlap, and one loop serves them in the order of their end", function()
  local L, order, before, most = loop.new(), {}, #s:requests(), 0
  for i = 1, 40 do
    L:spawn(function()
      local r = L:http { url = s.url .. "/slow", method = "GET" }
      t.equal(r.body, "slow")
      most = math.max(most, #s:requests() - before - #order)
      order[#order + 1] = i
    end)
  end
  while #order < 40 do assert(L:turn(10 * second_ns)) end
  assert(most >= 8, ("%d of 40 were under way at once"):format(most))
  t.equal(select(3, L:turn(0)), "EEMPTY")
end)

t.test("with fewer connections than requests the rest wait their turn", function()
  local L, ended = loop.new { connections = 2 }, 0
  local begun = now_ns()
  for _ = 1, 6 do
    L:spawn(function()
      assert(L:http { url = s.url .. "/slow", method = "GET", total_ns = 190 * ms })
      ended = ended + 1
    end)
  end
  while ended < 6 do assert(L:turn(10 * second_ns)) end
  local took = (now_ns() - begun) / 1e9
  assert(took >= 0.3, ("6 of 0.1 s, two at once, took %.2f s"):format(took))
end)

t.test("a cancelled transfer is broken off at once and says what had come", function()
  local L, out = loop.new(), nil
  local h = L:spawn(function() out = table.pack(L:http { url = s.url .. "/stall" }) end)
  for _ = 1, 5 do L:turn(50 * ms) end
  h:cancel()
  while not h:done() do assert(L:turn(second_ns)) end
  t.equal({ out[1], out[2], out[3], out[4].status, out[4].body },
          { nil, "cancelled", "ECANCELED", 200, "first" })
  t.equal(select(3, L:turn(0)), "EEMPTY")
end)

t.test("a loop dropped with transfers in flight leaves nothing behind", function()
  collectgarbage()
  collectgarbage()
  local count = #assert(core.system.list "/proc/self/fd")
  do
    local L = loop.new()
    for _ = 1, 8 do L:spawn(function() L:http { url = s.url .. "/stall" } end) end
    for _ = 1, 5 do L:turn(20 * ms) end
    assert(#core.system.list "/proc/self/fd" > count)
  end
  collectgarbage()
  collectgarbage()
  t.equal(#core.system.list "/proc/self/fd", count)
end)

t.test("connections are used again, and one that was closed meanwhile is replaced", function()
  inside(function(L)
    for _ = 1, 3 do t.equal(L:http({ url = s.url .. "/bye", body = "x" }).body, "bye") end
    t.equal(L:http({ url = s.url .. "/plain", body = "x" }).version, 11)
    local _, _, code, part = L:http { url = s.url .. "/stall-head", idle_ns = 50 * ms }
    t.equal({ code, part.reason, part.status }, { "ETIME", "idle", 0 })
  end)
end)

-- TLS and the environment --------------------------------------------------------

local ca = server.certificates() .. "/ca.pem"
local good = server.start("on ANY *\n  head 200\n  body \"secret enough\"", { tls = "good" })
local other = server.start("on ANY *\n  head 200\n  body \"no\"", { tls = "other" })
local expired = server.start("on ANY *\n  head 200\n  body \"no\"", { tls = "expired" })

t.test("TLS: a certificate is accepted when its authority is trusted", function()
  local r = ask({ url = good.url .. "/", ca_file = ca })[1]
  t.equal({ r.status, r.body }, { 200, "secret enough" })
end)

t.test("TLS: an unknown authority is refused, and nothing is sent to it", function()
  refused({ url = good.url .. "/unknown" }, "tls", "EHTTP", "not accepted", "CURL_CA_BUNDLE")
  for _, q in ipairs(good:requests()) do assert(q.path ~= "/unknown") end
end)

t.test("TLS: an expired certificate and another name are refused", function()
  refused({ url = expired.url .. "/", ca_file = ca }, "tls", "EHTTP", "expired")
  t.equal(#expired:requests(), 0)
  refused({ url = other.url .. "/", ca_file = ca }, "tls", "EHTTP", "127.0.0.1")
  t.equal(#other:requests(), 0)
end)

t.test("TLS: authorities are read once, not for every connection", function()
  local one, many, cpu = core.system.read_file(ca), server.certificates() .. "/many.pem", {}
  assert(core.system.write_file(many, one:rep(2000)))
  inside(function(L)
    for round, connections in ipairs { 1, 8 } do
      local begun, left = os.clock(), connections
      for _ = 1, connections do
        L:spawn(function()
          t.equal(assert(L:http { url = good.url .. "/", ca_file = many }).status, 200)
          left = left - 1
        end)
      end
      while left > 0 do L:sleep(ms) end
      cpu[round] = os.clock() - begun
    end
  end)
  assert(cpu[2] < 3 * cpu[1], ("%.3f s for one, %.3f s for eight"):format(cpu[1], cpu[2]))
end)

t.test("HTTP/2 is spoken where the server does", function()
  if not os.execute "command -v nghttpd >/dev/null" then
    return print "skipped: nghttpd is not installed (package nghttp2-server)"
  end
  local dir, port = server.certificates(), server.port()
  local pipe = io.popen(("echo $$; cd %s && printf 0123456789 >file && exec nghttpd -a 127.0.0.1 "
    .. "-d . %d good.key good.pem >/dev/null 2>&1"):format(dir, port))
  local pid = pipe:read "l"
  local got, left = {}, 200
  local fine, fault = pcall(inside, function(L)
    local url, r = ("https://127.0.0.1:%d/file"):format(port), nil
    for _ = 1, 100 do                   -- until it listens
      r = L:http { url = url, method = "GET", ca_file = ca }
      if r then break end
      L:sleep(20 * ms)
    end
    t.equal({ r.version, r.status, r.body, r.headers["content-length"] },
            { 20, 200, "0123456789", "10" })
    for i = 1, 200 do
      L:spawn(function()
        got[i] = assert(L:http { url = url, method = "GET", ca_file = ca }).body
        left = left - 1
      end)
    end
    while left > 0 do L:sleep(5 * ms) end
    t.equal(L:http({ url = url .. "-absent", method = "GET", ca_file = ca }).status, 404)
  end)
  os.execute("kill " .. pid)
  pipe:close()
  assert(fine, fault)
  for i = 1, 200 do t.equal(got[i], "0123456789") end
end)

t.test("a plain request to a TLS server is reported", function()
  local out = ask { url = good.url:gsub("https:", "http:") .. "/" }
  t.equal({ out[1], out[3] }, { nil, "EHTTP" })
end)

t.test("a file of authorities that is not there is named", function()
  refused({ url = good.url .. "/", ca_file = "/nonexistent/ca.pem" }, "tls", "EHTTP", "ca_file")
end)

-- In a process of its own, whose environment is given.
local function elsewhere(url, environment)
  local script = os.tmpname()
  assert(core.system.write_file(script, [[
    local L = require "kernelband.base.loop".new()
    local h = L:spawn(function()
      local r, why, _, part = L:http { url = arg[1], method = "GET",
        headers = { { "Authorization", "Bearer sk-do-not-show-this" } } }
      print(r and r.status or part and part.reason, r and r.body or why)
    end)
    while not h:done() do L:turn(10^9 // 1) end]]))
  local words = { "env" }
  for _, name in ipairs { "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy",
                          "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
                          "NO_PROXY" } do
    words[#words + 1] = "-u " .. name
  end
  for _, pair in ipairs(environment) do words[#words + 1] = ("'%s'"):format(pair) end
  words[#words + 1] = ("'%s' run %s '%s' 2>&1"):format(core.system.exe(), script, url)
  local pipe = assert(io.popen(table.concat(words, " ")))
  local out = pipe:read "a"
  pipe:close()
  os.remove(script)
  return out
end

t.test("CURL_CA_BUNDLE and SSL_CERT_FILE name the authorities", function()
  local url = good.url .. "/"
  for _, name in ipairs { "CURL_CA_BUNDLE", "SSL_CERT_FILE" } do
    t.equal(elsewhere(url, { name .. "=" .. ca }), "200\tsecret enough\n")
  end
  t.contains(elsewhere(url, { "CURL_CA_BUNDLE=", "SSL_CERT_FILE=" }), "tls\t")
  t.contains(elsewhere(url, { "CURL_CA_BUNDLE=/nonexistent", "SSL_CERT_FILE=" .. ca }),
             "CURL_CA_BUNDLE")
end)

t.test("proxies of the environment are used, and NO_PROXY spares", function()
  local proxy = ("127.0.0.1:%d"):format(s.port)
  t.equal(elsewhere("http://a.invalid/x", { "http_proxy=http://" .. proxy }),
          "200\tthrough the proxy\n")
  local all = s:requests()
  t.equal(all[#all].path, "http://a.invalid/x")
  t.contains(elsewhere("http://a.invalid/x", { "http_proxy=http://" .. proxy,
                                               "NO_PROXY=.invalid" }), "resolve\t")
  local out = elsewhere("https://b.invalid/x", { "HTTPS_PROXY=http://me:pw@" .. proxy })
  t.contains(out, "proxy\tb.invalid:443")
  t.contains(out, "407")
  assert(not out:find "pw" and not out:find "sk%-do", out)
  all = s:requests()
  t.equal({ all[#all].method, all[#all].path, all[#all].headers.authorization },
          { "CONNECT", "b.invalid:443" })
  t.contains(elsewhere("https://b.invalid/x", { "HTTPS_PROXY=http://c.invalid:1" }), "proxy\t")
end)

good:stop()
other:stop()
expired:stop()
s:stop()
server.clean()
t.finish()
