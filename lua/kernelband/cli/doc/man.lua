-- cli/doc/man.lua - kernelband.1: man.md, with the line "@verbs" replaced by the verbs' own tables.
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
  if verb.help then
    page.paragraph()
    page.body(verb.help)
  end
end

function man.page()
  local page = roff.page("KERNELBAND", 1)
  for line in path.own("cli/doc/man.md"):gmatch "([^\n]*)\n" do
    if line ~= "@verbs" then page.line(api.line_of(line)) end
    for _, name in ipairs(line == "@verbs" and cli.verbs or {}) do
      add_verb(page, cli.verb(name))
    end
  end
  return page.done()
end

return man
