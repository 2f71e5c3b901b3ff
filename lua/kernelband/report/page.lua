-- report/page.lua - sections put together into one HTML file that needs nothing else: no font,
-- no script, no picture from anywhere. It can be read without JavaScript; the little there is
-- (page.js) sorts tables and, when the page is served, fetches the sections that changed.
local chart = require "kernelband.report.chart"
local collect = require("kernelband.base.lists").collect
local html = require "kernelband.report.html"
local path = require "kernelband.base.path"
local version = require "kernelband.base.version"

local page = {}

local escape, tag, words = html.escape, html.tag, html.words

page.script = path.own "report/page.js"
page.script_hash = "OVMwo22sh4NpNs+cFxNoA3juI/69C4Nl6b/eg6Ky0jg="      -- its SHA-256

-- What the page may do: nothing but its own style and that one script; a served
-- page may also ask its own server.
function page.policy(live)
  return ("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; "
    .. "img-src data:; base-uri 'none'; form-action 'none'%s"):format(page.script_hash,
    live and "; connect-src 'self'" or "")
end

-- What is in a section's element.
function page.inside(s) return words("h2", s.title) .. s.html end

-- { id, title, html } of each part of a page that has something to show of m, with where that
-- comes from. A part: { id, title, function(m) that gives HTML and values for its origin, or nil;
-- origin = its name, if not the id; needs = the field of m without which there is nothing }.
-- all: of the others too, so that a served page has a place for what comes later; m: nil before
-- there is a run.
function page.sections(parts, m, all)
  return collect(parts, function(part)
    local id, title, make = table.unpack(part)
    local text, values
    if m and (not part.needs or m[part.needs]) then text, values = make(m) end
    text = text and text .. html.origin(part.origin or id, values)
           or all and html.note "Nothing to show yet."
    return text and { id = id, title = title, html = text }
  end)
end

-- o: title, lead (HTML below it), sections = { { id =, title =, html = } .. }, live =
-- { text =, has = JSON } for a served page, foot = text in place of the usual.
function page.html(o)
  local links, sections = {}, {}
  for i, s in ipairs(o.sections) do
    links[i] = tag("a", { href = "#" .. s.id }, escape(s.title))
    sections[i] = tag("section", { id = s.id }, page.inside(s)) .. "\n"
  end
  local live = o.live and tag("p", { class = "live", id = "live", role = "status",
                                     ["data-has"] = o.live.has }, escape(o.live.text))
  return path.own("report/page.html.in", { POLICY = page.policy(o.live), TITLE = escape(o.title),
    CHARTSTYLE = chart.css, STYLE = path.own "report/page.css", SCRIPT = page.script,
    LEAD = (o.lead or "") .. (live or ""), LINKS = table.concat(links),
    SECTIONS = table.concat(sections), FOOT = escape(o.foot or "Made by kernelband " .. version
      .. ". This file needs no network and no JavaScript.") })
end

return page
