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
local plain <const> = "^[^%s\"'/#\\]+"  -- none of these begins or ends anything

-- Would p and c be another sign, or one word, without the space between them?
local function joins(p, c)
  if p:find(word) and c:find(word) then return true end
  if c == "=" then return p:find "[-+*/%%&|^<>=!]" ~= nil end
  if p == c then return p:find "[-+&|<>:#/]" ~= nil end
  return p == "-" and c == ">" or p == "/" and c == "*" or p == "*" and c == "/"
end

-- Where the line of i ends: at a \n without a \ before it, or behind the text.
local function line_end(text, i)
  local stop = text:find("\n", i, true)
  while stop and text:find("^\\\r?\n", stop - (text:byte(stop - 1) == 13 and 2 or 1)) do
    stop = text:find("\n", stop + 1, true)
  end
  return stop or #text + 1
end

-- The last byte of the literal that begins at i: its quote, or the end of the line.
local function literal_end(text, i)
  local ends = text:byte(i) == 34 and '[\\\n"]' or "[\\\n']"
  local at = text:find(ends, i + 1)
  while at and text:byte(at) == 92 do at = text:find(ends, at + 2) end
  if not at then return #text end
  return text:byte(at) == 10 and at - 1 or at
end

local function normal(text)
  local out, last = {}, "\n"            -- last: the byte written last
  local gap, line, fresh = false, false, true
  local i = 1

  -- gap: white space came before this; line: within a line that stays one.
  local function put(s)
    if gap and last ~= "\n" and (line or joins(last, s:sub(1, 1))) then out[#out + 1] = " " end
    out[#out + 1] = s
    gap, last = false, s:sub(-1)
  end

  local function break_line()
    gap = false
    if last ~= "\n" then put "\n" end
  end

  local function comment()
    local stop = line_end(text, i)
    local s = text:sub(i, stop - 1)
    if not line and s:find "^//[ \t]*kb:" then
      break_line()
      line = true
      for piece in s:gsub("\\\r?\n", "\\"):gmatch "%S+" do
        put(piece)
        gap = true
      end
    end
    return stop
  end

  while i <= #text do
    local _, stop = text:find(plain, i)
    local c = text:sub(i, i)
    if stop then
      put(text:sub(i, stop))
      fresh = false
    elseif c == "\n" then
      if line then break_line() end
      stop, line, gap, fresh = i, false, true, true
    elseif c:find "%s" then
      _, stop = text:find("^[ \t\v\f\r]+", i)
      gap = true
    elseif text:find("^\\\r?\n", i) then
      stop, gap = text:find("\n", i, true), true
    elseif text:find("^/%*", i) then
      _, stop = text:find("*/", i + 2, true)
      stop, gap = stop or #text, true
    elseif text:find("^//", i) then
      stop, gap = comment() - 1, true
    else
      if c == "#" and fresh then
        break_line()
        line = true
      end
      stop = (c == '"' or c == "'") and literal_end(text, i) or i
      put(text:sub(i, stop))
      fresh = false
    end
    i = stop + 1
  end
  if line then break_line() end
  return table.concat(out)
end

-- A search asks for the same few texts again and again.
local most <const> = 64
local recent, count = {}, 0

function source.normal(text)
  if not recent[text] then
    if count == most then recent, count = {}, 0 end
    recent[text], count = normal(text), count + 1
  end
  return recent[text]
end

return source
