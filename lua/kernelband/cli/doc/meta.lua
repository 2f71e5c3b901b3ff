-- cli/doc/meta.lua - the public Lua interface in LuaCATS, for editors, from the same lines as the
-- manual (api.lua). make writes it to build/definitions.lua, where .luarc.json points.
local api      = require "kernelband.cli.doc.api"
local collect  = require("kernelband.base.lists").collect
local facts    = require("kernelband.policy.strategy").facts
local template = require "kernelband.base.template"

local meta = {}

-- The description that follows line i: up to the first line of another kind.
local function text_after(lines, i)
  local out = {}
  while lines[i + 1] and lines[i + 1].kind == "text" do
    i = i + 1
    out[#out + 1] = lines[i].text
  end
  return "---" .. table.concat(out, " ")
end

-- The function of line i, "kb.policy(file: string, params?: table): T". What is an object of core
-- is a local with methods.
local function add_function(out, lines, i)
  local name, list, result = lines[i].text:match "^([%w_.:]+)(%b())(.*)$"
  if not name then return end
  local class, names, block = name:match "^core%.(%l+)$", {}, { text_after(lines, i) }
  if class then
    out[#out + 1] = { ("---@class kernelband.%s\nlocal %s = {}"):format(class, class) }
  end
  list = list:sub(2, -2)
  for from, parameter in api.flat(list):gmatch "()([^,]+)" do   -- commas outside brackets part them
    local p, of = list:sub(from, from + #parameter - 1):match "^%s*([%w_]+%??): (.*)$"
    block[#block + 1] = ("---@param %s %s"):format(p, of)
    names[#names + 1] = p:match "^[%w_]+"
  end
  if result ~= "" then block[#block + 1] = "---@return " .. result:sub(3) end
  block[#block + 1] = ("function %s(%s) end"):format(name, table.concat(names, ", "))
  out[#out + 1] = block
end

-- The field of line i, which stands in the block of its class; the fields of a field, named a.b,
-- have one of their own.
local function add_field(out, lines, i, class)
  local f, after = lines[i], lines[i + 1]
  local at, name = f.name:match "^(.-)%.?([%w_]+)$"
  local own, of = at == "" and class.name or class.name .. "_" .. at:gsub("%.", "_"), f.type
  local block = class.blocks[own]
  if not block then
    block = { class.head .. "kernelband." .. own }
    class.blocks[own], out[#out + 1] = block, block
  end
  if after.name and after.name:find(f.name .. ".", 1, true) == 1 then
    of = of:gsub("%f[%w]table%f[%W]", ("kernelband.%s_%s"):format(own, name))
  end
  block[#block + 1] = ("---@field %s%s %s %s"):format(name, f.optional and "?" or "", of, f.note)
end

-- A block of lines each class and each function.
function meta.text()
  local head = template.fill("cli/doc/meta.head", { facts = table.concat(facts, '"|"') })
  local lines, out, class = api.lines(), { { head } }, nil
  for i, l in ipairs(lines) do
    local record = l.kind == "entry" and l.text:match "^kernelband%.([%w_]+)$"
    if record then
      class = { name = record, blocks = {}, head = text_after(lines, i) .. "\n---@class " }
    elseif l.kind == "rules" then
      class = { name = l.note, blocks = {}, head = "---@class (exact) " }
    elseif l.kind == "field" then
      add_field(out, lines, i, class)
    elseif l.kind == "entry" or l.kind == "method" then
      add_function(out, lines, i)
    end
  end
  out[#out + 1] = { "return kb" }
  return table.concat(collect(out, function(block)
    return table.concat(block, "\n") .. "\n"
  end), "\n")
end

return meta
