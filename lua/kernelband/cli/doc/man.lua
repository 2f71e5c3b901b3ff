-- cli/doc/man.lua - the manual pages: kernelband.1, of man.md with usage and options of each verb
-- from its table, and kernelband-api.7, of the lines of api.lua.
local api     = require "kernelband.cli.doc.api"
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local version = require "kernelband.base.version"

local man = {}

-- Text as roff takes it: no line of it is a request, no dash a hyphen.
local function plain(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local function item(word, note)
  return ".TP\n.B " .. plain(word) .. (note and note ~= "" and "\n" .. plain(note) or "")
end

-- How a line of a kind is written; what is set in by two blanks or more stays as it is.
local forms = {
  section = function(l) return ".SH " .. plain(l.text:upper()) end,
  entry = function(l) return ".SS " .. plain(l.text) end,
  item = function(l) return item(l.text, l.note) end,
  method = function(l) return item(l.text) end,
  field = function(l)
    return item(("%s%s  %s"):format(l.name, l.optional and "?" or "", l.type), l.note)
  end,
  code = function(l) return plain(l.text == "" and "" or "    " .. l.text) end,
  text = function(l) return plain(l.text) end,
  blank = function(_, fixed) return fixed and "" or ".PP" end,
}

-- The page of a name in a section of the manual; lines as api.line_of has them.
local function page(name, section, about, lines)
  local fixed = false
  local out = { (".TH %s %d \"\" \"kernelband %s\""):format(name:upper(), section, version),
                ".SH NAME", plain(("%s - %s"):format(name, about)) }
  for _, l in ipairs(lines) do
    if forms[l.kind] then
      local stays = l.kind == "code" or l.kind == "text" and l.text:find "^  " ~= nil
      if l.kind ~= "blank" and stays ~= fixed then
        out[#out + 1], fixed = stays and ".nf" or ".fi", stays
      end
      out[#out + 1] = forms[l.kind](l, fixed)
    end
  end
  if fixed then out[#out + 1] = ".fi" end
  return table.concat(out, "\n") .. "\n"
end

function man.page()
  local lines, verb = {}, nil
  local function add(line) lines[#lines + 1] = api.line_of(line) end
  for line in path.own("cli/doc/man.md"):gmatch "([^\n]*)\n" do
    local name = line:match "^### (.*)"
    add(name and "### " .. cli.verb(name).usage:gsub("\n%s+", " ") or line)
    if verb then                        -- the line was its summary
      for _, o in ipairs(verb.options) do add(("- `%s`: %s"):format(options.title(o), o.doc)) end
      add ""
    end
    verb = name and cli.verb(name)
  end
  return page("kernelband", 1, "makes a compute kernel faster", lines)
end

function man.api()
  return page("kernelband-api", 7, "the Lua interface of kernelband", api.lines())
end

return man
