-- cli/doc/api.lua - the reference manual of the Lua interface: reference.md, with each line
-- "@rules NAME CLASS" replaced by the rules that check what they describe (schema.declare).
--
--   api.markdown()  api.man()    the manual
--   api.lines()                  its lines as { kind, text or fields }, for meta.lua
local facts  = require "kernelband.generator.facts"
local kb     = require "kernelband"
local path   = require "kernelband.base.path"
local roff   = require "kernelband.cli.doc.roff"
local schema = require "kernelband.base.schema"

local api = {}

-- Every module of the public interface, so that all have declared their rules.
local function load_all(face)
  for _, name in ipairs(getmetatable(face).names) do assert(face[name]) end
end

-- What the rules cannot say of a type.
local finer = {
  ["search_options.task"] = "kernelband.task",
  ["search_options.strategies"] = "string|(string|kernelband.strategy)[]",
  ["search_options.policy"] = "string|kernelband.policy",
  ["search_options.generator"] = "kernelband.generator|kernelband.generator[]",
  ["search_options.reward"] = "fun(parent: kernelband.kernel, child?: kernelband.kernel, "
    .. "verdict: string): number",
  ["search_options.on_pull"] = "fun(pull: table)",
  ["sweep_options.spaces"] = "kernelband.task[]",
  ["strategy_table.prompt"] = "string|fun(kernel: kernelband.kernel, profile: table): string",
  ["strategy_table.facts"] = "(kernelband.fact|[kernelband.fact|integer, string])[]",
  ["strategy_table.applies"] = "fun(kernel: kernelband.kernel): boolean",
  ["policy_table.new"] = "fun(params: table, ctx: kernelband.policy_context): "
    .. "kernelband.policy_hooks",
  ["policy_hooks.admit"] = "fun(kernel: kernelband.kernel)",
  ["policy_hooks.choose"] = "fun(pending: integer, list: table[]): kernelband.kernel?, integer?",
  ["policy_hooks.learn"] = "fun(pull: kernelband.pull)",
  ["policy_hooks.prefer"] = "fun(points: table[]): integer?",
  ["policy_hooks.remember"] = "fun(): table[]",
  ["task_table.work"] = "fun(shape: table): { flops: number, bytes: number }",
  ["task_table.reduction"] = "fun(shape: table): number",
  ["task_table.underflow"] = "fun(shape: table): number",
  ["schedule_table.valid"] = "fun(point: table): boolean",
  ["schedule_table.emit"] = "fun(point: table): string",
  ["schedule_table.first_points"] = "fun(device: table): table[]",
}

local types = { list = "any[]" }

local function type_of(rule)
  if rule.one_of then
    local out = {}
    for i, v in ipairs(rule.one_of) do out[i] = ("%q"):format(v) end
    return table.concat(out, "|")
  end
  local names, out = rule.type or rule[2], {}
  for i, name in ipairs(type(names) == "table" and names or { names }) do
    local item = name == "list" and rule.item and rule.item.type
    out[i] = type(item) == "string" and (types[item] or item) .. "[]" or types[name] or name
  end
  return table.concat(out, "|")
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
local function add_fields(rules, class, prefix, out)
  for _, rule in ipairs(rules) do
    out[#out + 1] = { kind = "field", name = prefix .. rule[1], note = note_of(rule),
      optional = rule.optional or rule.default ~= nil, rules = rule.rules,
      type = finer[class .. "." .. prefix .. rule[1]] or type_of(rule) }
    if rule.rules then add_fields(rule.rules, class, prefix .. rule[1] .. ".", out) end
  end
end

-- kind: title, section, entry, method (text = the heading), field, rules (text = its class),
-- code, text, blank.
local kinds = { { "^# (.*)", "title" }, { "^## (.*)", "section" }, { "^### (.*)", "entry" },
                { "^#### (.*)", "method" }, { "^    (.*)", "code" } }

local function kind_of(line)
  for _, k in ipairs(kinds) do
    local text = line:match(k[1])
    if text then return { kind = k[2], text = text } end
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
  local out = {}
  for line in path.own("cli/doc/reference.md"):gmatch "([^\n]*)\n" do
    local name, class = line:match "^@rules (%S+) (%S+)$"
    if name then
      local rules = assert(schema.declared[name], name .. " is not declared")
      out[#out + 1] = { kind = "rules", text = class, name = name, open = rules.open }
      add_fields(rules, class, "", out)
    else
      out[#out + 1] = kind_of(line)
    end
  end
  return out
end

api.facts = facts.names

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
  for _, l in ipairs(api.lines()) do
    if l.kind == "section" then page.section(l.text:upper())
    elseif l.kind == "entry" then page.subsection(l.text)
    elseif l.kind == "method" then page.item(l.text, "")
    elseif l.kind == "field" then
      page.item(("%s%s  %s"):format(l.name, l.optional and "?" or "", l.type), l.note)
    elseif l.kind == "code" then page.code(l.text)
    elseif l.kind == "blank" then page.paragraph()
    elseif l.kind == "text" then page.text(l.text) end
  end
  return page.done()
end

return api
