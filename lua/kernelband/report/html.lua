-- report/html.lua - HTML and SVG as text, numbers as a page shows them, and pages. Everything that
-- comes from a run is escaped here.
--
--   html.tag("p", { class = "q" }, html.escape(text))    an element; its content is HTML
--   html.tag("path", { d = d })                          ... without content
--   html.words("p", text, "q")                           ... of a text, with a class
--   html.table(head, rows, options)
--   html.said("lead", m)                                 a text of words.in, not escaped yet
--   html.listing("event", m.events, options)             a table of tables.in
--
-- Attributes stand in the order of their names; numbers have one digit after the point, and
-- text_anchor is text-anchor.
local lists    = require "kernelband.base.lists"
local path     = require "kernelband.base.path"
local template = require "kernelband.base.template"
local text     = require "kernelband.base.text"
local version  = require "kernelband.base.version"

local html = {}

-- Text -------------------------------------------------------------------------

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
                   ["'"] = "&#39;" }

-- "\u{202E}" -> "[U+202E]".
local function code_of(c) return ("[U+%04X]"):format(utf8.codepoint(c)) end

-- Any text as HTML and XML may hold it, between tags and in quotes. Characters that would
-- reverse the direction of the text (U+202A to 202E, 2066 to 2069) are shown by their code.
function html.escape(s)
  s = text.utf8(tostring(s)):gsub("[&<>\"']", entities)
  s = s:gsub("[%z\1-\8\11-\31\127]", "\u{FFFD}"):gsub("\xEF\xBF[\xBE\xBF]", "\u{FFFD}")
  return (s:gsub("\xE2\x80[\xAA-\xAE]", code_of):gsub("\xE2\x81[\xA6-\xA9]", code_of))
end
local escape = html.escape

-- The lines of a piece of report/*.in, filled in: html.lines("words.tiles", m).
function html.lines(piece, values)
  local out, seen = {}, lists.with({ html = html }, values)
  template.fill("report/" .. piece, seen, function(line) out[#out + 1] = line end)
  return out
end

-- A text of words.in in one line.
function html.said(name, values) return table.concat(html.lines("words." .. name, values), " ") end

-- { head, cell } of each column of a table of tables.in.
function html.fields(name, values)
  return lists.collect(html.lines("tables." .. name, values), function(line)
    return { line:match "^(.-): (.*)" }
  end)
end

-- At most `most` characters of a text.
function html.cut(s, most) return text.cut(s, most, "\u{2026}") end

-- Elements ---------------------------------------------------------------------

function html.px(v) return (("%.1f"):format(v):gsub("%.0$", "")) end

function html.tag(name, attributes, content)
  local out = lists.collect(lists.keys(attributes or {}), function(key)
    local value = attributes[key]
    local shown = type(value) == "number" and html.px(value) or escape(value)
    return value and (' %s="%s"'):format(key:gsub("_", "-"), shown)
  end)
  return ("<%s%s"):format(name, table.concat(out))
         .. (content and ">" .. content .. "</" .. name .. ">" or "/>")
end
local tag = html.tag

function html.words(name, words, class) return tag(name, { class = class }, escape(words)) end
local words = html.words

function html.p(text_of, class) return words("p", text_of, class) end
function html.note(text_of) return words("p", text_of, "note") end
function html.heading(text_of) return words("h3", text_of) end
function html.dot(class) return tag("span", { class = "dot " .. class }, "") end

function html.list(lines)
  local items = lists.collect(lines, function(line) return words("li", line) end)
  return tag("ul", nil, table.concat(items))
end

-- Something to be opened: its title, and HTML; "" where there is none.
function html.details(title, content, open)
  if content == "" then return "" end
  return ("<details%s>%s%s</details>"):format(open and " open" or "", words("summary", title),
                                              content)
end

-- A drawing that may be wider than the page, in a place of those attributes.
function html.figure(svg, caption, place)
  return tag("figure", nil, tag("div", place or { class = "scroll" }, svg)
             .. (caption and words("figcaption", caption) or ""))
end

-- Pieces side by side where there is room.
function html.grid(...) return tag("div", { class = "grid" }, table.concat { ... }) end

-- head: names of the columns. A cell is text, nil (shown as -) or { text, class =, title =,
-- html = }, with html what is HTML already. options: row, a function that makes cells of an item
-- of rows; left, how many columns from the first are aligned to the left (1), as are those of
-- class "wrap" or "left"; caption; sort. "" where there are no rows.
function html.table(head, rows, options)
  options = options or {}
  if #rows == 0 then return "" end
  if options.row then rows = lists.collect(rows, options.row) end
  local function line(cells, name)
    return tag("tr", nil, table.concat(lists.collect(head, function(_, i)
      local first, cell = rows[1][i], cells[i]
      local class = type(first) == "table" and first.class
      local c = type(cell) == "table" and cell or { cell }
      local left = i <= (options.left or 1) or class == "wrap" or class == "left"
      return tag(name, { class = (left and "l" or "r") .. (c.class and " " .. c.class or ""),
                         title = c.title }, c.html or escape(c[1] == nil and "-" or c[1]))
    end)))
  end
  local body = lists.collect(rows, function(cells) return line(cells, "td") end)
  return tag("div", { class = "scroll" }, tag("table", { class = options.sort and "sort" },
    (options.caption and words("caption", options.caption) or "")
    .. tag("thead", nil, line(head, "th")) .. tag("tbody", nil, table.concat(body))))
end

-- ... of names and values, without a head.
function html.values(rows) return html.table({ "", "" }, rows, { left = 2 }) end

-- A coloured square and the verdict's name.
function html.verdict(name)
  return { html = tag("span", { class = "verdict" },
                      html.dot(name:find "^%l[%l_]*$" and "v-" .. name or "s8") .. escape(name)) }
end

-- A table of items, as tables.in has it by that name. options as for html.table, and show:
-- functions that make a cell of an item, by its head; wrap: the last column may be long.
function html.listing(name, items, options)
  local head, show = {}, { verdict = function(v) return html.verdict(v.verdict) end }
  show = lists.with(show, options.show)
  local function row(item)
    local cells = lists.collect(html.fields(name, item), function(f, i)
      head[i] = f[1]
      return show[f[1]] and show[f[1]](item) or { f[2] }
    end)
    if options.wrap then cells[#cells].class = "wrap" end
    return cells
  end
  return html.table(head, items, lists.with(options, { row = row }))
end

-- Which strategy made a kernel.
function html.maker(strategy) return strategy and "by " .. strategy or "the baseline" end

-- Numbers ----------------------------------------------------------------------

local units = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } }

-- 1234567 -> "1.23M", 0.00042 -> "0.00042", 250 -> "250". What three digits round to a thousand
-- is one of the next unit.
function html.number(v)
  local size = math.abs(v)
  if v == 0 then return "0" end
  for _, unit in ipairs(units) do
    if size >= 0.9995 * unit[1] then return ("%.3g%s"):format(v / unit[1], unit[2]) end
  end
  if size < 1e-4 then return (("%.2g"):format(v):gsub("e%-0*", "e-")) end
  return ("%.3g"):format(v)
end

html.finite, html.percent = text.finite, text.percent

-- fn of a finite number; what is none is shown as `other`.
local function shown(other, fn)
  return function(v, ...)
    v = html.finite(v)
    return v and fn(v, ...) or other
  end
end

html.count = shown("-", text.thousands)
html.times = shown("-", function(v) return ("%.2f\u{D7}"):format(v) end)
html.rate = shown("-", function(v, unit) return html.number(v):gsub("%a?$", " %0", 1) .. unit end)

function html.time(ns) return (text.time(ns):gsub(" us$", " \u{B5}s")) end

html.usd = shown("unknown", function(v)
  if v >= 1000 then return "$" .. html.count(v) end
  return (v < 0.1 and v > 0 and "$%.4f" or "$%.2f"):format(v)
end)

-- "35.10 to 38.20", "" where there is no interval.
function html.interval(low, high)
  low, high = html.finite(low), html.finite(high)
  return low and high and ("%.2f to %.2f"):format(low, high) or ""
end

function html.duration(seconds)
  seconds = math.max(0, html.finite(seconds) or 0)
  local s = math.floor(seconds)
  if s < 60 then return ("%.1f s"):format(seconds) end
  if s < 3600 then return ("%d min %02d s"):format(s // 60, s % 60) end
  return ("%d h %02d min"):format(s // 3600, s // 60 % 60)
end

-- Pages ------------------------------------------------------------------------
--
-- Sections put together into one HTML file that needs nothing else: no font, no script, no picture
-- from anywhere. It can be read without JavaScript; the little there is (page.js) sorts tables and,
-- when the page is served, fetches the sections that changed.

html.script = path.own "report/page.js"
html.script_hash = "OVMwo22sh4NpNs+cFxNoA3juI/69C4Nl6b/eg6Ky0jg="      -- its SHA-256

-- What the page may do: nothing but its own style and that one script; a served
-- page may also ask its own server.
function html.policy(live) return html.said("csp", { live = live }) end

-- What is in a section's element.
function html.inside(s) return words("h2", s.title) .. s.html end

-- Where the figures of a section come from (origins.in); "" where nothing says so.
local function origin(section, m)
  if not template.piece("report/origins." .. section) then return "" end
  local lines = lists.groups(html.lines("origins." .. section, m), function(line)
    return line:find "^    " ~= nil
  end)
  local statements = lists.collect(lines[2] or {}, function(line)
    return words("pre", line:sub(5))
  end)
  return tag("div", { class = "origin" }, html.details("Where this comes from",
    html.p(table.concat(lines[1], " ")) .. table.concat(statements)))
end

-- { id, title, html } of each part of a page that has something to show of m, with where that
-- comes from. A part: { id, title, function(m) that gives HTML or nil; origin = the name of its
-- origin, if not the id; needs = the field of m without which there is nothing }.
-- all: of the others too, so that a served page has a place for what comes later; m: nil before
-- there is a run.
function html.sections(parts, m, all)
  return lists.collect(parts, function(part)
    local id, title, make = table.unpack(part)
    local content = m and (not part.needs or m[part.needs]) and make(m)
    content = content and content .. origin(part.origin or id, m)
              or all and html.note "Nothing to show yet."
    return content and { id = id, title = title, html = content }
  end)
end

-- o: title, lead (HTML below it), sections = { { id =, title =, html = } .. }, live =
-- { text =, has = JSON } for a served page.
function html.page(o)
  local links, parts = {}, {}
  for i, s in ipairs(o.sections) do
    links[i] = tag("a", { href = "#" .. s.id }, escape(s.title))
    parts[i] = tag("section", { id = s.id }, html.inside(s)) .. "\n"
  end
  local live, style = o.live, path.own "report/chart.css" .. path.own "report/page.css"
  local status = live and tag("p", { class = "live", id = "live", role = "status",
                                     ["data-has"] = live.has }, escape(live.text))
  return table.concat(html.lines("page.html", lists.with(o, { links = links, parts = parts,
    style = style, status = status,
    foot = html.said("foot", { live = live, version = version }) })), "\n") .. "\n"
end

return html
