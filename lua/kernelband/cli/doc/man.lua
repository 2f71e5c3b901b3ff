-- cli/doc/man.lua - kernelband.1: man.md, with usage and options of each verb from its table.
local api     = require "kernelband.cli.doc.api"
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local roff    = require "kernelband.cli.doc.roff"

local man = {}

function man.page()
  local lines = {}
  local function add(line) lines[#lines + 1] = api.line_of(line) end
  for line in path.own("cli/doc/man.md"):gmatch "([^\n]*)\n" do
    local name = line:match "^### (.*)"
    local verb = name and cli.verb(name)
    add(verb and "### " .. verb.usage:gsub("\n%s+", " ") or line)
    if verb then
      add(verb.summary:gsub("^%l", string.upper) .. ".")
      for _, o in ipairs(verb.options) do add(("- `%s`: %s"):format(options.title(o), o.doc)) end
      add ""
    end
  end
  return roff.page("KERNELBAND", 1, lines)
end

return man
