-- cli/doc/api.lua - the reference manual of the Lua interface: reference.md, with each line
-- "@rules NAME CLASS" replaced by the rules that check what they describe (schema.declare). Lines
-- "@type FIELD TYPE" before it say of a type what rules cannot.
--
--   api.markdown()               the manual
--   api.lines()                  its lines, as line_of has them, for man.lua and meta.lua
--   api.line_of(text)            a line of such a file: { kind, line = as it is, text or fields }
--   api.flat(text)               the text with "~" for what brackets enclose, as long as before
local kb      = require "kernelband"
local collect = require("kernelband.base.lists").collect
local path    = require "kernelband.base.path"
local schema  = require "kernelband.base.schema"

local api = {}

local function type_of(rule)
  if rule.one_of then
    return table.concat(collect(rule.one_of, function(v) return ("%q"):format(v) end), "|")
  end
  local item = rule.item and rule.item.type
  local of = type(item) == "string" and (item == "list" and "any[]" or item) or "any"
  return table.concat(collect(schema.type_names(rule), function(name)
    return name == "list" and of .. "[]" or name
  end), "|")
end

-- "pulls; default 60; 1 to 1024".
local function note_of(rule)
  local out, default, least, most = { rule.doc }, rule.default, rule.at_least, rule.at_most
  if default ~= nil and type(default) ~= "table" and type(default) ~= "function" then
    out[#out + 1] = "default " .. schema.show(default)
  end
  if least or most then
    out[#out + 1] = least and most and ("%s to %s"):format(least, most)
                    or least and "at least " .. least or "at most " .. most
  end
  return table.concat(out, "; ")
end

-- kind: title, section, entry, method (text = the heading), item (text = its word), field, rules
-- (text = their name, note = their class), code, text, blank.
local kinds = { { "^# (.*)", "title" }, { "^## (.*)", "section" }, { "^### (.*)", "entry" },
                { "^#### (.*)", "method" }, { "^    (.*)", "code" }, { "^%- `(.-)`: (.*)", "item" },
                { "^@rules (%S+) (%S+)", "rules" }, { "^$", "blank" } }

local function filler(s) return ("~"):rep(#s) end

function api.flat(text)
  return (text:gsub("%b{}", filler):gsub("%b()", filler):gsub("%b<>", filler))
end

function api.line_of(line)
  for _, k in ipairs(kinds) do
    local text, note = line:match(k[1])
    if text then return { kind = k[2], text = text, note = note, line = line } end
  end
  local name, maybe, rest = line:match "^%- `([%w_.]+)(%??)` (.*)$"
  if not name then return { kind = "text", text = line, line = line } end
  -- The note is behind the first ": " outside brackets, or the one behind a function's result.
  local flat = api.flat(rest)
  local at = flat:find(": ", flat:match "fun~+: ()[^:]+: " or 1, true)
  return { kind = "field", name = name, optional = maybe ~= "", type = rest:sub(1, at - 1),
           note = rest:sub(at + 2), line = line }
end

-- The lines of reference.md, each "@rules" followed by the fields of those rules; nested ones are
-- named a.b.
function api.lines()
  for _, face in ipairs { kb, kb.generator, kb.import } do      -- so that all declare their rules
    for _, name in ipairs(getmetatable(face).names) do assert(face[name]) end
  end
  local out, finer = {}, {}
  local function add_fields(rules, prefix)
    for _, rule in ipairs(rules) do
      local name, optional = prefix .. rule[1], rule.optional or rule.default ~= nil
      local of, note = finer[name] or type_of(rule), note_of(rule)
      out[#out + 1] = { kind = "field", name = name, optional = optional, type = of, note = note,
                        line = ("- `%s%s` %s: %s"):format(name, optional and "?" or "", of, note) }
      if rule.rules then add_fields(rule.rules, name .. ".") end
    end
  end
  for line in path.own("cli/doc/reference.md"):gmatch "([^\n]*)\n" do
    local field, of = line:match "^@type (%S+) (.*)$"
    if field then finer[field] = of else out[#out + 1] = api.line_of(line) end
    if out[#out].kind == "rules" then
      add_fields(assert(schema.declared[out[#out].text], line), "")
      finer = {}
    end
  end
  return out
end

function api.markdown()
  return table.concat(collect(api.lines(), function(l)
    return l.kind ~= "rules" and l.line
  end), "\n") .. "\n"
end

return api
