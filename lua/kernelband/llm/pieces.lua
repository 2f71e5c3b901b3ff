-- llm/pieces.lua - a stream of events, most of which differ from the one before in their
-- text alone: those are read by bytes (core.events), without the JSON around the text.
--
--   p = pieces.new "content"             -- the field that holds the text
--   p:feed(chunk) -> true | nil, why     -- "\n\n" at the end
--   p:next() -> text, data, name         -- the text of usual events, "" of none, and the
--                                        -- next that is another; data nil: not yet
--            -> nil, why
--   p:learn(data, piece)                 -- an event that said this piece and nothing new
--   p:forget()                           -- one that said something else
--
-- What is read so is what the JSON says: before and behind the text stand the same bytes
-- as in an event that was read, and between them one whole string of JSON. Behind it a
-- field of random letters may differ, which OpenAI adds to hide how long pieces are.
local core  = require "kernelband.core"
local reply = require "kernelband.llm.reply"

local pieces = {}

local methods = {}
methods.__index = methods

function pieces.new(field, most)
  return setmetatable({ key = '"' .. field .. '"', events = core.events(most) }, methods)
end

function methods:feed(chunk) return self.events:feed(chunk) end

function methods:next()
  local said, data, name = self.events:next()
  if not said then return nil, data end
  if said:find("\\", 1, true) then
    local list, why = reply.decode('["' .. said .. '"]')
    if not list then return nil, why end
    said = list[1]
  end
  return said, data, name
end

function methods:forget() self.events:usual() end

function methods:learn(data, piece)
  self:forget()
  local at, stop = data:find(self.key, 1, true)
  if not at or data:find(self.key, stop, true) then return end
  stop = select(2, data:find('^: ?"', stop + 1))
  if not stop or piece:find '["\\%c]' then return end
  if data:sub(stop + 1, stop + #piece + 1) ~= piece .. '"' then return end
  local after = data:sub(stop + #piece + 1)
  local upto, tail = after:match '^(.*,"obfuscation":")[^"\\%c]*("}+)$'
  self.events:usual(data:sub(1, stop), upto or after, tail)
end

return pieces
