-- cli/doc/man.lua - kernelband.1: man.md, with usage and options of each verb from its table.
local api     = require "kernelband.cli.doc.api"
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local roff    = require "kernelband.cli.doc.roff"

local man = {}

function man.page()
  local lines = {}
  local function add(kind, text, note)
    lines[#lines + 1] = { kind = kind, text = text, note = note }
  end
  for line in path.own("cli/doc/man.md"):gmatch "([^\n]*)\n" do
    local l = api.line_of(line)
    if l.kind == "entry" then
      local verb = cli.verb(l.text)
      add("entry", (verb.usage:gsub("\n%s+", " ")))
      add("text", verb.summary:gsub("^%l", string.upper) .. ".")
      for _, o in ipairs(verb.options) do add("item", options.title(o), o.doc) end
      add "blank"
    else
      lines[#lines + 1] = l
    end
  end
  return roff.page("KERNELBAND", 1, lines)
end

return man
