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

-- text, from at on, is read line by line; ends of lines are \n here. parts came after it, held
-- bytes of them, with the end of a line when line_end is set. after_cr: a \n that comes first
-- belongs to the line's end before it. data: the lines of the event that is open, size bytes.
function events.new(most)
  return setmetatable({ most = most or 8 << 20, text = "", at = 1, parts = {}, held = 0,
                        size = 0 }, methods)
end

local function full(e)
  e.full = true
  return nil, ("an event of the stream is larger than %d bytes"):format(e.most), "EFULL"
end

function methods:feed(chunk)
  if self.full then return full(self) end
  if chunk == "" then return true end
  local rest_of_end = self.after_cr and chunk:byte() == 10
  self.after_cr = chunk:byte(-1) == 13
  if rest_of_end then chunk = chunk:sub(2) end
  if chunk:find("\r", 1, true) then chunk = chunk:gsub("\r\n?", "\n") end
  self.parts[#self.parts + 1], self.held = chunk, self.held + #chunk
  self.line_end = self.line_end or chunk:find("\n", 1, true)
  return true
end

-- The next whole line, nil: there is none.
local function next_line(e)
  local stop = e.text:find("\n", e.at, true)
  if not stop then
    if e.at <= #e.text then
      table.insert(e.parts, 1, e.text:sub(e.at))
      e.held = e.held + #e.parts[1]
    end
    e.text, e.at = "", 1
    if not e.line_end then return nil end
    e.text, e.parts, e.held, e.line_end = table.concat(e.parts), {}, 0, nil
    stop = e.text:find("\n", 1, true)
  end
  local line = e.text:sub(e.at, stop - 1)
  e.at = stop + 1
  return line
end

function methods:next()
  if self.full then return full(self) end
  for line in next_line, self do
    if not self.begun then
      self.begun, line = true, line:gsub("^\xEF\xBB\xBF", "")       -- a byte order mark
    end
    local colon = line:find(":", 1, true) or #line + 1
    local field = line:sub(1, colon - 1)
    local value = line:sub(colon + (line:byte(colon + 1) == 32 and 2 or 1))
    if line == "" then
      local data, name = self.data, self.name
      self.data, self.name, self.size = nil, nil, 0
      if data then return table.concat(data, "\n"), name end
    elseif field == "data" then
      self.data, self.size = self.data or {}, self.size + #value + 1
      table.insert(self.data, value)
      if self.size - 1 > self.most then return full(self) end
    elseif field == "event" then
      self.name = value ~= "" and value or nil
    end
  end
  if self.size + self.held > self.most then return full(self) end
  return nil
end

return events
