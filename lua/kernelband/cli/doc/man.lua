-- cli/doc/man.lua - the manual pages: kernelband.1, of man.md with usage and options of each verb
-- from its table, and kernelband-api.7, of the lines of api.lua.
local api     = require "kernelband.cli.doc.api"
local cli     = require "kernelband.cli"
local lists   = require "kernelband.base.lists"
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

-- A verb of man.md: its usage, its sentence, its options.
local function verb(name, sentence)
  local v = cli.verb(name)
  local choices = lists.collect(v.options, function(o)
    return ("- `%s`: %s\n"):format(options.title(o), o.doc)
  end)
  return "### " .. v.usage:gsub("\n%s+", " ") .. "\n" .. sentence .. table.concat(choices) .. "\n"
end

function man.page()
  local text = path.own("cli/doc/man.md"):gsub("### (%S+)\n([^\n]*\n)", verb)
  return page("kernelband", 1, "makes a compute kernel faster",
              lists.collect(lists.words(text, "([^\n]*)\n"), api.line_of))
end

function man.api()
  return page("kernelband-api", 7, "the Lua interface of kernelband", api.lines())
end

return man
