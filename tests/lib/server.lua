-- server.lua - for specs: starts tests/lib/server/server and reads what it was asked.
--
--   local server = require "server"
--   local s = server.start(scenario [, { tls = "good" | "expired" | "other" }])
--     s.url                  -- "http://127.0.0.1:PORT", https with tls
--     s.port
--     s:requests()           -- { { method =, path =, headers = { name = value },
--                            --     body =, raw = }, .. } in order
--     s:stop()
--   server.delay(ms, text)   -- one that answers everything with text, later
--   server.certificates()    -- a folder with ca.pem, good.pem, expired.pem, other.pem
--   server.port()            -- a port of this machine on which nobody listens
--
-- A scenario is a text; tests/lib/server/server.c says how it is written. The server
-- ends with this process.
local core = require "kernelband.core"

local server = {}
local Server = {}
Server.__index = Server

local program = core.system.exe():match "^(.*)/" .. "/tests/lib/server/server"

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local made
function server.certificates()
  if not made then
    made = assert(core.system.temp_dir())
    assert(os.execute(("%s --certificates %s"):format(quote(program), quote(made))))
  end
  return made
end

local function launch(words, options)
  local self = setmetatable({ folder = assert(core.system.temp_dir()) }, Server)
  local command = { "exec", quote(program), "--record", quote(self.folder) }
  if options and options.tls then
    local stem = server.certificates() .. "/" .. options.tls
    table.move({ "--tls", quote(stem .. ".pem"), quote(stem .. ".key") }, 1, 3, #command + 1,
               command)
  end
  for _, word in ipairs(words(self)) do command[#command + 1] = quote(word) end
  self.pipe = assert(io.popen(table.concat(command, " "), "r"))
  local port, pid = tostring(self.pipe:read "l"):match "^port (%d+) pid (%d+)$"
  assert(port, "the test server did not start: make " .. program)
  self.port, self.pid = tonumber(port), pid
  self.url = (options and options.tls and "https" or "http") .. "://127.0.0.1:" .. port
  return self
end

function server.start(scenario, options)
  return launch(function(self)
    local file = self.folder .. "/scenario"
    assert(core.system.write_file(file, scenario))
    return { file }
  end, options)
end

function server.delay(ms, text)
  return launch(function() return { "--delay", tostring(ms), text } end)
end

function server.port()
  local s = server.start "on ANY *\nhead 200\n"
  s:stop()
  return s.port
end

local function parse(raw)
  local head, body = raw:match "^(.-)\r\n\r\n(.*)$"
  local r = { headers = {}, body = body, raw = raw }
  r.method, r.path = head:match "^(%S+) (%S+)"
  for name, value in head:gmatch "\r\n([^:\r\n]+):[ \t]*([^\r\n]*)" do
    r.headers[name:lower()] = value
  end
  return r
end

function Server:requests()
  local out = {}
  while true do
    local raw = core.system.read_file(("%s/%d"):format(self.folder, #out + 1))
    if not raw then return out end
    out[#out + 1] = parse(raw)
  end
end

function Server:stop()
  if not self.pid then return end
  os.execute("kill " .. self.pid)
  self.pipe:close()
  os.execute("rm -rf " .. quote(self.folder))
  self.pid = nil
end

function server.clean()
  if made then os.execute("rm -rf " .. quote(made)) end
  made = nil
end

return server
