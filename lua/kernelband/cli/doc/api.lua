-- cli/doc/api.lua - the reference manual of the Lua interface: reference.md, with each line
-- "@rules NAME CLASS" replaced by the rules that check what they describe (schema.declare). Lines
-- "@type FIELD TYPE" before it say of a type what rules cannot.
--
--   api.markdown()  api.man()    the manual
--   api.lines()                  its lines as { kind, text or fields }, for meta.lua
--   api.line_of(text)            a line of such a file as { kind, .. }
local kb     = require "kernelband"
local collect = require("kernelband.base.lists").collect
local path   = require "kernelband.base.path"
local roff   = require "kernelband.cli.doc.roff"
local schema = require "kernelband.base.schema"
local strategy = require "kernelband.policy.strategy"

local api = {}

-- Every module of the public interface, so that all have declared their rules.
local function load_all(face)
  for _, name in ipairs(getmetatable(face).names) do assert(face[name]) end
end

local types = { list = "any[]" }

local function type_of(rule)
  if rule.one_of then
    return table.concat(collect(rule.one_of, function(v) return ("%q"):format(v) end), "|")
  end
  local names = rule.type or rule[2]
  return table.concat(collect(type(names) == "table" and names or { names }, function(name)
    local item = name == "list" and rule.item and rule.item.type
    return type(item) == "string" and (types[item] or item) .. "[]" or types[name] or name
  end), "|")
end

-- "pulls; default 60; 1 to 1024".
local function note_of(rule)
  local out, default = { rule.doc }, rule.default
  if type(default) == "string" or type(default) == "number" or type(default) == "boolean" then
    out[#out + 1] = "default " .. schema.show(default)
  end
  if rule.at_least and rule.at_most then
    out[#out + 1] = ("%s to %s"):format(rule.at_least, rule.at_most)
  elseif rule.at_least then
    out[#out + 1] = "at least " .. rule.at_least
  elseif rule.at_most then
    out[#out + 1] = "at most " .. rule.at_most
  end
  return table.concat(out, "; ")
end

-- The rules as fields { name, optional =, type =, note = }; nested ones are named a.b.
local function add_fields(rules, finer, prefix, out)
  for _, rule in ipairs(rules) do
    out[#out + 1] = { kind = "field", name = prefix .. rule[1], note = note_of(rule),
      optional = rule.optional or rule.default ~= nil, rules = rule.rules,
      type = finer[prefix .. rule[1]] or type_of(rule) }
    if rule.rules then add_fields(rule.rules, finer, prefix .. rule[1] .. ".", out) end
  end
end

-- kind: title, section, entry, method (text = the heading), item (text = its word), field, rules
-- (text = its class), code, text, blank.
local kinds = { { "^# (.*)", "title" }, { "^## (.*)", "section" }, { "^### (.*)", "entry" },
                { "^#### (.*)", "method" }, { "^    (.*)", "code" },
                { "^%- `(.-)`: (.*)", "item" } }

function api.line_of(line)
  for _, k in ipairs(kinds) do
    local text, note = line:match(k[1])
    if text then return { kind = k[2], text = text, note = note } end
  end
  local name, maybe, rest = line:match "^%- `([%w_.]+)(%??)` (.*)$"
  if name then
    local of, note = rest:match "^(.*%S): (.-)$"
    -- The note begins at the last ": " that no bracket of the type encloses.
    for at in rest:gmatch "(): " do
      local head = rest:sub(1, at - 1)
      local open = select(2, head:gsub("[({]", "")) - select(2, head:gsub("[)}]", ""))
      if open == 0 and not head:find "fun%b()$" then
        of, note = head, rest:sub(at + 2)
        break
      end
    end
    return { kind = "field", name = name, optional = maybe ~= "", type = of, note = note }
  end
  return { kind = line == "" and "blank" or "text", text = line }
end

function api.lines()
  load_all(kb)
  load_all(kb.generator)
  load_all(kb.import)
  local out, finer = {}, {}
  for line in path.own("cli/doc/reference.md"):gmatch "([^\n]*)\n" do
    local name, class = line:match "^@rules (%S+) (%S+)$"
    local field, of = line:match "^@type (%S+) (.*)$"
    if field then
      finer[field] = of
    elseif name then
      local rules = assert(schema.declared[name], name .. " is not declared")
      out[#out + 1] = { kind = "rules", text = class, name = name, open = rules.open }
      add_fields(rules, finer, "", out)
      finer = {}
    else
      out[#out + 1] = api.line_of(line)
    end
  end
  return out
end

api.facts = strategy.facts

function api.markdown()
  local marks = { title = "# ", section = "## ", entry = "### ", method = "#### ", code = "    " }
  local out = {}
  for _, l in ipairs(api.lines()) do
    if l.kind == "field" then
      out[#out + 1] = ("- `%s%s` %s: %s"):format(l.name, l.optional and "?" or "", l.type, l.note)
    elseif l.kind ~= "rules" then
      out[#out + 1] = (marks[l.kind] or "") .. l.text
    end
  end
  return table.concat(out, "\n") .. "\n"
end

function api.man()
  local page = roff.page("KERNELBAND-API", 7)
  page.section "NAME"
  page.text "kernelband-api - the Lua interface of kernelband"
  for _, l in ipairs(api.lines()) do page.line(l) end
  return page.done()
end

return api
