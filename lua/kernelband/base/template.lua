-- base/template.lua - texts with holes, in files *.in of the engine's own: what a model is asked,
-- what a schedule writes. A file has pieces, each below a line "@@ NAME".
--
--   template.piece("emit/cuda.across")           the piece "across" of emit/cuda.in, as it stands
--   template.fill("emit/cuda.across", values)    ... filled in; with put, put(line) gets its lines
--
-- In a piece ${x} is x of the values, or an expression of them. A line that begins with % is Lua,
-- around the lines after it: % for i = 1, n do .. % end. It sees the values and the names in
-- `library`; no global of a script's stands in for a value that is not there.
local own  = require("kernelband.base.path").own
local with = require("kernelband.base.lists").with

local template = {}

local library = { ipairs = ipairs, math = math, table = table, tonumber = tonumber,
                  tostring = tostring, type = type }

local pieces, compiled = {}, {}

function template.piece(name)
  local file = name:match "^[^.]+"
  if not pieces[name] then
    local marked = ("\n" .. own(file .. ".in")):gsub("\n@@ ", "\n\0")
    for piece, text in marked:gmatch "%z(%S+)\n([^%z]*)" do
      pieces[file .. "." .. piece] = text
    end
  end
  return pieces[name]
end

local function hole(v, name)
  if v == nil then error(("no value for ${%s}"):format(name), 3) end
  return tostring(v)
end

-- A line as Lua that puts it.
local function statement(line, stop)
  local filled = line:gsub("%${(.-)}", "]==] .. hole(%1, [==[%1]==]) .. [==[")
  return (line:match "^%s*%%(.*)" or "put([==[" .. filled .. "]==])") .. stop
end

function template.fill(name, values, put)
  if not compiled[name] then
    local lua = template.piece(name):gsub("([^\n]*)(\n)", statement)
    compiled[name] = assert(load("local _ENV, put, hole = ...\n" .. lua, "=" .. name, "t"))
  end
  local out = {}
  compiled[name](with(library, values), put or function(line) out[#out + 1] = line end, hole)
  return table.concat(out, "\n")
end

return template
