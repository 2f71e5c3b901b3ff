-- report/page.lua - sections put together into one HTML file that needs nothing else: no font,
-- no script, no picture from anywhere. It can be read without JavaScript; the little there is
-- (page.js) sorts tables and, when the page is served, fetches the sections that changed.
local chart = require "kernelband.report.chart"
local html = require "kernelband.report.html"
local path = require "kernelband.base.path"
local version = require "kernelband.base.version"

local page = {}

local escape, tag = html.escape, html.tag

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
function page.inside(s) return tag("h2", nil, escape(s.title)) .. s.html end

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
  return table.concat {
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
    ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(page.policy(o.live)),
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
    tag("title", nil, escape(o.title)), '<link rel="icon" href="data:,">',
    "<style>", chart.css, path.own "report/page.css", "</style></head>\n<body>",
    tag("header", nil, tag("h1", nil, escape(o.title)) .. (o.lead or "") .. (live or "")
        .. tag("nav", nil, table.concat(links))),
    "\n", tag("main", nil, table.concat(sections)),
    tag("footer", nil, escape(o.foot or "Made by kernelband " .. version
        .. ". This file needs no network and no JavaScript.")),
    "\n<script>", page.script, "</script></body></html>\n" }
end

return page
