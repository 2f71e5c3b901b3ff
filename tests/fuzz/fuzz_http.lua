-- Mutated answers, from a server on loopback: each transfer ends with an answer
-- or a failure that has a code and a sentence, within its bounds.
-- KB_FUZZ_SEED, KB_FUZZ_CASES in the environment choose others.
package.path = (arg[0]:match "^(.*)/fuzz/" or "tests") .. "/lib/?.lua;" .. package.path
local core   = require "kernelband.core"
local loop   = require "kernelband.base.loop"
local server = require "server"

local rng = core.rng(tonumber(os.getenv "KB_FUZZ_SEED") or 1)
local cases = tonumber(os.getenv "KB_FUZZ_CASES") or 2000

local MOST = 3000
local good = {
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    .. "f\r\ndata: {\"a\":12}\n\r\n10\r\n\ndata: {\"b\":34}\n\r\n0\r\nX-Trailer: t\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nRetry-After: 3\r\nX-Fold: a\r\n b\r\n\r\n{\"ok\":true}",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nretry-after-ms: 10\r\nContent-Length: 2\r\n"
    .. "\r\n{}",
  "HTTP/1.0 500 no\r\nConnection: close\r\n\r\neverything until the end",
}
local pieces = { "\r\n", "\r", "\n", "\0", ":", " ", "HTTP/1.1 200 OK\r\n", "\r\n\r\n",
                 "ffffffffffffffff\r\n",
                 "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n",
                 "Content-Encoding: gzip\r\n", "Location: file:///etc/passwd\r\n", "\xff\xfe",
                 ("y"):rep(4000), "-1\r\n", "0\r\n\r\n" }

local function mutate(text)
  for _ = 1, 1 + rng:below(4) do
    local at, what = 1 + rng:below(#text + 1), rng:below(5)
    local before, after = text:sub(1, at - 1), text:sub(at)
    if what == 0 then
      text = before .. string.char(rng:below(256)) .. after:sub(2)
    elseif what == 1 then
      text = before .. after:sub(2 + rng:below(8))
    elseif what == 2 then
      text = before .. pieces[1 + rng:below(#pieces)] .. after
    elseif what == 3 then
      text = before .. before:sub(-rng:below(40)) .. after
    else
      text = before
    end
    if text == "" then text = "x" end
  end
  return text
end

local lines = {}
for i = 1, cases do
  local text = mutate(good[1 + rng:below(#good)]):gsub(".", function(c)
    return ("\\x%02x"):format(c:byte())
  end)
  lines[#lines + 1] = ("on GET /%d\nsend \"%s\"\nclose"):format(i, text)
end
local s = server.start(table.concat(lines, "\n"))

local L, next_case, ended, answers, failures = loop.new(), 0, 0, 0, {}
for worker = 1, 32 do
  L:spawn(function()
    while next_case < cases do
      next_case = next_case + 1
      local i, heard = next_case, 0
      local r, why, code, part = L:http {
        url = ("%s/%d"):format(s.url, i), method = "GET", max_bytes = MOST,
        idle_ns = 2 * 10 ^ 9 // 1, total_ns = 5 * 10 ^ 9 // 1,
        headers = { { "Authorization", "Bearer sk-do-not-show-this" } },
        on_data = worker % 2 == 0 and function(chunk) heard = heard + #chunk end or nil }
      part = r or part
      assert(r and r.status >= 200 and r.status <= 999 or code == "EHTTP" or code == "ETIME",
             ("case %d: %s %s"):format(i, tostring(code), tostring(why)))
      assert(r or #why > 20 and not why:find "sk%-do" and not why:find "%c", why)
      assert(#part.body + heard <= MOST, ("case %d: more than max_bytes"):format(i))
      for name, value in pairs(part.headers) do
        assert(not name:find "[\r\n%u]" and not value:find "[\r\n]", name)
      end
      ended = ended + 1
      if r then answers = answers + 1
      else failures[part.reason] = (failures[part.reason] or 0) + 1 end
    end
  end)
end
local limit = core.system.now_ns() + 120 * 10 ^ 9
while ended < cases do
  L:turn(10 ^ 9 // 1)
  assert(core.system.now_ns() < limit, "transfers hang")
end
s:stop()
local told = {}
for reason, n in pairs(failures) do told[#told + 1] = ("%s %d"):format(reason, n) end
table.sort(told)
print(("fuzz_http: %d answers mutated, %d read, refused: %s"):format(cases, answers,
      table.concat(told, ", ")))
