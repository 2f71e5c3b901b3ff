-- kernelband serve as a browser and as somebody else meet it.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local journals = require "journals"
local json = require "kernelband.base.json"
local markup = require "markup"
local worlds = require "worlds"

local exe = core.system.exe()

if not os.execute "command -v curl >/dev/null" then
  print "spec_serve: curl is not installed: skipped"
  t.finish()
  return
end

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return code, text
end

-- Starts a server; returns its address and a function that ends it by a signal and
-- returns what it exited with.
local function start(folder, options)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  os.execute(("(%s serve %s %s >%s/out 2>%s/err & echo $! >%s/pid; wait $!; echo $? >%s/rc) &")
             :format(exe, folder, options or "", dir, dir, dir, dir))
  local url
  for _ = 1, 200 do
    url = (core.system.read_file(dir .. "/out") or ""):match "^(http://%S+)\n"
    if url or core.system.exists(dir .. "/rc") then break end
    core.system.sleep_ns(2e7 // 1)
  end
  return url, function(signal)
    os.execute(("kill -%s $(cat %s/pid) 2>/dev/null"):format(signal, dir))
    for _ = 1, 200 do
      local rc = core.system.read_file(dir .. "/rc")
      if rc and rc ~= "" then return tonumber(rc), core.system.read_file(dir .. "/err") end
      core.system.sleep_ns(2e7 // 1)
    end
  end
end

local function get(url, options)
  local _, text = shell("curl -s -m 5 -w '\\n%%{http_code}' %s '%s'", options or "", url)
  local body, code = text:match "^(.*)\n(%d+)$"
  return tonumber(code), body
end

local function state_of(url) return json.decode((select(2, get(url .. "state")))) end

-- The page's words once they are other than those given.
local function wait_for(url, part)
  local state
  for _ = 1, 100 do
    state = state_of(url)
    if state.text:find(part, 1, true) then return state end
    core.system.sleep_ns(1e8 // 1)
  end
  error(("the page never said %q: %s"):format(part, state.text), 2)
end

-- Waits, but not for ever, until somebody has a connection to the server.
local function met(url)
  local here = (":%04X %%x+:%%x+ 01 "):format(math.tointeger(tonumber(url:match ":(%d+)/")))
  for _ = 1, 3000 do
    if core.system.read_file("/proc/net/tcp"):find(here) then return end
    core.system.sleep_ns(2e7 // 1)
  end
end

t.test("a run is followed from before its start to its end", function()
  local folder = worlds.folder()
  local url, stop = start(folder)
  assert(url and url:find "^http://127%.0%.0%.1:%d+/%x+/$", url)
  local before = wait_for(url, "waiting for")
  local _, html = get(url)
  markup.harmless(html)
  journals.write(folder, { pulls = 8, state = "running" })
  local running = wait_for(url, "8 of 8 pulls")
  assert(running.sections.summary ~= before.sections.summary)
  local _, section = get(url .. "section/summary")
  t.contains(section, "<h2>Summary</h2>")
  markup.harmless(section)
  local db = assert(core.store(folder .. "/run.db"))
  assert(db:exec "UPDATE experiment SET state = 'done'")
  db:close()
  local done = wait_for(url, "done;")
  t.equal(done.sections.clusters, running.sections.clusters)
  t.equal(stop "INT", 130)
end)

t.test("without its token a request gets nothing", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 3 })
  local url, stop = start(folder)
  local base = url:match "^http://[^/]+/"
  for _, path in ipairs { "", "state", "run.db", "00000000000000000000000000000000/" } do
    local code, body = get(base .. path)
    t.equal(code, 403)
    assert(not body:find "pull")
  end
  t.equal(get(url, "-H 'Host: evil.example'"), 403)
  t.equal(get(url, "-H 'Host: 127.0.0.1'"), 403)
  t.equal(get(url, "-X POST -d x"), 405)
  t.equal(get(url .. "../../../../etc/passwd", "--path-as-is"), 404)
  t.equal(get(url .. "run.db"), 404)
  local code, head = get(url, "-I")
  t.equal(code, 200)
  t.contains(head, "connect-src 'self'")
  t.contains(head, "frame-ancestors 'none'")
  local port = base:match ":(%d+)/"
  t.equal(shell("curl -s -m 2 http://[::1]:%s/", port) ~= 0, true)
  local taken, other = start(folder, "--port " .. port)
  t.equal(taken, nil)
  local rc, err = other "INT"
  t.equal(rc, 1)
  t.contains(err, "port " .. port)
  t.equal(stop "TERM", 130)
end)

t.test("two servers have two tokens", function()
  local folder = worlds.folder()
  local a, stop_a = start(folder)
  local b, stop_b = start(folder)
  assert(a:match "/(%x+)/$" ~= b:match "/(%x+)/$")
  stop_a "INT"
  stop_b "INT"
end)

t.test("damage to a journal while it is served is reported, and the page stays", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 5 })
  local url, stop = start(folder)
  wait_for(url, "5 of 5 pulls")
  for _, name in ipairs { "run.db-wal", "run.db-shm" } do os.remove(folder .. "/" .. name) end
  assert(core.system.write_file(folder .. "/run.db", ("no database "):rep(2000)))
  wait_for(url, "run.db")
  local _, html = get(url)
  t.contains(html, "speed-up over the baseline")
  t.equal(stop "INT", 130)
end)

t.test("what waits for a run says so", function()
  local folder = worlds.folder()
  local _, stop = start(folder)
  local _, err = stop "INT"
  t.equal(err, ("waiting for %s: there is no run in it yet\n"):format(folder))
end)

t.test("an invalid port is refused", function()
  local code, text = shell("%s serve x --port 70000", exe)
  t.equal(code, 2)
  t.contains(text, "--port must be a whole number from 0 to 65535, got '70000'")
  t.equal(shell("%s serve", exe), 2)
end)

t.test("the page updates itself in a browser", function()
  if shell "command -v chromium" ~= 0 then
    return print "the live page in a browser: chromium is not installed: skipped"
  end
  local folder, dir = worlds.folder(), worlds.folder()
  assert(core.system.mkdir_p(dir))
  local url, stop = start(folder)
  os.execute(("timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s/p "
    .. "--enable-logging=stderr --virtual-time-budget=400000 --dump-dom %s >%s/dom 2>%s/err &")
    :format(dir, url, dir, dir))
  met(url)
  journals.write(folder, { pulls = 8 })
  local dom = ""
  for _ = 1, 300 do
    dom = core.system.read_file(dir .. "/dom") or ""
    if dom:find "</html>" then break end
    core.system.sleep_ns(1e8 // 1)
  end
  stop "INT"
  t.contains(dom, "8 of 8 pulls")
  t.contains(dom, "kernel #")
  t.equal(core.system.read_file(dir .. "/err"):find("CONSOLE", 1, true), nil)
end)

worlds.clean()
t.finish()
