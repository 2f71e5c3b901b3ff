-- cli/doc/man.lua - kernelband.1: man.md, with usage and options of each verb from its table.
local api     = require "kernelband.cli.doc.api"
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local roff    = require "kernelband.cli.doc.roff"

local man = {}

local function add_verb(page, verb)
  page.subsection((verb.usage:gsub("\n%s+", " ")))
  page.text(verb.summary:sub(1, 1):upper() .. verb.summary:sub(2) .. ".")
  for _, o in ipairs(verb.options or {}) do page.item(options.title(o), o.doc or "") end
  page.paragraph()
  page.body(options.prose(verb[1]))
end

function man.page()
  local page, in_verb = roff.page("KERNELBAND", 1), false
  for line in path.own("cli/doc/man.md"):gmatch "([^\n]*)\n" do
    local l = api.line_of(line)
    if l.kind == "entry" then
      in_verb = true
      add_verb(page, cli.verb(l.text))
    elseif l.kind == "section" or not in_verb then
      in_verb = false
      page.line(l)
    end
  end
  return page.done()
end

return man
