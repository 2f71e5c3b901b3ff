-- report/chart.lua - charts as SVG text: no library, no script, colours by the classes of
-- chart.css, so that one drawing serves light and dark.
--
--   local c = chart.new { title =, width = 420, height = 260,
--                         x = { label =, log =, min =, max =, integer =, names =, unit = },
--                         y = { label =, log =, min =, max =, integer =, format = } }
--   c:line(points, how)      { x, y } .., or { x, y, low, high } .. for one in a band; how.dashed
--   c:points(points, how)    { x, y, text = of the tooltip } ..; how.ring, how.radius
--   c:bars(points)           { 1 .., low, high, text =, class = } ..
--   c:rule(value, text)      a dashed line across, at a value of y
--   c:text(x, y, text)       ends above a point
--   c:svg { standalone = true }
--
-- how.series = 1..8 is a colour, how.class any class of chart.css ("v-wrong"), how.step draws
-- stairs, how.name puts it in the legend where it has points. Points that an axis cannot show are
-- left out. An axis with names has those in place of ticks; one with a unit (60, say) has its
-- ticks, min and max in that, but not its points. Standalone drawings carry chart.css; in a page
-- the page does.
local lists = require "kernelband.base.lists"
local html  = require "kernelband.report.html"
local own   = require("kernelband.base.path").own

local chart = {}

local collect, tag, px, number = lists.collect, html.tag, html.px, html.number

chart.verdicts = require("kernelband.evaluate.verdict").names
chart.css = own "report/chart.css"

-- The width of 12 px text, rounded up.
function chart.text_width(s) return 6.8 * (utf8.len(s) or #s) end

function chart.label(x, y, text, class, anchor)
  return tag("text", { class = class, x = x, y = y, text_anchor = anchor }, html.escape(text))
end

-- What is shown where the pointer rests.
function chart.tooltip(text) return text and tag("title", nil, html.escape(text)) or "" end

-- A path of a form such as "M%sH%s", filled with numbers.
local function path(class, form, ...)
  return tag("path", { class = class, d = form:format(table.unpack(collect({ ... }, px))) })
end

-- Axes -------------------------------------------------------------------------

-- At most `most` round numbers (1, 2 or 5 times a power of ten apart) that lie
-- within low .. high.
function chart.ticks(low, high, most)
  local unit, out = 10.0 ^ math.floor(math.log((high - low) / most, 10)), {}
  local step = unit * (lists.find({ 1, 2, 5 }, function(m)
    return (high - low) / (unit * m) <= most
  end) or 10)
  for i = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    out[#out + 1] = i * step
  end
  return out
end

-- Powers of ten within low .. high, and 2 and 5 times them where there is room.
function chart.log_ticks(low, high, most)
  local decades, out = math.log(high / low, 10), {}
  for d = math.floor(math.log(low, 10) + 1e-9), math.ceil(math.log(high, 10)),
          math.max(1, math.ceil(decades / most)) do
    for _, m in ipairs(decades * 3 <= most and { 1, 2, 5 } or { 1 }) do
      local v = m * 10.0 ^ d
      if v >= low * (1 - 1e-9) and v <= high * (1 + 1e-9) then out[#out + 1] = v end
    end
  end
  return #out < 2 and chart.ticks(low, high, most) or out
end

local function usable(axis, v) return html.finite(v) and (not axis.log or v > 0) end

local function extend(axis, ...)
  axis.low, axis.high = math.min(axis.low or ..., ...), math.max(axis.high or ..., ...)
end

-- Sets the ticks of an axis, each { value, text }, and returns a function from its values to
-- places between from and to, which may be set later (axis.from, axis.to). An axis goes from its
-- min to its max, or has some room around its data; it is never empty.
local function prepare(axis, most)
  local unit = axis.unit or 1
  local function f(v) return axis.log and math.log(v) or v end
  local low, high = axis.min or (axis.low or 1) / unit, axis.max or (axis.high or 1) / unit
  local wide = high - low > 1e-12 * math.max(1, math.abs(high))
  local room = not wide and 0.5 or axis.log and math.log(1.04) or 0.04 * (high - low)
  local a, b = f(low) - (axis.min and 0 or room), f(high) + (axis.max and wide and 0 or room)
  if wide and low >= 0 and not axis.log then a = math.max(0, a) end
  local ticks = axis.log and chart.log_ticks(math.exp(a), math.exp(b), most)
                or chart.ticks(a, b, most)
  axis.ticks = collect(ticks, function(v)
    return (not axis.integer or v == math.floor(v)) and { v, (axis.format or number)(v) }
  end)
  return function(v) return axis.from + (f(v / unit) - a) / (b - a) * (axis.to - axis.from) end
end

-- Layers -----------------------------------------------------------------------

local drawing = {}
drawing.__index = drawing

function chart.new(o)
  return setmetatable({ layers = {}, legend = {}, title = o.title or "", width = o.width or 420,
                        height = o.height or 260, x = o.x or {}, y = o.y or {} }, drawing)
end

-- Of the points those that both axes can show, which make room for them, with a corner between
-- two of stairs.
local function shown(c, points, step)
  local out, last = {}, nil
  for _, p in ipairs(points) do
    local x, y, low, high = table.unpack(p)
    if usable(c.x, x) and usable(c.y, y) and usable(c.y, low or y) and usable(c.y, high or y) then
      extend(c.x, x)
      extend(c.y, y, low or y, high or y)
      if step and last then out[#out + 1] = { p[1], table.unpack(last, 2) } end
      out[#out + 1], last = p, p
    end
  end
  return out
end

-- Field i of points as places of a path, in their order or backwards.
local function places(c, points, i, backwards)
  local out = {}
  for n, p in ipairs(points) do
    out[backwards and #points + 1 - n or n] = px(c.at_x(p[1])) .. " " .. px(c.at_y(p[i]))
  end
  return table.concat(out, "L")
end

-- What draws the points of a layer.
local marks = {}

function marks.line(c, points, how, class)
  return (points[1][3] and tag("path", { class = "band " .. class,
      d = ("M%sL%sZ"):format(places(c, points, 4), places(c, points, 3, true)) }) or "")
    .. tag("path", { class = "line " .. class .. (how.dashed and " dashed" or ""),
                     d = "M" .. places(c, points, 2) })
end

function marks.points(c, points, how, class)
  return table.concat(collect(points, function(p)
    return tag("circle", { class = (how.ring and "line " or "point ") .. class,
      cx = c.at_x(p[1]), cy = c.at_y(p[2]), r = how.radius or 3 }, chart.tooltip(p.text))
  end))
end

function marks.bars(c, points)
  return table.concat(collect(points, function(p)
    local left, low, high = c.at_x(p[1] - 0.92), c.at_y(p[2]), c.at_y(p[3])
    return tag("rect", { class = "area " .. p.class, x = left, y = high,
                         width = c.at_x(p[1] - 0.08) - left, height = math.max(0.5, low - high) },
               chart.tooltip(p.text))
  end))
end

for name, draw in pairs(marks) do
  drawing[name] = function(c, points, how)
    how = how or {}
    local class = how.class or "s" .. ((how.series or 1) - 1) % 8 + 1
    local visible = shown(c, points, how.step)
    if how.name and #visible > 0 then
      table.insert(c.legend, { name = how.name, class = class, dashed = how.dashed })
    end
    table.insert(c.layers, function()
      return #visible > 0 and draw(c, visible, how, class) or ""
    end)
  end
end

function drawing:rule(value, text)
  extend(self.y, value)
  table.insert(self.layers, function()
    local y = self.at_y(value)
    return path("rule", "M%s %sH%s", self.x.from, y, self.x.to)
           .. chart.label(self.x.to - 2, y - 4, text, "q outlined", "end")
  end)
end

function drawing:text(x, y, text)
  table.insert(self.layers, function()
    return chart.label(self.at_x(x), self.at_y(y) - 5, text, nil, "end")
  end)
end

-- Drawings ---------------------------------------------------------------------

-- A square of a colour at (x, y), y that of the text's line, and a text beside it.
function chart.swatch(class, x, y, text)
  return tag("rect", { class = "area " .. class, x = x, y = y - 9, width = 10, height = 10,
                       rx = 2 }) .. chart.label(x + 14, y, text, "q")
end

-- Legend entries in rows that fit, and the y below them.
function chart.draw_legend(entries, width, y)
  local x, out = 0, {}
  if #entries == 0 then return "", y end
  for i, e in ipairs(entries) do
    local wide = 16 + chart.text_width(e.name) + 10
    if x > 0 and x + wide > width then x, y = 0, y + 15 end
    out[i] = e.dashed and path("line dashed " .. e.class, "M%s %sh11", x, y - 4)
             .. chart.label(x + 14, y, e.name, "q") or chart.swatch(e.class, x, y, e.name)
    x = x + wide
  end
  return table.concat(out), y + 15
end

-- Entries of a legend, or series of bars: the verdicts that are keys of has, each in
-- its colour.
function chart.verdict_series(has)
  return collect(chart.verdicts, function(v)
    return has[v] and { key = v, name = v, class = "v-" .. v }
  end)
end

-- A drawing of that content; class: "chart" grows to its place, "wide" keeps its size.
function chart.element(class, width, height, name, content, standalone)
  return tag("svg", { class = class, viewBox = ("0 0 %s %s"):format(px(width), px(height)),
    width = width, height = height, role = "img",
    xmlns = standalone and "http://www.w3.org/2000/svg" }, chart.tooltip(name) .. (standalone
    and "<style>svg{background:var(--bg)}" .. chart.css .. "</style>" or "") .. content)
end

-- Labels below the x axis, left out where there is no room: { value of x, text } ..
local function labels(c, list)
  local free = -math.huge               -- where the last label ended
  return table.concat(collect(list, function(item)
    local half = chart.text_width(item[2]) / 2
    local x = math.max(math.min(c.at_x(item[1]), c.width - half - 1), half)
    if x - half <= free then return nil end
    free = x + half + 4
    return chart.label(x, c.y.from + 17, item[2], "q", "middle")
  end))
end

local function axes(c)
  local left, right, bottom, ticks = c.x.from, c.x.to, c.y.from, c.x.names and {} or c.x.ticks
  local out = collect(c.y.ticks, function(tick)
    local y = c.at_y(tick[1])
    return path("gridline", "M%s %sH%s", left, y, right)
           .. chart.label(left - 5, y + 4, tick[2], "q", "end")
  end)
  for _, tick in ipairs(ticks) do
    out[#out + 1] = path("axis", "M%s %sv4", c.at_x(tick[1]), bottom)
  end
  return table.concat(out) .. labels(c, ticks) .. path("axis", "M%s %sH%s", left, bottom, right)
    .. (c.x.label and chart.label(right, c.height - 3, c.x.label, "q", "end") or "")
end

function drawing:svg(options)
  local c, y, wide = self, 12, 0
  c.at_x, c.at_y = prepare(c.x, 7), prepare(c.y, 6)
  for _, tick in ipairs(c.y.ticks) do wide = math.max(wide, chart.text_width(tick[2])) end
  local head = c.y.label and chart.label(0, y, c.y.label, "q") or ""
  local legend, top = chart.draw_legend(c.legend, c.width, c.y.label and y + 16 or y)
  c.x.from, c.x.to, c.y.from, c.y.to = wide + 8, c.width - 6, c.height - 38, top
  local layers = collect(c.layers, function(draw) return draw() end)
  return chart.element("chart", c.width, c.height, c.title,
                       head .. legend .. axes(c) .. table.concat(layers)
                       .. labels(c, c.x.names or {}),
                       options and options.standalone)
end

-- Bars and heat maps --------------------------------------------------------------

-- Stacked bars. o: title, height, label (of the x axis), y (an axis), bars = { { name =, title =,
-- parts = { key = number } } .. }, series = { { key =, name =, class = } .. }
function chart.bars(o)
  local c, bars = chart.new { title = o.title, height = o.height, y = o.y,
    x = { min = 0, max = #o.bars, label = o.label, names = {} } }, {}
  c.y.min, c.legend = 0, o.series
  for i, bar in ipairs(o.bars) do
    local sum = 0
    c.x.names[i] = { i - 0.5, bar.name }
    for _, s in ipairs(o.series) do
      local low, v = sum, bar.parts[s.key] or 0
      sum = sum + v
      bars[#bars + 1] = v > 0 and { i, low, sum, class = s.class,
        text = ("%s: %s %s"):format(bar.title, s.name, number(v)) } or nil
    end
  end
  c:bars(bars)
  return c:svg()
end

-- One cell: its colour says the value, its text is in it, hatched when masked.
local function heat_cell(cell, x, y, wide, tall)
  local value = cell.value or 0
  local texts = collect(cell.lines or {}, function(line, i)
    return chart.label(x + wide / 2, y + tall / 2 - 17 + 14 * i, line, i == 1 and "h", "middle")
  end)
  return tag("g", nil, chart.tooltip(cell.title or "")
    .. tag("rect", { class = "cell", x = x, y = y, width = wide, height = tall, rx = 4 })
    .. (value ~= 0 and tag("rect", { class = "area " .. (value < 0 and "s2" or "s1"), x = x + 1,
      y = y + 1, width = wide - 2, height = tall - 2, rx = 4,
      fill_opacity = ("%.2f"):format(0.08 + 0.5 * math.min(1, math.abs(value))) }) or "")
    .. (cell.hatched and tag("path", { class = "hatch", stroke_width = tall - 4,
      d = ("M%s %sh%s"):format(px(x + 3), px(y + tall / 2), px(wide - 6)) }) or "")
    .. table.concat(texts))
end

-- o: title, rows and columns (names), cells[row][column] = { value = -1 .. 1, lines =
-- { text, text }, title =, hatched = }; nil: nothing known. cell_width.
function chart.heat(o)
  local left, wide, tall = 0, o.cell_width or 62, 38
  local names = collect(o.rows, function(name) return html.cut(name, 24) end)
  for _, name in ipairs(names) do left = math.max(left, chart.text_width(name) + 8) end
  local out = collect(o.columns, function(name, j)
    return chart.label(left + wide * (j - 0.5), 13, html.cut(name, wide // 6), "q", "middle")
  end)
  for i, name in ipairs(names) do
    local y = 20 + tall * (i - 1)
    out[#out + 1] = chart.label(left - 7, y + tall / 2 + 4, name, nil, "end")
    for j in ipairs(o.columns) do
      local cell = o.cells[i] and o.cells[i][j] or {}
      out[#out + 1] = heat_cell(cell, left + wide * (j - 1), y, wide, tall)
    end
  end
  return chart.element("heat", left + wide * #o.columns + 2, 22 + tall * #o.rows, o.title,
                       table.concat(out), o.standalone)
end

return chart
