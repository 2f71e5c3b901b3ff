-- report/chart.lua - charts as SVG text, drawn by numbers alone: no library, no
-- script, colours by CSS variables so that one drawing serves light and dark.
--
--   local c = chart.new { title =, width = 420, height = 260,
--                         x = { label =, log =, min =, max =, integer = },
--                         y = { label =, log =, min =, max = } }
--   c:band(points, how)      { x, low, high } ..
--   c:line(points, how)      { x, y } ..; how.step, how.dashed
--   c:points(points, how)    { x, y, text of the tooltip } ..
--   c:rule("y", value, text) a dashed line across
--   c:text(x, y, text, how)  how.anchor = "start" | "middle" | "end"
--   c:svg { standalone = true }
--
-- how.series = 1..8 is a colour, how.class any class of chart.css ("v-wrong"),
-- how.name puts it in the legend. chart.bars and chart.heat are further down.
-- Points that a logarithmic axis cannot show are left out. Standalone drawings
-- carry chart.css; in a page the page does.
local chart = {}

local theme = require "kernelband.report.chart_theme"
chart.verdicts, chart.css = theme.verdicts, theme.css

-- Text -------------------------------------------------------------------------

-- Bytes that are no UTF-8, one by one, as U+FFFD.
local function repair(s)
  local out, at = {}, 1
  while at <= #s do
    local _, bad = utf8.len(s, at)
    if not bad then
      out[#out + 1] = s:sub(at)
      break
    end
    out[#out + 1] = s:sub(at, bad - 1) .. "\u{FFFD}"
    at = bad + 1
  end
  return table.concat(out)
end

-- s with every byte that is no UTF-8 replaced.
function chart.utf8(s) return utf8.len(s) and s or repair(s) end

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
                   ["'"] = "&#39;" }

-- Any text as HTML and XML may hold it, between tags and in quotes. What would
-- turn the direction of the text round is shown instead of obeyed.
function chart.escape(s)
  s = tostring(s)
  s = chart.utf8(s)
  s = s:gsub("[&<>\"']", entities):gsub("[%z\1-\8\11-\31\127]", "\u{FFFD}")
  if s:find "\xE2\x80[\xAA-\xAE]" or s:find "\xE2\x81[\xA6-\xA9]" then
    s = s:gsub("\xE2[\x80\x81][\xA6-\xAE]", function(c)
      return ("[U+%04X]"):format(utf8.codepoint(c))
    end)
  end
  return (s:gsub("\xEF\xBF[\xBE\xBF]", "\u{FFFD}"))
end
local escape = chart.escape

-- 1234567 -> "1.23M", 0.00042 -> "0.00042", 250 -> "250".
function chart.number(v)
  local size = math.abs(v)
  if v == 0 then return "0" end
  for _, unit in ipairs { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } } do
    if size >= unit[1] then return (("%.3g"):format(v / unit[1]):gsub("e%+.*", "")) .. unit[2] end
  end
  if size < 1e-4 then return (("%.2g"):format(v):gsub("e%-0*", "e-")) end
  return ("%.3g"):format(v)
end

-- Of 12 px text, generously.
local function text_width(s) return 6.8 * (utf8.len(s) or #s) end
chart.text_width = text_width

local function px(v) return (("%.1f"):format(v):gsub("%.0$", "")) end

-- Axes -------------------------------------------------------------------------

-- At most `most` round numbers (1, 2 or 5 times a power of ten apart) that lie
-- within low .. high.
function chart.ticks(low, high, most)
  local span = high - low
  if span <= 0 then return { low } end
  local unit = 10.0 ^ math.floor(math.log(span / most, 10))
  local step = unit * 10
  for _, m in ipairs { 1, 2, 5 } do
    if span / (unit * m) <= most then step = unit * m break end
  end
  local out = {}
  for i = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    out[#out + 1] = i * step
  end
  return out
end

-- Powers of ten within low .. high, and 2 and 5 times them where there is room.
function chart.log_ticks(low, high, most)
  local decades = math.log(high / low, 10)
  local parts = decades * 3 <= most and { 1, 2, 5 } or { 1 }
  local stride = math.max(1, math.ceil(decades / most))
  local out = {}
  for d = math.floor(math.log(low, 10) + 1e-9), math.ceil(math.log(high, 10)), stride do
    for _, m in ipairs(parts) do
      local v = m * 10.0 ^ d
      if v >= low * (1 - 1e-9) and v <= high * (1 + 1e-9) then out[#out + 1] = v end
    end
  end
  if #out < 2 then return chart.ticks(low, high, most) end
  return out
end

local function finite(v) return v == v and math.abs(v) ~= math.huge end

local function usable(axis, v)
  return type(v) == "number" and finite(v) and (not axis.log or v > 0)
end

-- Low and high of an axis: as told, else of the data, never empty.
local function domain(axis, values)
  local low, high = math.huge, -math.huge
  for _, v in ipairs(values) do
    if usable(axis, v) then low, high = math.min(low, v), math.max(high, v) end
  end
  low, high = axis.min or low, axis.max or high
  if low == math.huge or high == -math.huge then low, high = axis.log and 1 or 0, 1 end
  if axis.log then
    if high / low < 1.05 then low, high = low / 1.2, high * 1.2 end
    if not axis.min then low = low / 1.04 end
    if not axis.max then high = high * 1.04 end
  else
    if high - low < 1e-12 * math.max(1, math.abs(high)) then
      if not axis.min then low = low - 0.5 end
      high = math.max(high, low) + 0.5
    end
    local room = 0.04 * (high - low)
    if not axis.max then high = high + room end
    if not axis.min then low = low >= 0 and math.max(0, low - room) or low - room end
  end
  return low, high
end

-- A function from values to places between from and to.
local function scale(axis, low, high, from, to)
  local f = axis.log and math.log or function(v) return v end
  local a, b = f(low), f(high)
  return function(v) return from + (f(v) - a) / (b - a) * (to - from) end
end

-- Drawing ----------------------------------------------------------------------

local drawing = {}
drawing.__index = drawing

function chart.new(options)
  local c = setmetatable({ layers = {}, legend = {} }, drawing)
  c.title, c.width, c.height = options.title or "", options.width or 420, options.height or 260
  c.x, c.y = options.x or {}, options.y or {}
  return c
end

local function class_of(how)
  return how.class or "s" .. ((how.series or 1) - 1) % 8 + 1
end

local function add(c, kind, points, how)
  how = how or {}
  c.layers[#c.layers + 1] = { kind = kind, points = points, how = how }
  if how.name then
    c.legend[#c.legend + 1] = { name = how.name, class = class_of(how), dashed = how.dashed }
  end
  return c
end

function drawing:line(points, how) return add(self, "line", points, how) end
function drawing:band(points, how) return add(self, "band", points, how) end
function drawing:points(points, how) return add(self, "points", points, how) end
function drawing:rule(axis, value, text)
  return add(self, "rule", { { value } }, { axis = axis, text = text })
end
function drawing:text(x, y, text, how)
  return add(self, "text", { { x, y, text } }, how)
end

local function data_of(c)
  local xs, ys = {}, {}
  for _, layer in ipairs(c.layers) do
    for _, p in ipairs(layer.points) do
      if layer.kind == "rule" then
        local list = layer.how.axis == "x" and xs or ys
        list[#list + 1] = p[1]
      elseif layer.kind ~= "text" then
        xs[#xs + 1] = p[1]
        ys[#ys + 1] = p[2]
        if layer.kind == "band" then ys[#ys + 1] = p[3] end
      end
    end
  end
  return xs, ys
end

local function visible(c, layer)
  local out = {}
  for _, p in ipairs(layer.points) do
    if usable(c.x, p[1]) and usable(c.y, p[2])
       and (layer.kind ~= "band" or usable(c.y, p[3])) then out[#out + 1] = p end
  end
  return out
end

local marks = {
  circle = '<circle class="pt %s" cx="%s" cy="%s" r="%s">%s</circle>',
  ring = '<circle class="ln %s" cx="%s" cy="%s" r="%s">%s</circle>',
}

local draw = {}

function draw.line(c, layer, out)
  local path, last = {}, nil
  for i, p in ipairs(visible(c, layer)) do
    local x, y = px(c.at_x(p[1])), px(c.at_y(p[2]))
    if i == 1 then path[1] = "M" .. x .. " " .. y
    elseif layer.how.step then path[#path + 1] = ("H%sV%s"):format(x, y)
    elseif x .. y ~= last then path[#path + 1] = ("L%s %s"):format(x, y) end
    last = x .. y
  end
  if #path == 0 then return end
  out[#out + 1] = ('<path class="ln %s%s" d="%s"/>'):format(class_of(layer.how),
    layer.how.dashed and " da" or "", table.concat(path))
end

function draw.band(c, layer, out)
  local points, path = visible(c, layer), {}
  local step = layer.how.step
  for i, p in ipairs(points) do
    local x, y = px(c.at_x(p[1])), px(c.at_y(p[3]))
    path[#path + 1] = i == 1 and "M" .. x .. " " .. y or step and ("H%sV%s"):format(x, y)
                      or ("L%s %s"):format(x, y)
  end
  for i = #points, 1, -1 do
    local x, y = px(c.at_x(points[i][1])), px(c.at_y(points[i][2]))
    path[#path + 1] = (i == #points or not step) and ("L%s %s"):format(x, y)
                      or ("V%sH%s"):format(y, x)
  end
  if #path == 0 then return end
  out[#out + 1] = ('<path class="bd %s" d="%sZ"/>'):format(class_of(layer.how),
                                                       table.concat(path))
end

function draw.points(c, layer, out)
  local mark = marks[layer.how.mark or "circle"]
  for _, p in ipairs(visible(c, layer)) do
    out[#out + 1] = mark:format(class_of(layer.how), px(c.at_x(p[1])), px(c.at_y(p[2])),
      px(layer.how.radius or 3), p[3] and "<title>" .. escape(p[3]) .. "</title>" or "")
  end
end

function draw.rule(c, layer, out)
  local v, b = layer.points[1][1], c.box
  if layer.how.axis == "x" then
    if not usable(c.x, v) then return end
    local x = px(c.at_x(v))
    out[#out + 1] = ('<path class="ru" d="M%s %sV%s"/>'):format(x, px(b.top), px(b.bottom))
    return
  end
  if not usable(c.y, v) then return end
  local y = c.at_y(v)
  out[#out + 1] = ('<path class="ru" d="M%s %sH%s"/>'):format(px(b.left), px(y), px(b.right))
  if layer.how.text then
    out[#out + 1] = ('<text class="q o" x="%s" y="%s" text-anchor="end">%s</text>'):format(
      px(b.right - 2), px(y - 4), escape(layer.how.text))
  end
end

function draw.text(c, layer, out)
  local p = layer.points[1]
  if not (usable(c.x, p[1]) and usable(c.y, p[2])) then return end
  out[#out + 1] = ('<text x="%s" y="%s" text-anchor="%s">%s</text>'):format(
    px(c.at_x(p[1]) + (layer.how.dx or 0)), px(c.at_y(p[2]) + (layer.how.dy or 0)),
    layer.how.anchor or "start", escape(p[3]))
end

-- Legend entries in rows that fit; returns the y below them.
local function draw_legend(entries, left, right, y, out)
  local x = left
  if #entries == 0 then return y end
  for _, e in ipairs(entries) do
    local wide = 16 + text_width(e.name) + 10
    if x > left and x + wide > right then x, y = left, y + 15 end
    out[#out + 1] = e.dashed
      and ('<path class="ln da %s" d="M%s %sh11"/>'):format(e.class, px(x), px(y - 4))
      or ('<rect class="ar %s" x="%s" y="%s" width="10" height="10" rx="2"/>'):format(
        e.class, px(x), px(y - 9))
    out[#out + 1] = ('<text class="q" x="%s" y="%s">%s</text>'):format(px(x + 14), px(y),
                                                                   escape(e.name))
    x = x + wide
  end
  return y + 15
end
chart.draw_legend = draw_legend

-- The head of a drawing; class: "chart" grows to its place, "wide" keeps its size.
function chart.open(class, width, height, title, standalone)
  return ('<svg class="%s" viewBox="0 0 %s %s" width="%s" height="%s" role="img"%s>'
    .. "<title>%s</title>%s"):format(class, px(width), px(height), px(width), px(height),
            standalone and ' xmlns="http://www.w3.org/2000/svg"' or "", escape(title),
            standalone and "<style>svg{background:var(--bg)}" .. chart.css .. "</style>" or "")
end

local function ticks_of(axis, low, high, most)
  local list = axis.log and chart.log_ticks(low, high, most) or chart.ticks(low, high, most)
  if not axis.integer then return list end
  local out = {}
  for _, v in ipairs(list) do if v == math.floor(v) then out[#out + 1] = v end end
  return out
end

local function draw_axes(c, xt, yt, out)
  local b, number = c.box, c.y.format or chart.number
  for _, v in ipairs(yt) do
    local y = px(c.at_y(v))
    out[#out + 1] = ('<path class="gr" d="M%s %sH%s"/>'):format(px(b.left), y, px(b.right))
    out[#out + 1] = ('<text class="q" x="%s" y="%s" text-anchor="end">%s</text>'):format(
      px(b.left - 5), px(c.at_y(v) + 4), escape(number(v)))
  end
  number = c.x.format or chart.number
  local free = -math.huge               -- where the last label ended
  for _, v in ipairs(c.x.bare and {} or xt) do
    local x, label = c.at_x(v), number(v)
    local half = text_width(label) / 2
    out[#out + 1] = ('<path class="ax" d="M%s %sv4"/>'):format(px(x), px(b.bottom))
    if x - half > free then
      local at = math.min(x, c.width - half - 1)
      out[#out + 1] = ('<text class="q" x="%s" y="%s" text-anchor="middle">%s</text>'):format(
        px(at), px(b.bottom + 17), escape(label))
      free = at + half + 4
    end
  end
  out[#out + 1] = ('<path class="ax" d="M%s %sH%s"/>'):format(px(b.left), px(b.bottom),
                                                           px(b.right))
  if c.x.label then
    out[#out + 1] = ('<text class="q" x="%s" y="%s" text-anchor="end">%s</text>'):format(
      px(b.right), px(c.height - 3), escape(c.x.label))
  end
end

function drawing:svg(options)
  local c = self
  local out, body = {}, {}
  local xs, ys = data_of(c)
  local xl, xh = domain(c.x, xs)
  local yl, yh = domain(c.y, ys)
  local yt = ticks_of(c.y, yl, yh, 6)
  local wide = 0
  for _, v in ipairs(yt) do
    wide = math.max(wide, text_width((c.y.format or chart.number)(v)))
  end
  local y = 12
  if c.y.label then
    body[1] = ('<text class="q" x="0" y="%d">%s</text>'):format(y, escape(c.y.label))
    y = y + 16
  end
  y = draw_legend(c.legend, 0, c.width, y, body)
  c.box = { left = wide + 8, right = c.width - 6, top = y, bottom = c.height - 38 }
  c.at_x = scale(c.x, xl, xh, c.box.left, c.box.right)
  c.at_y = scale(c.y, yl, yh, c.box.bottom, c.box.top)
  out[1] = chart.open("chart", c.width, c.height, c.title, options and options.standalone)
  table.move(body, 1, #body, #out + 1, out)
  draw_axes(c, ticks_of(c.x, xl, xh, 7), yt, out)
  for _, layer in ipairs(c.layers) do draw[layer.kind](c, layer, out) end
  out[#out + 1] = "</svg>"
  return table.concat(out)
end

-- Bars and heat maps --------------------------------------------------------------

-- Stacked bars. o: title, width, height, label (of the x axis), y (an axis), bars =
-- { { name =, title =, parts = { number .. } } .. }, series = { { name =, class = } .. }
function chart.bars(o)
  local c = chart.new { title = o.title, width = o.width, height = o.height, y = o.y,
    x = { min = 0, max = #o.bars, label = o.label, bare = true } }
  local high = 0
  for _, bar in ipairs(o.bars) do
    local sum = 0
    for i in ipairs(o.series) do sum = sum + (bar.parts[i] or 0) end
    high = math.max(high, sum)
  end
  c.y.min, c.y.max = 0, c.y.max or (high > 0 and high * 1.04 or 1)
  for _, s in ipairs(o.series) do
    c.legend[#c.legend + 1] = { name = s.name, class = s.class }
  end
  add(c, "bars", {}, { o = o })
  return c:svg(o)
end

function draw.bars(c, layer, out)
  local o, free = layer.how.o, -math.huge
  for i, bar in ipairs(o.bars) do
    local left, right = c.at_x(i - 0.92), c.at_x(i - 0.08)
    local sum = 0
    for j, s in ipairs(o.series) do
      local v = bar.parts[j] or 0
      if v > 0 then
        local top = c.at_y(sum + v)
        out[#out + 1] = ('<rect class="ar %s" x="%s" y="%s" width="%s" height="%s">'
          .. "<title>%s</title></rect>"):format(s.class, px(left), px(top), px(right - left),
          px(math.max(0.5, c.at_y(sum) - top)), escape(("%s: %s %s"):format(
          bar.title or bar.name, s.name, chart.number(v))))
        sum = sum + v
      end
    end
    local half, x = text_width(bar.name) / 2, (left + right) / 2
    x = math.max(math.min(x, c.width - half - 1), half)
    if x - half > free then
      out[#out + 1] = ('<text class="q" x="%s" y="%s" text-anchor="middle">%s</text>'):format(
        px(x), px(c.box.bottom + 16), escape(bar.name))
      free = x + half + 6
    end
  end
end

local function cut(text, most)
  local n = utf8.len(text)
  if not n or n <= most then return n and text or repair(text):sub(1, most) end
  return text:sub(1, utf8.offset(text, most) - 1) .. "\u{2026}"
end
chart.cut = cut

-- One cell: its colour says the value, its text is in it, hatched when masked.
local function heat_cell(cell, x, y, wide, tall, out)
  local strong = math.min(1, math.abs(cell.value or 0))
  out[#out + 1] = ('<g><title>%s</title><rect class="ce" x="%s" y="%s" width="%s" height="%s" '
    .. 'rx="4" fill="var(--grid)" fill-opacity=".45"/>'):format(escape(cell.title or ""),
    px(x), px(y), px(wide), px(tall))
  if strong > 0 then
    out[#out + 1] = ('<rect x="%s" y="%s" width="%s" height="%s" rx="4" class="ar %s" '
      .. 'fill-opacity="%.2f"/>'):format(px(x + 1), px(y + 1), px(wide - 2), px(tall - 2),
      cell.value < 0 and "s2" or "s1", 0.08 + 0.5 * strong)
  end
  if cell.hatched then
    local d = {}
    for i = 0, math.floor((wide + tall) / 9) do
      local from = 9 * i
      d[#d + 1] = ("M%s %sL%s %s"):format(px(x + math.min(from, wide)),
        px(y + math.max(0, from - wide)), px(x + math.max(0, from - tall)),
        px(y + math.min(from, tall)))
    end
    out[#out + 1] = ('<path class="gr" style="stroke:var(--soft);stroke-opacity:.55" '
                     .. 'd="%s"/>'):format(table.concat(d))
  end
  for i, line in ipairs(cell.lines or {}) do
    out[#out + 1] = ('<text class="%s" x="%s" y="%s" text-anchor="middle">%s</text>'):format(
      i == 1 and "h" or "n", px(x + wide / 2), px(y + tall / 2 - 3 + 14 * (i - 1)),
      escape(line))
  end
  out[#out + 1] = "</g>"
end

-- o: title, rows and columns (names), cells[row][column] = { value = -1 .. 1, lines =
-- { text, text }, title =, hatched = }; nil: nothing known. cell_width.
function chart.heat(o)
  local left, wide, tall = 0, o.cell_width or 62, 38
  for _, name in ipairs(o.rows) do left = math.max(left, text_width(cut(name, 24)) + 8) end
  local out = { chart.open("heat", left + wide * #o.columns + 2, 22 + tall * #o.rows, o.title,
                           o.standalone) }
  for j, name in ipairs(o.columns) do
    out[#out + 1] = ('<text class="q" x="%s" y="13" text-anchor="middle">%s</text>'):format(
      px(left + wide * (j - 0.5)), escape(cut(name, wide // 6)))
  end
  for i, name in ipairs(o.rows) do
    local y = 20 + tall * (i - 1)
    out[#out + 1] = ('<text x="%s" y="%s" text-anchor="end">%s</text>'):format(px(left - 7),
      px(y + tall / 2 + 4), escape(cut(name, 24)))
    for j in ipairs(o.columns) do
      heat_cell(o.cells[i] and o.cells[i][j] or {}, left + wide * (j - 1), y, wide, tall, out)
    end
  end
  out[#out + 1] = "</svg>"
  return table.concat(out)
end

return chart
