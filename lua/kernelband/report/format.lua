-- report/format.lua - numbers as a page shows them, and small pieces of HTML.
-- Everything that comes from a run is escaped here or in chart.lua.
local chart = require "kernelband.report.chart"

local format = {}
local escape = chart.escape

local function number(v)
  return type(v) == "number" and v == v and math.abs(v) ~= math.huge and v or nil
end
format.finite = number

function format.time(ns)
  ns = number(ns)
  if not ns then return "-" end
  if ns < 1e3 then return ("%.0f ns"):format(ns) end
  if ns < 1e6 then return ("%.2f \u{B5}s"):format(ns / 1e3) end
  if ns < 1e9 then return ("%.2f ms"):format(ns / 1e6) end
  return ("%.2f s"):format(ns / 1e9)
end

function format.times(v)
  v = number(v)
  return v and ("%.2f\u{D7}"):format(v) or "-"
end

-- "35.10 to 38.20", "" where there is no interval.
function format.interval(low, high)
  low, high = number(low), number(high)
  return low and high and ("%.2f to %.2f"):format(low, high) or ""
end

function format.percent(v)
  v = number(v)
  return v and ("%.0f %%"):format(100 * v) or "-"
end

function format.usd(v)
  v = number(v)
  if v and v >= 1000 then return "$" .. format.count(v) end
  return v and (v < 0.1 and v > 0 and "$%.4f" or "$%.2f"):format(v) or "unknown"
end

function format.duration(seconds)
  local s = math.max(0, math.floor(number(seconds) or 0))
  if s < 60 then return ("%.1f s"):format(number(seconds) or 0) end
  if s < 3600 then return ("%d min %02d s"):format(s // 60, s % 60) end
  return ("%d h %02d min"):format(s // 3600, s // 60 % 60)
end

-- 12345678 -> "12,345,678"
function format.count(n)
  n = number(n)
  if not n then return "-" end
  local text = ("%.0f"):format(n)
  local head, tail = text:match "^(%-?%d%d?%d?)(.*)$"
  while #tail % 3 ~= 0 do head, tail = head .. tail:sub(1, 1), tail:sub(2) end
  if #head:gsub("-", "") > 3 then
    local d = #head - 3
    head = head:sub(1, d) .. "," .. head:sub(d + 1)
  end
  return head .. tail:gsub("%d%d%d", ",%0")
end

-- The unit a span of seconds is drawn in, and how many seconds it has.
function format.span(seconds)
  if seconds > 7200 then return "hours", 3600 end
  if seconds > 300 then return "minutes", 60 end
  return "seconds", 1
end

function format.rate(v, unit)
  v = number(v)
  return v and chart.number(v):gsub("%a?$", " %0", 1) .. unit or "-"
end

-- A cell is text, or { text, class =, title =, html = } with html = what is HTML
-- already. head: names; the first column to the left, the others to the right, or
-- as left = { [column] = true } says.
function format.table(head, body, options)
  options = options or {}
  local left = options.left or { true }
  local out = { ('<div class="scroll"><table%s>'):format(options.sort and ' class="sort"' or "") }
  if options.caption then
    out[#out + 1] = "<caption>" .. escape(options.caption) .. "</caption>"
  end
  local function row(cells, tag)
    out[#out + 1] = "<tr>"
    for i, cell in ipairs(cells) do
      local c = type(cell) == "table" and cell or { cell }
      local class = (left[i] and "l" or "r") .. (c.class and " " .. c.class or "")
      out[#out + 1] = ('<%s class="%s"%s>%s</%s>'):format(tag, class,
        c.title and ' title="' .. escape(c.title) .. '"' or "",
        c.html or escape(c[1] == nil and "-" or c[1]), tag)
    end
    out[#out + 1] = "</tr>"
  end
  out[#out + 1] = "<thead>"
  row(head, "th")
  out[#out + 1] = "</thead><tbody>"
  for _, cells in ipairs(body) do row(cells, "td") end
  out[#out + 1] = "</tbody></table></div>"
  return table.concat(out)
end

-- A coloured square and the verdict's name.
function format.verdict(name)
  local known = false
  for _, v in ipairs(chart.verdicts) do known = known or v == name end
  return ('<span class="dot %s"></span>%s'):format(known and "v-" .. name or "s8",
                                                 escape(name))
end

format.text = escape

function format.p(text) return "<p>" .. escape(text) .. "</p>" end

function format.note(text) return '<p class="note">' .. escape(text) .. "</p>" end

-- A drawing that may be wider than the page.
function format.figure(svg, caption)
  return ('<figure><div class="scroll">%s</div>%s</figure>'):format(svg,
    caption and "<figcaption>" .. escape(caption) .. "</figcaption>" or "")
end

-- Where the figures of a section come from: words, and statements for run.db.
function format.origin(text, statements)
  local out = { "<details class=\"origin\"><summary>Where this comes from</summary>",
                format.p(text) }
  for _, sql in ipairs(statements or {}) do
    out[#out + 1] = "<pre>" .. escape((sql:gsub("%s+", " "))) .. "</pre>"
  end
  out[#out + 1] = "</details>"
  return table.concat(out)
end

return format
