-- llm/events.lua - server-sent events, as the HTML standard describes them, from bytes that may
-- be cut anywhere.
--
--   e = events.new([most = 8 MiB])       -- most: bytes of one event
--   e:feed(chunk) -> true | nil, why, "EFULL"      "\n\n" at the end gives what it still held
--   e:next()      -> data, name          -- name: nil where the event has none
--                  | nil                 -- none yet
--                  | nil, why, "EFULL"   -- one is larger than most; from then on always
--
-- Lines end in \n, \r\n or \r; comments, ids and retry times are passed over; data lines of one
-- event are joined by \n; an event without data is none.
local events = {}

local methods = {}
methods.__index = methods

-- parts: the line that has not ended yet, held bytes of it. after_cr: a \n that comes first
-- belongs to the line's end before it. data: the lines of the event that is open, size bytes.
-- ready: events that are whole.
function events.new(most)
  return setmetatable({ most = most or 8 << 20, parts = {}, held = 0, size = 0, ready = {} },
                      methods)
end

local function full(e)
  return nil, ("an event of the stream is larger than %d bytes"):format(e.most), "EFULL"
end

local function take_line(e, line)
  if not e.begun then
    e.begun, line = true, line:gsub("^\xEF\xBB\xBF", "")        -- a byte order mark
  end
  local colon = line:find(":", 1, true) or #line + 1
  local field = line:sub(1, colon - 1)
  local value = line:sub(colon + (line:byte(colon + 1) == 32 and 2 or 1))
  if line == "" then
    if e.data then e.ready[#e.ready + 1] = { table.concat(e.data, "\n"), e.name } end
    e.data, e.name, e.size = nil, nil, 0
  elseif field == "data" then
    e.data, e.size = e.data or {}, e.size + #value + 1
    table.insert(e.data, value)
  elseif field == "event" then
    e.name = value ~= "" and value or nil
  end
end

function methods:feed(chunk)
  if self.full then return full(self) end
  if chunk == "" then return true end
  local rest_of_end = self.after_cr and chunk:byte() == 10
  self.after_cr = chunk:byte(-1) == 13
  chunk = chunk:sub(rest_of_end and 2 or 1):gsub("\r\n?", "\n")
  local from = 1
  for stop in chunk:gmatch "()\n" do
    table.insert(self.parts, chunk:sub(from, stop - 1))
    take_line(self, table.concat(self.parts))
    self.parts, self.held, from = {}, 0, stop + 1
    self.full = self.size - 1 > self.most
    if self.full then return true end
  end
  table.insert(self.parts, chunk:sub(from))
  self.held = self.held + #chunk - from + 1
  self.full = self.size + self.held > self.most
  return true
end

function methods:next()
  local e = table.remove(self.ready, 1)
  if e then return e[1], e[2] end
  if self.full then return full(self) end
  return nil
end

return events
