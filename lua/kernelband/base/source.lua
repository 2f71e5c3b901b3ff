-- base/source.lua - the normal form of a C or CUDA source. Two sources with the same normal form
-- are one program; the text is for comparing, not for compiling.
--
--   source.normal(text) -> text
--
-- Comments go, and white space unless it parts two words or two signs that would be another sign
-- together. Directives and lines to the engine (// kb: ..) stay lines, in which only runs of blanks
-- shrink. One pass, any bytes.
local source = {}

local word <const> = "[%w_\x80-\xff]"
local plain <const> = "^[^%s\"'/#]+"     -- none of these begins or ends anything

-- Would p and c be another sign, or one word, without the space between them?
local function joins(p, c)
  if p:find(word) and c:find(word) then return true end
  if c == "=" then return p:find "[-+*/%%&|^<>=!]" ~= nil end
  if p == c then return p:find "[-+&|<>:#/]" ~= nil end
  return p == "-" and c == ">" or p == "/" and c == "*" or p == "*" and c == "/"
end

-- The last byte of the literal that begins at i: its quote, or the end of the line.
local function literal_end(text, i)
  local ends = text:byte(i) == 34 and '[\\\n"]' or "[\\\n']"
  local at = text:find(ends, i + 1)
  while at and text:byte(at) == 92 do at = text:find(ends, at + 2) end
  if not at then return #text end
  return text:byte(at) == 10 and at - 1 or at
end

function source.normal(text)
  text = text:gsub("\\\r?\n", "")       -- a line that goes on is one line
  local out, last, i = {}, "\n", 1      -- last: the byte written last
  local gap, line, fresh = false, false, true

  -- gap: white space came before this; line: within a line that stays one.
  local function put(s)
    if gap and last ~= "\n" and (line or joins(last, s:sub(1, 1))) then out[#out + 1] = " " end
    out[#out + 1] = s
    gap, last = false, s:sub(-1)
  end

  local function break_line(begins)
    gap, line = false, begins
    if last ~= "\n" then put "\n" end
  end

  while i <= #text do
    local c, _, stop = text:sub(i, i), text:find(plain, i)
    local blank = not stop and text:match("^%s+", i)
    local remark = c == "/" and text:match("^//[^\n]*", i)
    if stop then
      put(text:sub(i, stop))
      fresh = false
    elseif blank then
      if line and blank:find "\n" then break_line(false) end
      stop, gap, fresh = i + #blank - 1, true, fresh or blank:find "\n" ~= nil
    elseif remark then
      if not line and remark:find "^//[ \t]*kb:" then
        break_line(true)
        for piece in remark:gmatch "%S+" do
          put(piece)
          gap = true
        end
      end
      stop, gap = i + #remark - 1, true
    elseif text:find("^/%*", i) then
      stop, gap = select(2, text:find("*/", i + 2, true)) or #text, true
    else
      if c == "#" and fresh then break_line(true) end
      stop = (c == '"' or c == "'") and literal_end(text, i) or i
      put(text:sub(i, stop))
      fresh = false
    end
    i = stop + 1
  end
  if line then break_line(false) end
  return table.concat(out)
end

return source
