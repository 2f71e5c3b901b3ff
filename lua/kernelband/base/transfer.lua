-- base/transfer.lua - what is told of an HTTP transfer that failed: which host, what happened, what
-- to do. libcurl's own words are used where they only tell of names and keys.
local transfer = {}

-- By core's word for a failure: the reason, the text and the code, EHTTP where there is none. In a
-- text $name is that member of the answer; $seconds is its bound.
local failures = {
  name = { "resolve", "no address is known for this name; check its spelling and the network" },
  proxy_name = { "proxy", "no address is known for the proxy that http_proxy, HTTPS_PROXY or "
                          .. "ALL_PROXY names" },
  proxy = { "proxy", "the proxy that HTTPS_PROXY or ALL_PROXY names refuses to connect to it "
                     .. "(status $bound)" },
  refused = { "connect", "cannot be connected to ($detail); is the server running, and is a proxy "
                         .. "needed?" },
  connect = { "connect", "no connection within $seconds s; is the address right, and is a proxy "
                         .. "needed?", "ETIME" },
  idle = { "idle", "silent for $seconds s after $seen_bytes bytes of its answer, and given up",
           "ETIME" },
  total = { "total", "not done within $seconds s, after $seen_bytes bytes of its answer, and given "
                     .. "up", "ETIME" },
  nothing = { "reset", "closed the connection without an answer; try again" },
  reset = { "reset", "the connection broke after $seen_bytes bytes of the answer ($detail); try "
                     .. "again" },
  protocol = { "protocol", "what it answers is not HTTP as the standards have it; is this the "
                           .. "address of an API?" },
  ca_file = { "tls", "the file of trusted certificates $ca cannot be read; $ca_from names it" },
  certificate = { "tls", "its certificate is not accepted ($detail); for a certificate authority "
                         .. "of your own let CURL_CA_BUNDLE or SSL_CERT_FILE name its file" },
  tls = { "tls", "TLS could not be agreed on ($detail); is this an https address?" },
  head = { "size", "its headers are more than $bound bytes; the answer was broken off" },
  body = { "size", "its answer is more than $bound bytes and was broken off (max_bytes)" },
  memory = { "memory", "no memory for its answer", "ENOMEM" },
}

-- Of an answer of core.http: text, code, reason; nil when it did not fail.
function transfer.failure(answer)
  local failure = failures[answer.failure]
  if not failure then return nil end
  local reason, text, code = table.unpack(failure)
  text = text:gsub("%$([%l_]+)", {
    seconds = ("%.1f"):format(answer.bound / 1e9), bound = answer.bound,
    seen_bytes = answer.seen_bytes,
    detail = answer.detail:gsub("[^\32-\126]", "?"),      -- which a terminal might obey
    ca = answer.ca or "(built in)", ca_from = answer.ca_from or "libcurl",
  })
  return answer.host .. ": " .. text, code or "EHTTP", reason
end

return transfer
