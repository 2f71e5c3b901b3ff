-- base/text.lua - pieces of text that every layer writes: tables of columns, cut and quoted
-- words, numbers with units. No function depends on the locale.
local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"

local text = {}

-- Characters -----------------------------------------------------------------------

-- s with every byte that is not UTF-8 replaced by U+FFFD.
function text.utf8(s)
  local out, at = {}, 1
  repeat
    local _, bad = utf8.len(s, at)
    out[#out + 1] = s:sub(at, (bad or 0) - 1)
    at = bad and bad + 1
  until not bad
  return table.concat(out, "\u{FFFD}")
end

-- Characters of s; its bytes where it is not UTF-8.
function text.width(s) return utf8.len(s) or #s end

-- At most so many characters of s, tail ("..", say) included, never a part of one.
function text.cut(s, most, tail)
  if #s <= most then return s end
  s = text.utf8(s)
  if utf8.len(s) <= most then return s end
  tail = tail or ""
  return s:sub(1, utf8.offset(s, math.max(0, most - text.width(tail)) + 1) - 1) .. tail
end

-- Text of others as one line: no control character reaches a terminal.
function text.one_line(s) return (tostring(s):gsub("[%c\127]+", " ")) end

function text.first_line(s) return tostring(s):match "[^\n]*" end

-- The lines of a text, without what ends them; the last needs no end.
function text.lines(s)
  if s ~= "" and s:sub(-1) ~= "\n" then s = s .. "\n" end
  return lists.words(s, "([^\n]-)\r?\n")
end

-- The lines a function is written on: a changed one differs. What it refers to outside itself
-- is not looked at.
function text.source_of(f)
  local info = debug.getinfo(f, "S")
  local file = info.source:match "^@(.*)"
  local lines = text.lines(file and core.system.read_file(file) or info.source)
  return table.concat(lines, "\n", math.max(1, info.linedefined),
                      math.min(info.lastlinedefined, #lines))
end

-- Words ----------------------------------------------------------------------------

-- A word as a POSIX shell takes it.
function text.quote(word)
  word = tostring(word)
  if word:find "^[%w%._/=:,+-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- "1 pull", "3 pulls"; "2 policies" with a plural of its own.
function text.plural(n, one, several)
  return ("%d %s"):format(n, n == 1 and one or several or one .. "s")
end

-- "cols=64 rows=128".
function text.fields(t, separator)
  return table.concat(lists.collect(lists.keys(t), function(k)
    local v = t[k]
    return ("%s=%s"):format(k, type(v) == "number" and ("%.14g"):format(v) or tostring(v))
  end), separator or " ")
end

-- Tables ---------------------------------------------------------------------------

-- Rows of cells as lines of equal columns, two blanks apart, no blanks at their ends.
--   right  all columns but the first are set to the right
--   rule   a line of dashes below the first row
--   most   the widest that the first column pads others to
function text.table(rows, how)
  how = how or {}
  local width, out = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      local w = text.width(cell)
      width[i] = math.max(width[i] or 0, i == 1 and how.most and math.min(w, how.most) or w)
    end
  end
  for n, row in ipairs(rows) do
    local cells = lists.collect(row, function(cell, i)
      local pad = (" "):rep(width[i] - text.width(cell))
      return how.right and i > 1 and pad .. cell or cell .. pad
    end)
    local line = table.concat(cells, "  "):gsub("%s+$", "")
    out[#out + 1] = line .. "\n"
    if n == 1 and how.rule then out[2] = ("-"):rep(text.width(line)) .. "\n" end
  end
  return table.concat(out)
end

-- Numbers --------------------------------------------------------------------------

-- A number that can be shown, or nil: no text, no NaN, no infinity.
function text.finite(v)
  return type(v) == "number" and v == v and math.abs(v) ~= math.huge and v or nil
end

local function scaled(v, units)
  for _, unit in ipairs(units) do
    if v >= unit[1] or unit[1] == 1 then return unit[2]:format(v / unit[1]) end
  end
end

local times = { { 1e9, "%.2f s" }, { 1e6, "%.2f ms" }, { 1e3, "%.2f us" }, { 1, "%.0f ns" } }
local sizes = { { 1 << 30, "%.4g GiB" }, { 1 << 20, "%.4g MiB" }, { 1 << 10, "%.4g KiB" },
                { 1, "%.0f bytes" } }
local counts = { { 1e6, "%.1fM" }, { 1e3, "%.0fk" }, { 1, "%.0f" } }
local amounts = { { 1e15, "%.3g P" }, { 1e12, "%.3g T" }, { 1e9, "%.3g G" }, { 1e6, "%.3g M" },
                  { 1e3, "%.3g k" }, { 1, "%.3g " } }

-- "1.20 us", "-" for nil and what is no number.
function text.time(ns)
  ns = text.finite(ns)
  return ns and scaled(ns, times) or "-"
end

-- "1.5 GiB".
function text.bytes(n) return scaled(n, sizes) end

-- "950", "12k", "3.4M".
function text.count(n) return scaled(n, counts) end

-- "1.31 Mflop", "103 GB/s".
function text.amount(v, unit) return scaled(v, amounts) .. unit end

-- 12345678 -> "12,345,678".
function text.thousands(n)
  local sign, digits = ("%.0f"):format(n):match "^(%-?)(%d+)$"
  return sign .. digits:reverse():gsub("%d%d%d", "%0,"):reverse():gsub("^,", "")
end

-- 0.256 -> "26 %", "-" for nil.
function text.percent(share)
  share = text.finite(share)
  return share and ("%.0f %%"):format(100 * share) or "-"
end

-- Seconds since 1970 of a date of the Gregorian calendar, UTC; its parts are numbers or texts.
function text.epoch_s(y, mo, d, h, mi, s)
  y, mo, d = tonumber(y), tonumber(mo), tonumber(d)
  if mo <= 2 then y, mo = y - 1, mo + 12 end
  local days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * (mo - 3) + 2) // 5 + d - 719469
  return ((days * 24 + tonumber(h)) * 60 + tonumber(mi)) * 60 + tonumber(s)
end

-- "01:05", "1:00:05".
function text.clock(seconds)
  local s = math.max(0, math.floor(seconds))
  if s < 3600 then return ("%02d:%02d"):format(s // 60, s % 60) end
  return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

return text
