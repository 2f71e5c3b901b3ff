-- cli/doc/meta.lua - the public Lua interface in LuaCATS, for editors, from the same lines as the
-- manual (api.lua). make writes it to build/definitions.lua, where .luarc.json points.
local api = require "kernelband.cli.doc.api"

local meta = {}

-- "kb.policy(file: string, params?: table): T" -> name, its parameters, "T"; nil for no function.
local function signature(text)
  local name, list, result = text:match "^([%w_.:]+)(%b())(.*)$"
  if not name then return nil end
  local params, depth, from = {}, 0, 2
  for at, c in list:gmatch "()([%(%){}<>,])" do         -- commas at the first level part them
    if c == "," and depth == 1 or c == ")" and depth == 1 then
      local p, maybe, of = list:sub(from, at - 1):match "^%s*([%w_]+)(%??): (.*)$"
      if p then params[#params + 1] = { name = p, optional = maybe, type = of } end
      from = at + 1
    end
    depth = depth + (("({<"):find(c, 1, true) and 1 or (")}>"):find(c, 1, true) and -1 or 0)
  end
  return name, params, result:match "^: (.*)$"
end

-- The description that follows line i: up to the first line of another kind.
local function text_after(lines, i)
  local out = {}
  for n = i + 1, #lines do
    if lines[n].kind ~= "text" then break end
    out[#out + 1] = lines[n].text
  end
  return table.concat(out, " ")
end

local function add_function(lines, i, name, params, result, out)
  local names = {}
  out[#out + 1] = "---" .. text_after(lines, i)
  for n, p in ipairs(params) do
    out[#out + 1] = ("---@param %s%s %s"):format(p.name, p.optional, p.type)
    names[n] = p.name
  end
  if result then out[#out + 1] = "---@return " .. result end
  out[#out + 1] = ("function %s(%s) end\n"):format(name, table.concat(names, ", "))
end

local function add_field(f, class, out)
  out[#out + 1] = ("---@field %s%s %s %s"):format(f.name:match "[%w_]+$", f.optional and "?" or "",
    f.rules and f.type:gsub("%f[%w]table%f[%W]", "kernelband." .. class .. "_" .. f.name) or f.type,
    f.note)
end

-- Class of fields from line i on; fields of fields become classes after it.
local function add_class(lines, i, name, exact, out, prefix)
  prefix = prefix or ""
  local inner = {}
  out[#out + 1] = ("---@class %skernelband.%s"):format(exact and "(exact) " or "",
                   name .. (prefix ~= "" and "_" .. prefix:sub(1, -2):gsub("%.", "_") or ""))
  local n = i
  while lines[n] and lines[n].kind == "field" do
    local f = lines[n]
    local at, last = f.name:match "^(.-)([%w_]+)$"
    if at == prefix then
      add_field(f, name, out)
      if f.rules then inner[#inner + 1] = prefix .. last .. "." end
    end
    n = n + 1
  end
  out[#out + 1] = ""
  for _, more in ipairs(inner) do add_class(lines, i, name, exact, out, more) end
end

local function first_field(lines, i)
  for n = i + 1, #lines do
    if lines[n].kind == "field" then return n end
    if lines[n].kind ~= "text" and lines[n].kind ~= "blank" then return nil end
  end
end

-- Classes first, then functions; what is an object of core is a local with methods.
function meta.text()
  local lines = api.lines()
  local out = { "---@meta kernelband", "-- The public Lua interface, for editors (LuaCATS). "
    .. "Written by: kernelband doc meta", "-- luacheck: ignore", "",
    '---What a strategy may have told of a kernel.\n---@alias kernelband.fact "'
      .. table.concat(api.facts, '"|"') .. '"', "" }
  for i, l in ipairs(lines) do
    local class = l.kind == "entry" and l.text:match "^kernelband%.([%w_]+)$"
    if l.kind == "rules" then
      add_class(lines, i + 1, l.text, not l.open, out)
    elseif class and first_field(lines, i) then
      out[#out + 1] = "---" .. text_after(lines, i)
      add_class(lines, first_field(lines, i), class, false, out)
    end
  end
  out[#out + 1] = "---@class kernelband\nlocal kb = { generator = {}, import = {}, reward = {}, "
                  .. "compare = {}, metrics = {} }\n"
  out[#out + 1] = "---@class kernelband.core\nlocal core = { stats = {} }\nkb.core = core\n"
  for i, l in ipairs(lines) do
    local name, params, result
    if l.kind == "entry" or l.kind == "method" then name, params, result = signature(l.text) end
    local class = name and name:match "^core%.(%l+)$"
    if class then
      out[#out + 1] = ("---@class kernelband.%s\nlocal %s = {}\n"):format(class, class)
    end
    if name then
      add_function(lines, i, name, params, result, out)
    elseif l.kind == "entry" and l.text:find "^kb%.version" then
      out[#out + 1] = '---@type string\nkb.version = ""\n'
    end
  end
  out[#out + 1] = "return kb"
  return table.concat(out, "\n") .. "\n"
end

return meta
