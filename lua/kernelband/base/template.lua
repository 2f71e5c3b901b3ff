-- base/template.lua - texts with holes, in files *.in of the engine's own: what a model is asked,
-- what a schedule writes. A file has pieces, each below a line "@@ NAME".
--
--   template.piece("emit/cuda.across")           the piece "across" of emit/cuda.in, as it stands
--   template.fill("emit/cuda.across", values)    ... filled in; with put, put(line) gets its lines
--
-- In a piece ${x} is x of the values, or an expression of them; \${ is no hole. A line that begins
-- with % is Lua, around the lines after it: % for i = 1, n do .. % end. It sees the values and the
-- names in `library`; other names are nil. A hole ends at the first }.
local own  = require("kernelband.base.path").own
local with = require("kernelband.base.lists").with

local template = {}

local library = { ipairs = ipairs, math = math, table = table, tonumber = tonumber,
                  tostring = tostring, type = type }

-- The pieces of each file by name: { text, the line above it, the function that fills it in }.
local files = setmetatable({}, { __index = function(all, file)
  local pieces, piece, at = {}, nil, 0
  for line in own(file):gmatch "[^\n]*\n" do
    local name = line:match "^@@ (%S+)"
    at = at + 1
    if name then
      piece = { text = "", at = at }
      pieces[name] = piece
    elseif piece then
      piece.text = piece.text .. line
    end
  end
  all[file] = pieces
  return pieces
end })

-- The piece of that name, and its file.
local function find(name)
  local file, piece = name:match "^([^.]+)%.(.*)$"
  return files[file .. ".in"][piece], file .. ".in"
end

function template.piece(name)
  local piece = find(name)
  return piece and piece.text
end

local function hole(v, name)
  if v == nil then error(("no value for ${%s}"):format(name), 2) end
  return tostring(v)
end

-- Translates a line of a piece to Lua.
local function statement(line, stop)
  local filled = line:gsub("\\%${", "\0"):gsub("%${(.-)}", "]==] .. hole(%1, [==[%1]==]) .. [==[")
                     :gsub("%z", "${")
  return (line:match "^%s*%%(.*)" or "put([==[" .. filled .. "]==])") .. stop
end

function template.fill(name, values, put)
  local piece, file = find(name)
  if not piece.fill then              -- errors name the line of the file
    local lua = piece.text:gsub("([^\n]*)(\n)", statement)
    piece.fill = assert(load("local _ENV, put, hole = ..." .. ("\n"):rep(piece.at) .. lua,
                             "@" .. file, "t"))
  end
  local out = {}
  piece.fill(with(library, values), put or function(line) out[#out + 1] = line end, hole)
  return table.concat(out, "\n")
end

return template
