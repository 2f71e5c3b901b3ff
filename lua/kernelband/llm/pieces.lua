-- llm/pieces.lua - the text of an event of a stream that differs from the one before it
-- in its text alone, as nearly all do: taken without reading the JSON around it.
--
--   local p = pieces.new "content"       -- the field that holds the text
--   p:learn(data, piece)                 -- an event that said this piece and nothing new
--   p:forget()                           -- one that said something else
--   p:read(data) -> piece                -- nil: it is not as the last one was
--
-- What is read so is what the JSON says: before and behind the text stand the same bytes
-- as in an event that was read, and between them one whole string of JSON. Behind it a
-- field of random letters may differ, which OpenAI adds to hide how long pieces are.
local reply = require "kernelband.llm.reply"

local pieces = {}

local methods = {}
methods.__index = methods

function pieces.new(field)
  return setmetatable({ key = '"' .. field .. '"' }, methods)
end

function methods:forget() self.before = nil end

function methods:learn(data, piece)
  self.before = nil
  local at, stop = data:find(self.key, 1, true)
  if not at or data:find(self.key, stop, true) then return end
  stop = select(2, data:find('^: ?"', stop + 1))
  if not stop or piece:find '["\\%c]' then return end
  if data:sub(stop + 1, stop + #piece + 1) ~= piece .. '"' then return end
  self.before, self.after, self.noise = data:sub(1, stop), data:sub(stop + #piece + 1), nil
  local upto, tail = self.after:match '^(.*,"obfuscation":")[^"\\%c]*("}+)$'
  if upto then self.after, self.noise = upto, '^[^"\\%c]*' .. tail .. "$" end
end

function methods:read(data)
  local before = self.before
  if not before or data:find(before, 1, true) ~= 1 then return nil end
  local at, stop = data:find(self.after, #before + 1, true)
  if not at then return nil end
  if stop ~= #data and not (self.noise and data:find(self.noise, stop + 1)) then return nil end
  local text = data:sub(#before + 1, at - 1)
  if not text:find '["\\%c]' then return text end
  local list = reply.decode('["' .. text .. '"]')
  return list and #list == 1 and reply.text(list[1]) or nil
end

return pieces
