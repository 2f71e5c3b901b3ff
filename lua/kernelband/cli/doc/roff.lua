-- cli/doc/roff.lua - a manual page of lines as api.lua has them.
local roff = {}

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

-- name: KERNELBAND, of a section of the manual.
function roff.page(name, section, lines)
  local version, fixed = require "kernelband.base.version", false
  local out = { (".TH %s %d \"\" \"kernelband %s\""):format(name, section, version) }
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

return roff
