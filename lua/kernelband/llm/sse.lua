-- llm/sse.lua - server-sent events, as the HTML standard describes them, from
-- chunks that may be cut anywhere:
--
--   local events = sse.new { max_event_bytes = 8 << 20 }
--   for _, e in ipairs(assert(events:feed(chunk))) do use(e.name, e.data) end
--   events:finish()            -> what a stream without a last empty line still held
--
-- Lines end in \n, \r\n or \r; comments, ids and retry times are passed over;
-- data lines of one event are joined by \n. feed gives nil and a sentence when an
-- event grows beyond the bound, and from then on always.
local sse = {}

local stream = {}
stream.__index = stream

function sse.new(options)
  return setmetatable({ most = options and options.max_event_bytes or 8 << 20, rest = {},
                        held = 0, data = {}, bytes = 0, first = true }, stream)
end

-- The event gathered so far goes to out; one without data is none.
local function dispatch(self, out)
  local data = self.data
  if data[1] then
    out[#out + 1] = { name = self.name, data = data[2] and table.concat(data, "\n") or data[1] }
    if data[2] then self.data = {} else data[1] = nil end
    self.bytes = 0
  end
  self.name = nil
end

local function take_data(self, value)
  self.data[#self.data + 1] = value
  self.bytes = self.bytes + #value + 1
end

local function take_line(self, line, out)
  if self.first then
    self.first = false
    line = line:gsub("^\xEF\xBB\xBF", "")
  end
  if line == "" then return dispatch(self, out) end
  local colon = line:find(":", 1, true)
  local field, value = line:sub(1, (colon or 0) - 1), ""
  if colon then value = line:sub(colon + (line:byte(colon + 1) == 32 and 2 or 1)) end
  if field == "data" then
    take_data(self, value)
  elseif field == "event" then
    self.name = value:sub(1, 100)
  end
end

-- A line may come in very many pieces: they are joined once, at its end.
local function hold(self, piece)
  if piece == "" then return end
  self.rest[#self.rest + 1] = piece
  self.held = self.held + #piece
end

local function whole(self, piece)
  if self.held == 0 then return piece end
  hold(self, piece)
  local line = table.concat(self.rest)
  self.rest, self.held = {}, 0
  return line
end

function stream:feed(chunk)
  if self.broken then return nil, self.broken end
  local out, at = {}, 1
  if self.after_cr and chunk ~= "" then
    if chunk:byte(1) == 10 then at = 2 end
    self.after_cr = false
  end
  local returns = chunk:find("\r", at, true) ~= nil
  while true do
    local stop = chunk:find(returns and "[\r\n]" or "\n", at, not returns)
    if not stop then break end
    if self.held > 0 or self.first or not chunk:find("^data: ", at) then
      take_line(self, whole(self, chunk:sub(at, stop - 1)), out)
    elseif returns or self.data[1] or chunk:byte(stop + 1) ~= 10 or stop - at > self.most then
      take_data(self, chunk:sub(at + 6, stop - 1))
    else                                -- nearly all: a line of data, and an empty one
      out[#out + 1] = { name = self.name, data = chunk:sub(at + 6, stop - 1) }
      self.name, stop = nil, stop + 1
    end
    at = stop + 1
    if returns and chunk:byte(stop) == 13 then
      if at > #chunk then self.after_cr = true end
      if chunk:byte(at) == 10 then at = at + 1 end
    end
    if self.bytes > self.most then break end
  end
  hold(self, chunk:sub(at))
  if self.held + self.bytes > self.most then
    self.broken = ("an event of the stream is larger than %d bytes"):format(self.most)
    self.rest, self.data = {}, {}
    return nil, self.broken
  end
  return out
end

function stream:finish()
  local out = {}
  if self.broken then return out end
  if self.held > 0 then take_line(self, whole(self, ""), out) end
  dispatch(self, out)
  return out
end

return sse
