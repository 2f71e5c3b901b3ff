-- cli/doc/roff.lua - a manual page, written piece by piece.
local version = require "kernelband.base.version"

local roff = {}

-- Text as roff takes it: no line of it is a request, no dash a hyphen.
local function plain(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

-- name: KERNELBAND, of a section of the manual.
function roff.page(name, section)
  local page, fixed = {}, false
  local out = { (".TH %s %d \"\" \"kernelband %s\""):format(name, section, version) }
  local function add(line) out[#out + 1] = line end
  local function set_in(yes)
    if yes ~= fixed then add(yes and ".nf" or ".fi") end
    fixed = yes
  end

  function page.section(title) set_in(false) add(".SH " .. plain(title)) end
  function page.subsection(title) set_in(false) add(".SS " .. plain(title)) end
  function page.item(word, text)
    set_in(false)
    add(".TP\n.B " .. plain(word))
    if text ~= "" then add(plain(text)) end
  end
  function page.paragraph() if not fixed then add ".PP" else add "" end end
  function page.text(text) set_in(false) add(plain(text)) end
  function page.code(line) set_in(true) add(line == "" and "" or "    " .. plain(line)) end

  -- Paragraphs; lines that are set in by two spaces stay as they are.
  function page.body(text)
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
      set_in(line:find "^  " ~= nil)
      add(line == "" and ".PP" or plain(line))
    end
    set_in(false)
  end

  -- A line of a file of this folder (api.lua).
  function page.line(l)
    if l.kind == "section" then page.section(l.text:upper())
    elseif l.kind == "entry" then page.subsection(l.text)
    elseif l.kind == "method" then page.item(l.text, "")
    elseif l.kind == "item" then page.item(l.text, l.note)
    elseif l.kind == "field" then
      page.item(("%s%s  %s"):format(l.name, l.optional and "?" or "", l.type), l.note)
    elseif l.kind == "code" then page.code(l.text)
    elseif l.kind == "blank" then page.paragraph()
    elseif l.kind == "text" then page.text(l.text) end
  end

  function page.done()
    set_in(false)
    return table.concat(out, "\n") .. "\n"
  end
  return page
end

return roff
