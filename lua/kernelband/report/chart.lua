-- report/chart.lua - charts as SVG text: no library, no script, colours by the classes of
-- chart.css, so that one drawing serves light and dark.
--
--   local c = chart.new { title =, width = 420, height = 260,
--                         x = { label =, log =, min =, max =, integer = },
--                         y = { label =, log =, min =, max = } }
--   c:band(points, how)      { x, low, high } ..
--   c:line(points, how)      { x, y } ..; how.dashed
--   c:points(points, how)    { x, y, text of the tooltip } ..; how.ring, how.radius
--   c:rule(value, text)      a dashed line across, at a value of y
--   c:text(x, y, text, how)  how.anchor = "start" | "middle" | "end"
--   c:svg { standalone = true }
--
-- how.series = 1..8 is a colour, how.class any class of chart.css ("v-wrong"), how.step draws
-- stairs, how.name puts it in the legend. Points that a logarithmic axis cannot show are left
-- out. Standalone drawings carry chart.css; in a page the page does.
local collect = require("kernelband.base.lists").collect
local html    = require "kernelband.report.html"
local own     = require("kernelband.base.path").own

local chart = {}

local tag, escape, number = html.tag, html.escape, html.number

chart.verdicts = require("kernelband.evaluate.verdict").names
chart.css = own "report/chart.css"

-- The width of 12 px text, rounded up.
function chart.text_width(s) return 6.8 * (utf8.len(s) or #s) end
local text_width = chart.text_width

local function text_at(x, y, text, class, anchor)
  return tag("text", { class = class, x = x, y = y, text_anchor = anchor }, escape(text))
end

-- A path of a form such as "M%sH%s", filled with numbers.
local function path(class, form, ...)
  return tag("path", { class = class, d = form:format(table.unpack(collect({ ... }, html.px))) })
end

local function title(text) return text and tag("title", nil, escape(text)) or "" end

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

local function usable(axis, v) return html.finite(v) and (not axis.log or v > 0) end

local function extend(axis, v)
  if not usable(axis, v) then return end
  axis.low, axis.high = math.min(axis.low or v, v), math.max(axis.high or v, v)
end

-- Low and high of an axis: as told, else of the data, never empty.
local function domain(axis)
  local low, high = axis.min or axis.low, axis.max or axis.high
  if not low or not high then low, high = axis.log and 1 or 0, 1 end
  if axis.log then
    if high / low < 1.05 then low, high = low / 1.2, high * 1.2 end
    return axis.min and low or low / 1.04, axis.max and high or high * 1.04
  end
  if high - low < 1e-12 * math.max(1, math.abs(high)) then
    if not axis.min then low = low - 0.5 end
    high = math.max(high, low) + 0.5
  end
  local room = 0.04 * (high - low)
  if not axis.min then low = low >= 0 and math.max(0, low - room) or low - room end
  return low, axis.max and high or high + room
end

-- The ticks of an axis, and a function from its values to places between from and to.
local function prepare(axis, most)
  local low, high = domain(axis)
  local f = axis.log and math.log or function(v) return v end
  local a, b = f(low), f(high)
  local ticks = {}
  for _, v in ipairs(axis.log and chart.log_ticks(low, high, most)
                     or chart.ticks(low, high, most)) do
    if not axis.integer or v == math.floor(v) then ticks[#ticks + 1] = v end
  end
  return ticks, function(from, to)
    return function(v) return from + (f(v) - a) / (b - a) * (to - from) end
  end
end

-- Drawing ----------------------------------------------------------------------

local drawing = {}
drawing.__index = drawing

function chart.new(o)
  return setmetatable({ layers = {}, legend = {}, title = o.title or "", width = o.width or 420,
                        height = o.height or 260, x = o.x or {}, y = o.y or {} }, drawing)
end

local function class_of(how) return how.class or "s" .. ((how.series or 1) - 1) % 8 + 1 end

-- draw(points, how, class): of the points that the axes can show.
local function add(c, points, how, draw)
  how = how or {}
  local class = class_of(how)
  for _, p in ipairs(points) do
    extend(c.x, p[1])
    extend(c.y, p[2])
    extend(c.y, p[3])
  end
  if how.name then
    c.legend[#c.legend + 1] = { name = how.name, class = class, dashed = how.dashed }
  end
  c.layers[#c.layers + 1] = function()
    local shown, last = {}, nil
    for _, p in ipairs(points) do
      if usable(c.x, p[1]) and usable(c.y, p[2])
         and (type(p[3]) ~= "number" or usable(c.y, p[3])) then
        if how.step and last then shown[#shown + 1] = { p[1], last[2], last[3] } end
        shown[#shown + 1], last = p, p
      end
    end
    return #shown > 0 and draw(shown, how, class) or ""
  end
end

-- Field i of points as places of a path, in their order or backwards.
local function places(c, points, i, backwards)
  local out = {}
  for n, p in ipairs(points) do
    out[backwards and #points + 1 - n or n] = html.px(c.at_x(p[1])) .. " " .. html.px(c.at_y(p[i]))
  end
  return table.concat(out, "L")
end

function drawing:line(points, options)
  add(self, points, options, function(shown, how, class)
    return tag("path", { class = "line " .. class .. (how.dashed and " dashed" or ""),
                         d = "M" .. places(self, shown, 2) })
  end)
end

function drawing:band(points, options)
  add(self, points, options, function(shown, _, class)
    return tag("path", { class = "band " .. class, d = ("M%sL%sZ"):format(
      places(self, shown, 3), places(self, shown, 2, true)) })
  end)
end

function drawing:points(points, options)
  add(self, points, options, function(shown, how, class)
    local out = {}
    for i, p in ipairs(shown) do
      out[i] = tag("circle", { class = (how.ring and "line " or "point ") .. class,
        cx = self.at_x(p[1]), cy = self.at_y(p[2]), r = how.radius or 3 }, title(p[3]))
    end
    return table.concat(out)
  end)
end

function drawing:rule(value, text)
  extend(self.y, value)
  table.insert(self.layers, function()
    local b, y = self.box, usable(self.y, value) and self.at_y(value)
    return y and path("rule", "M%s %sH%s", b.left, y, b.right)
           .. text_at(b.right - 2, y - 4, text, "q outlined", "end") or ""
  end)
end

function drawing:text(x, y, text, how)
  table.insert(self.layers, function()
    if not (usable(self.x, x) and usable(self.y, y)) then return "" end
    return text_at(self.at_x(x), self.at_y(y) + (how.dy or 0), text, nil, how.anchor)
  end)
end

-- Legend entries in rows that fit, and the y below them.
function chart.draw_legend(entries, left, right, y)
  local x, out = left, {}
  if #entries == 0 then return "", y end
  for i, e in ipairs(entries) do
    local wide = 16 + text_width(e.name) + 10
    if x > left and x + wide > right then x, y = left, y + 15 end
    out[i] = (e.dashed and path("line dashed " .. e.class, "M%s %sh11", x, y - 4)
      or tag("rect", { class = "area " .. e.class, x = x, y = y - 9, width = 10, height = 10,
                       rx = 2 })) .. text_at(x + 14, y, e.name, "q")
    x = x + wide
  end
  return table.concat(out), y + 15
end

-- Entries of a legend, or series of bars: the verdicts that are keys of has, each in
-- its colour.
function chart.verdict_series(has)
  return collect(chart.verdicts, function(v) return has[v] and { name = v, class = "v-" .. v } end)
end

-- A drawing of that content; class: "chart" grows to its place, "wide" keeps its size.
function chart.element(class, width, height, name, content, standalone)
  return tag("svg", { class = class, viewBox = ("0 0 %s %s"):format(html.px(width),
    html.px(height)), width = width, height = height, role = "img",
    xmlns = standalone and "http://www.w3.org/2000/svg" },
    title(name) .. (standalone and "<style>svg{background:var(--bg)}" .. chart.css .. "</style>"
                    or "") .. content)
end

-- Labels below the x axis, left out where there is no room: { x, text } ..
local function labels(c, list, y)
  local out, free = {}, -math.huge      -- where the last label ended
  for _, label in ipairs(list) do
    local half = text_width(label[2]) / 2
    local x = math.max(math.min(label[1], c.width - half - 1), half)
    if x - half > free then
      out[#out + 1] = text_at(x, y, label[2], "q", "middle")
      free = x + half + 4
    end
  end
  return table.concat(out)
end

local function axes(c, xt, yt)
  local b, out, below = c.box, {}, {}
  for _, v in ipairs(yt) do
    local y = c.at_y(v)
    out[#out + 1] = path("gridline", "M%s %sH%s", b.left, y, b.right)
      .. text_at(b.left - 5, y + 4, (c.y.format or number)(v), "q", "end")
  end
  for i, v in ipairs(c.x.bare and {} or xt) do
    out[#out + 1] = path("axis", "M%s %sv4", c.at_x(v), b.bottom)
    below[i] = { c.at_x(v), (c.x.format or number)(v) }
  end
  return table.concat(out) .. labels(c, below, b.bottom + 17)
    .. path("axis", "M%s %sH%s", b.left, b.bottom, b.right)
    .. (c.x.label and text_at(b.right, c.height - 3, c.x.label, "q", "end") or "")
end

function drawing:svg(options)
  local c, out = self, {}
  local xt, x_scale = prepare(c.x, 7)
  local yt, y_scale = prepare(c.y, 6)
  local wide, y = 0, 12
  for _, v in ipairs(yt) do
    wide = math.max(wide, text_width((c.y.format or number)(v)))
  end
  if c.y.label then
    out[1] = text_at(0, y, c.y.label, "q")
    y = y + 16
  end
  out[#out + 1], y = chart.draw_legend(c.legend, 0, c.width, y)
  c.box = { left = wide + 8, right = c.width - 6, top = y, bottom = c.height - 38 }
  c.at_x, c.at_y = x_scale(c.box.left, c.box.right), y_scale(c.box.bottom, c.box.top)
  out[#out + 1] = axes(c, xt, yt)
  for _, layer in ipairs(c.layers) do out[#out + 1] = layer() end
  return chart.element("chart", c.width, c.height, c.title, table.concat(out),
                       options and options.standalone)
end

-- Bars and heat maps --------------------------------------------------------------

-- Stacked bars. o: title, width, height, label (of the x axis), y (an axis), bars =
-- { { name =, title =, parts = { number .. } } .. }, series = { { name =, class = } .. }
function chart.bars(o)
  local c = chart.new { title = o.title, width = o.width, height = o.height, y = o.y,
    x = { min = 0, max = #o.bars, label = o.label, bare = true } }
  c.y.min, c.legend = 0, o.series
  for _, bar in ipairs(o.bars) do
    local sum = 0
    for i in ipairs(o.series) do sum = sum + (bar.parts[i] or 0) end
    extend(c.y, sum)
  end
  table.insert(c.layers, function()
    local out, below = {}, {}
    for i, bar in ipairs(o.bars) do
      local left, right, sum = c.at_x(i - 0.92), c.at_x(i - 0.08), 0
      for j, s in ipairs(o.series) do
        local v = bar.parts[j] or 0
        if v > 0 then
          local top = c.at_y(sum + v)
          out[#out + 1] = tag("rect", { class = "area " .. s.class, x = left, y = top,
            width = right - left, height = math.max(0.5, c.at_y(sum) - top) },
            title(("%s: %s %s"):format(bar.title or bar.name, s.name, number(v))))
          sum = sum + v
        end
      end
      below[i] = { (left + right) / 2, bar.name }
    end
    return table.concat(out) .. labels(c, below, c.box.bottom + 16)
  end)
  return c:svg(o)
end

-- One cell: its colour says the value, its text is in it, hatched when masked.
local function heat_cell(cell, x, y, wide, tall)
  local value, out = cell.value or 0, { title(cell.title or "") }
  out[2] = tag("rect", { class = "cell", x = x, y = y, width = wide, height = tall, rx = 4 })
  if value ~= 0 then
    out[#out + 1] = tag("rect", { class = "area " .. (value < 0 and "s2" or "s1"), x = x + 1,
      y = y + 1, width = wide - 2, height = tall - 2, rx = 4,
      fill_opacity = ("%.2f"):format(0.08 + 0.5 * math.min(1, math.abs(value))) })
  end
  if cell.hatched then
    out[#out + 1] = tag("path", { class = "hatch", stroke_width = tall - 4,
      d = ("M%s %sh%s"):format(html.px(x + 3), html.px(y + tall / 2), html.px(wide - 6)) })
  end
  for i, line in ipairs(cell.lines or {}) do
    out[#out + 1] = text_at(x + wide / 2, y + tall / 2 - 3 + 14 * (i - 1), line,
                            i == 1 and "h" or nil, "middle")
  end
  return tag("g", nil, table.concat(out))
end

-- o: title, rows and columns (names), cells[row][column] = { value = -1 .. 1, lines =
-- { text, text }, title =, hatched = }; nil: nothing known. cell_width.
function chart.heat(o)
  local left, wide, tall, out = 0, o.cell_width or 62, 38, {}
  for _, name in ipairs(o.rows) do left = math.max(left, text_width(html.cut(name, 24)) + 8) end
  for j, name in ipairs(o.columns) do
    out[j] = text_at(left + wide * (j - 0.5), 13, html.cut(name, wide // 6), "q", "middle")
  end
  for i, name in ipairs(o.rows) do
    local y = 20 + tall * (i - 1)
    out[#out + 1] = text_at(left - 7, y + tall / 2 + 4, html.cut(name, 24), nil, "end")
    for j in ipairs(o.columns) do
      out[#out + 1] = heat_cell(o.cells[i] and o.cells[i][j] or {}, left + wide * (j - 1), y,
                                wide, tall)
    end
  end
  return chart.element("heat", left + wide * #o.columns + 2, 22 + tall * #o.rows, o.title,
                       table.concat(out), o.standalone)
end

return chart
