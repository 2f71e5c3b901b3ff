-- cli/doc/meta.lua - the public Lua interface in LuaCATS, for editors, from the same lines as the
-- manual (api.lua). make writes it to build/definitions.lua, where .luarc.json points.
local api = require "kernelband.cli.doc.api"

local meta = {}

local head = [[
---@meta kernelband
-- The public Lua interface, for editors (LuaCATS). Written by: kernelband doc meta
-- luacheck: ignore

---What a strategy may have told of a kernel.
---@alias kernelband.fact "%s"
]]

local globals = [[
---@class kernelband
local kb = { generator = {}, import = {}, reward = {}, compare = {}, metrics = {} }

---@class kernelband.core
local core = { stats = {} }
kb.core = core
]]

-- The description that follows line i: up to the first line of another kind.
local function text_after(lines, i)
  local out = {}
  while lines[i + 1] and lines[i + 1].kind == "text" do
    i = i + 1
    out[#out + 1] = lines[i].text
  end
  return "---" .. table.concat(out, " ")
end

-- Adds the function of line i, "kb.policy(file: string, params?: table): T".
local function add_function(lines, i, out)
  local name, list, result = lines[i].text:match "^([%w_.:]+)(%b())(.*)$"
  if not name then return end
  local class, names = name:match "^core%.(%l+)$", {}
  if class then
    out[#out + 1] = ("---@class kernelband.%s\nlocal %s = {}\n"):format(class, class)
  end
  out[#out + 1] = text_after(lines, i)
  list = list:sub(2, -2)
  for from, parameter in api.flat(list):gmatch "()([^,]+)" do   -- commas outside brackets part them
    local p, of = list:sub(from, from + #parameter - 1):match "^%s*([%w_]+%??): (.*)$"
    out[#out + 1] = ("---@param %s %s"):format(p, of)
    names[#names + 1] = p:match "^[%w_]+"
  end
  if result ~= "" then out[#out + 1] = "---@return " .. result:sub(3) end
  out[#out + 1] = ("function %s(%s) end\n"):format(name, table.concat(names, ", "))
end

-- Adds the class of the fields from line first on; the fields of a field are those whose names
-- begin with prefix, and a class after it.
local function add_class(lines, first, class, exact, out, prefix)
  local inner, n = {}, first
  out[#out + 1] = ("---@class %skernelband.%s"):format(exact and "(exact) " or "", class)
  while lines[n] and lines[n].kind == "field" do
    local f = lines[n]
    local at, name = f.name:match "^(.-)([%w_]+)$"
    if at == prefix then
      local of = f.type
      if lines[n + 1].name and lines[n + 1].name:find(f.name .. ".", 1, true) == 1 then
        inner[#inner + 1] = name
        of = of:gsub("%f[%w]table%f[%W]", ("kernelband.%s_%s"):format(class, name))
      end
      out[#out + 1] = ("---@field %s%s %s %s"):format(name, f.optional and "?" or "", of, f.note)
    end
    n = n + 1
  end
  out[#out + 1] = ""
  for _, name in ipairs(inner) do
    add_class(lines, first, class .. "_" .. name, exact, out, prefix .. name .. ".")
  end
end

local function first_field(lines, i)
  repeat i = i + 1 until not lines[i] or lines[i].kind ~= "text" and lines[i].kind ~= "blank"
  return lines[i] and lines[i].kind == "field" and i
end

-- Classes first, then functions; what is an object of core is a local with methods.
function meta.text()
  local lines = api.lines()
  local out = { head:format(table.concat(api.facts, '"|"')) }
  for i, l in ipairs(lines) do
    local class = l.kind == "entry" and l.text:match "^kernelband%.([%w_]+)$"
    local first = class and first_field(lines, i)
    if l.kind == "rules" then
      add_class(lines, i + 1, l.note, true, out, "")
    elseif first then
      out[#out + 1] = text_after(lines, i)
      add_class(lines, first, class, false, out, "")
    end
  end
  out[#out + 1] = globals
  for i, l in ipairs(lines) do
    if l.kind == "entry" or l.kind == "method" then add_function(lines, i, out) end
    if l.text == "kb.version: string" then out[#out + 1] = '---@type string\nkb.version = ""\n' end
  end
  out[#out + 1] = "return kb"
  return table.concat(out, "\n") .. "\n"
end

return meta
