-- The reference manual (kernelband doc api): everything public has its text, and nothing else has.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local api = require "kernelband.cli.doc.api"
local core = require "kernelband.core"
local kb = require "kernelband"
local man = require "kernelband.cli.doc.man"
local meta = require "kernelband.cli.doc.meta"
local schema = require "kernelband.base.schema"
local lists = require "kernelband.base.lists"
local worlds = require "worlds"

local lines = api.lines()               -- and every module has declared its rules

-- Entries by name: the text below each, whether it has an example, the fields it lists.
local entries = {}
do
  local entry
  for _, l in ipairs(lines) do
    if l.kind == "section" then entry = nil end
    if l.kind == "entry" or l.kind == "method" then
      entry = { text = "", example = false, fields = {}, heading = l.text }
      entries[l.text:match "^[%w_.]+:%l+" or l.text:match "^[%w_.]+"] = entry
    elseif entry and l.kind == "text" then entry.text = entry.text .. l.text
    elseif entry and l.kind == "code" then entry.example = true
    elseif entry and l.kind == "field" then entry.fields[l.name] = l end
  end
end

local public = {}                       -- names that must have an entry

local function walk(prefix, names, of)
  for _, name in ipairs(names) do
    local value = of[name]
    if type(value) == "table" and getmetatable(value) and getmetatable(value).names then
      walk(prefix .. name .. ".", getmetatable(value).names, value)
    elseif type(value) == "table" and name ~= "core" then
      for _, inner in ipairs(lists.keys(value)) do
        if type(value[inner]) == "function" then public[prefix .. name .. "." .. inner] = true end
      end
    else
      public[prefix .. name] = true
    end
  end
end
walk("kb.", getmetatable(kb).names, kb)
walk("kb.generator.", getmetatable(kb.generator).names, kb.generator)
walk("kb.import.", getmetatable(kb.import).names, kb.import)
public["kb.version"] = true

-- What policies compute with, and what its objects can do.
local made = { ucb = core.ucb(2), cluster = core.cluster(2, 2), logit = core.logit(2),
               gp = core.gp { 1 }, rng = core.rng(1) }
for name, object in pairs(made) do
  public["core." .. name] = true
  for method in pairs(debug.getmetatable(object).__index) do
    public[name .. ":" .. method] = true
  end
end
for name in pairs(core.stats) do public["core.stats." .. name] = true end

t.test("every public function has its text, and functions an example", function()
  for _, name in ipairs(lists.keys(public)) do
    local entry = entries[name] or error(name .. " has no entry in reference.md", 0)
    assert(#entry.text > 10, name .. " has no text")
    assert(entry.example or name:find ":" or name == "kb.version" or name == "kb.core",
           name .. " has no example")
  end
end)

t.test("no entry describes a name that is not public", function()
  for _, name in ipairs(lists.keys(entries)) do
    assert(public[name] or name:find "^kernelband%.", name .. " is not public any more")
  end
end)

t.test("every rule set of the interface is printed, and each of its fields has a text", function()
  local printed = {}
  for _, l in ipairs(lines) do if l.kind == "rules" then printed[l.text] = true end end
  local function fields(name, rules)
    for _, rule in ipairs(rules) do
      local at = name .. ": " .. rule[1]
      assert(type(rule.doc) == "string" and #rule.doc > 3, at .. " has no doc =")
      if rule.rules then fields(at, rule.rules) end
    end
  end
  for _, name in ipairs(lists.keys(schema.declared)) do
    assert(printed[name], name .. " is declared and not printed")
    fields(name, schema.declared[name])
  end
  assert(printed["kb.search"] and printed["policy_hooks"] and printed["task.lua"])
end)

t.test("types, defaults and bounds are those of the rules", function()
  local manual = api.markdown()
  for _, line in ipairs {
    "- `parallel?` integer: pulls under way at once; default 1; 1 to 1024",
    "- `budget.minutes?` number: wall-clock time, in minutes; at least 0",
    '- `target` "sm"|"dram"|"l2": the resource it relieves: \'sm\', \'dram\' or \'l2\'',
  } do t.contains(manual, line .. "\n") end
end)

-- Tables that the engine hands out: the keys that each has are the fields that are told.
t.test("kernels, pulls, contexts and results have the fields that the manual lists", function()
  local file = worlds.file [[
    local function keys(t)
      local out = {}
      for name in pairs(t) do out[#out + 1] = name end
      return table.concat(out, " ")
    end
    return { name = "keys", defaults = {}, new = function(_, ctx)
      ctx.log("policy_context", keys(ctx))
      ctx.log("strategy", keys(ctx.strategies[1]))
      local pool = {}
      return { admit = function(k) pool[#pool + 1] = k ctx.log("kernel", keys(k)) end,
               choose = function(n) return pool[1], 1 + n % 2 end,
               learn = function(p) ctx.log("pull", keys(p)) end }
    end }]]
  local dir = worlds.folder()
  local result = kb.search { task = kb.synthetic { fail = 0 }, policy = file, quiet = true,
                             budget = { steps = 4 }, out = dir }
  local function check(class, names)
    for name in names:gmatch "%S+" do
      assert(entries["kernelband." .. class].fields[name], class .. "." .. name .. " has no text")
    end
  end
  check("result", table.concat(lists.keys(result), " "))
  local db <close> = assert(core.store(dir .. "/run.db", "read"))
  local seen = {}
  for _, row in ipairs(assert(db:rows "SELECT text FROM events WHERE kind = 'policy'")) do
    local class, names = row.text:match "(%S+)\t(.*)"
    seen[class] = true
    check(class, names)
  end
  t.equal(lists.keys(seen), { "kernel", "policy_context", "pull", "strategy" })
end)

t.test("the manual is Markdown, a manual page, and definitions that Lua reads", function()
  local file = worlds.file("%s", man.api())
  if os.execute "command -v man >/dev/null" then
    local command = "MANROFFOPT=-ww man --warnings -l %s 2>&1 >/dev/null"
    local pipe = assert(io.popen(command:format(file)))
    t.equal(pipe:read "a", "")
    pipe:close()
  end
  local definitions = meta.text()
  assert(load(definitions))
  t.contains(definitions, "---@param params? table<string, any>\n---@return kernelband.policy\n"
                          .. "function kb.policy(file, params) end\n")
  t.contains(definitions, "---@class (exact) kernelband.search_options_budget\n")
  t.contains(definitions, "function ucb:select(arms, bias, pending, total) end\n")
end)

t.test("what changed names every old name that is accepted", function()
  local changes = require("kernelband.cli.doc.changes").markdown()
  t.contains(changes, "KernelBand " .. kb.version)
  t.contains(changes, "- `most` of policies/softmax.lua: the latest 200 kernels are parents\n")
  t.contains(changes, "- `kernelband.json` is `kernelband.base.json`\n")
end)

worlds.clean()
t.finish()
