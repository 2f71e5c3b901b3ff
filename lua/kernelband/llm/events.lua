-- llm/events.lua - server-sent events, as the HTML standard describes them, from bytes that may
-- be cut anywhere.
--
--   feed = events.reader(hear [, most = 8 MiB])    -- most: bytes of one event
--   feed(chunk) -> true | nil, why, "EFULL"        -- one is larger; from then on always
--     hear(data, name)    for each event as it ends; name: nil where the event has none
--     "\n\n" at the end gives what it still held
--
-- Lines end in \n, \r\n or \r; comments, ids and retry times are passed over; data lines of one
-- event are joined by \n; an event without data is none.
local events = {}

function events.reader(hear, most)
  most = most or 8 << 20
  local parts, held, begun = {}, 0, false       -- the line that has not ended yet, bytes of it
  local data, size, name = nil, 0, nil          -- of the event that is open
  local after_cr, full = false, false           -- a \n that comes first is of the line before

  local function take(line)
    if not begun then begun, line = true, line:gsub("^\xEF\xBB\xBF", "") end    -- a byte order mark
    local field, value = line:match "^([^:]*):? ?(.*)"
    if line == "" then
      if data then hear(table.concat(data, "\n"), name) end
      data, size, name = nil, 0, nil
    elseif field == "data" then
      data, size = data or {}, size + #value + 1
      table.insert(data, value)
    elseif field == "event" then
      name = value ~= "" and value or nil
    end
  end

  return function(chunk)
    if after_cr and chunk:byte() == 10 then chunk, after_cr = chunk:sub(2), false end
    if chunk ~= "" then after_cr = chunk:byte(-1) == 13 end
    for piece, stop in chunk:gsub("\r\n?", "\n"):gmatch "([^\n]*)(\n?)" do
      if full then break end
      parts[#parts + 1], held = piece, held + #piece
      if stop ~= "" then
        take(table.concat(parts))
        parts, held = {}, 0
      end
      full = size + held > most + 1
    end
    if not full then return true end
    return nil, ("an event of the stream is larger than %d bytes"):format(most), "EFULL"
  end
end

return events
