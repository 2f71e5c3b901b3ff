-- meta.lua - lua/kernelband/cli/doc/definitions.lua: the public Lua interface in LuaCATS, for
-- editors. Option tables become classes from the very rules that check them
-- (schema.lua), so that what an editor completes is what kb.search takes.
local meta = {}

-- The local called name that functions of a module, or those they call, hold on to.
local function held(value, name, seen, depth)
  seen = seen or {}
  if seen[value] or (depth or 0) > 6 then return nil end
  seen[value] = true
  if type(value) == "table" then
    local keys = {}
    for k, v in pairs(value) do
      if type(k) == "string" and type(v) == "function" then keys[#keys + 1] = k end
    end
    table.sort(keys)
    for _, k in ipairs(keys) do
      local found = held(value[k], name, seen, (depth or 0) + 1)
      if found then return found end
    end
    return nil
  end
  for i = 1, 60 do
    local known, v = debug.getupvalue(value, i)
    if not known then return nil end
    if known == name and type(v) == "table" then return v end
    if type(v) == "function" then
      local found = held(v, name, seen, (depth or 0) + 1)
      if found then return found end
    end
  end
end
meta.held = held

-- Rule sets: class, module, its local.
local sets = {
  { "search_options", "kernelband.search.setup", "rules" },
  { "task_table", "kernelband.task", "rules" },
  { "strategy_table", "kernelband.policy.strategy", "rules" },
  { "policy_table", "kernelband.policy", "rules" },
  { "synthetic_options", "kernelband.task.synthetic", "rules" },
  { "trace_options", "kernelband.trace", "rules" },
  { "schedule_options", "kernelband.generator.schedule", "rules" },
  { "llm_options", "kernelband.generator.llm", "rules" },
  { "command_options", "kernelband.generator.command", "rules" },
  { "replay_options", "kernelband.generator.replay", "rules" },
}

-- What the rules cannot say of a field: class.field = type.
local finer = {
  ["search_options.task"] = "kernelband.task",
  ["search_options.strategies"] = "string|(string|kernelband.strategy)[]",
  ["search_options.policy"] = "string|kernelband.policy",
  ["search_options.generator"] = "kernelband.generator|kernelband.generator[]",
  ["search_options.reward"] = "fun(parent: kernelband.kernel, child?: kernelband.kernel, "
    .. "verdict: string): number",
  ["search_options.on_pull"] = "fun(pull: table)",
  ["strategy_table.prompt"] = "string|fun(kernel: kernelband.kernel, profile: table): string",
  ["strategy_table.facts"] = "(kernelband.fact|[kernelband.fact|integer, string])[]",
  ["strategy_table.applies"] = "fun(kernel: kernelband.kernel): boolean",
  ["policy_table.new"] = "fun(params: table, ctx: table): table",
  ["task_table.work"] = "fun(shape: table): { flops: number, bytes: number }",
  ["task_table.reduction"] = "fun(shape: table): number",
  ["task_table.underflow"] = "fun(shape: table): number",
}

-- Arguments and result of what kb has; a part not listed here is told as any.
local signatures = {
  task = { { "dir", "string" }, result = "kernelband.task" },
  strategies = { { "set", "string|(string|kernelband.strategy)[]" },
                 result = "kernelband.strategy[]" },
  strategy = { { "file", "string" }, result = "kernelband.strategy" },
  policy = { { "file", "string" }, { "params?", "table<string, any>" },
             result = "kernelband.policy" },
  search = { { "options", "kernelband.search_options" }, result = "kernelband.result" },
  gpus = { result = "integer" },
  synthetic = { { "options?", "kernelband.synthetic_options" }, result = "kernelband.task" },
  trace = { { "file", "string" }, { "options?", "kernelband.trace_options" },
            result = "kernelband.task" },
}

local made = { schedule = true, llm = true, command = true, replay = true }

local fixed = [[
---@class kernelband.task
---@field name string
---@field summary? string

---@class kernelband.strategy
---@field name string
---@field target "sm"|"dram"|"l2"
---@field summary string
---@field path string

---@class kernelband.policy
---@field name string
---@field params table<string, any>

---@class kernelband.generator
---@field name string

---A kernel as policies, strategies and rewards see it.
---@class kernelband.kernel
---@field id integer
---@field parent? integer
---@field strategy? string
---@field depth integer
---@field source string
---@field params? table
---@field time_ns number
---@field speedup number
---@field speedup_low number
---@field speedup_high number
---@field phi number[]
---@field rho number[]
---@field signature number[]
---@field h { sm?: number, dram?: number, l2?: number }
---@field note table a policy's own

---@class kernelband.result
---@field task string
---@field id integer kernel that won; 1 is the baseline
---@field strategy? string
---@field speedup number
---@field speedup_low? number
---@field speedup_high? number
---@field time_ns number
---@field baseline_ns number
---@field shapes table[]
---@field params? table
---@field gain boolean whether anything faster than the baseline was found
---@field confirmed boolean
---@field reason? string why it ended before its budget
---@field pulls integer
---@field verdicts table<string, integer>
---@field arms table<string, integer>
---@field rows table[]
---@field source string
---@field source_path? string
---@field run? string
---@field interrupted boolean
---@field checks? string[] what the winner went through
---@field weakened? string[] what makes its figure worth less
---@field quarantined? string why it was measured twice
---@field share_of_optimum? number
---@field usd? number spent; nil where a price is not known
---@field recorded? { answers: integer, usd: number? } of recorded answers, what they once cost

---What kb.core has for policies: see core/bandit.
---@class kernelband.core
---@field ucb fun(arms: integer, options?: table): table
---@field cluster fun(k: integer, dim: integer, options?: table): table
---@field logit fun(dim: integer, options?: table): table
---@field rng fun(seed: integer): table
---@field stats table
]]

local types = { list = "any[]", userdata = "userdata", any = "any" }

local function type_of(rule, class)
  if rule.one_of then
    local out = {}
    for i, v in ipairs(rule.one_of) do out[i] = ("%q"):format(v) end
    return table.concat(out, "|")
  end
  local names = rule.type or rule[2]
  local out = {}
  for i, name in ipairs(type(names) == "table" and names or { names }) do
    out[i] = name == "table" and rule.rules and class or types[name] or name
    if name == "list" and rule.item and type(rule.item.type) == "string" then
      out[i] = (types[rule.item.type] or rule.item.type) .. "[]"
    end
  end
  return table.concat(out, "|")
end

local function note_of(rule)
  local out = {}
  if rule.doc then out[1] = rule.doc end
  local default = rule.default
  if type(default) == "string" or type(default) == "number" or type(default) == "boolean" then
    out[#out + 1] = "default " .. (type(default) == "string" and ("%q"):format(default)
                                   or tostring(default))
  end
  if rule.at_least or rule.at_most then
    out[#out + 1] = rule.at_most and ("%s to %s"):format(tostring(rule.at_least or ""),
      tostring(rule.at_most)) or "at least " .. tostring(rule.at_least)
  end
  local text = table.concat(out, "; "):gsub("\n", " ")
  return text ~= "" and " " .. text or ""
end

local function class(name, rules, out)
  local inner = {}
  out[#out + 1] = ("---@class %skernelband.%s"):format(rules.open and "" or "(exact) ", name)
  for _, rule in ipairs(rules) do
    local nested = name .. "_" .. rule[1]
    local maybe = (rule.optional or rule.default ~= nil) and "?" or ""
    out[#out + 1] = ("---@field %s%s %s%s"):format(rule[1], maybe,
      finer[name .. "." .. rule[1]] or type_of(rule, "kernelband." .. nested), note_of(rule))
    if rule.rules then inner[#inner + 1] = { nested, rule.rules } end
  end
  out[#out + 1] = ""
  for _, n in ipairs(inner) do class(n[1], n[2], out) end
end

local function functions(kb, out)
  local list = held(getmetatable(kb).__index, "list")
  for _, part in ipairs(list) do
    local s = signatures[part[1]]
    if s then
      local names = {}
      for i, a in ipairs(s) do
        out[#out + 1] = ("---@param %s %s"):format(a[1], a[2])
        names[i] = a[1]:gsub("%?", "")
      end
      out[#out + 1] = "---@return " .. s.result
      out[#out + 1] = ("function kb.%s(%s) end"):format(part[1], table.concat(names, ", "))
    else
      out[#out + 1] = ("---@type %s"):format(part[1] == "core" and "kernelband.core" or "any")
      out[#out + 1] = ("kb.%s = nil"):format(part[1])
    end
    out[#out + 1] = ""
  end
  out[#out + 1] = "kb.generator = {}\n"
  for _, g in ipairs(held(getmetatable(kb.generator).__index, "list")) do
    if made[g[1]] then
      out[#out + 1] = ("---@param options? kernelband.%s_options"):format(g[1])
    end
    out[#out + 1] = ("---@return kernelband.generator\nfunction kb.generator.%s(%s) end\n")
                    :format(g[1], made[g[1]] and "options" or "...")
  end
end

-- The text of meta.lua.
function meta.text()
  local kb = require "kernelband"
  local out = { "---@meta kernelband", "-- The public Lua interface, for editors (LuaCATS). "
    .. "Written by: kernelband doc meta", "-- luacheck: ignore", "", fixed }
  out[#out + 1] = ('---What a strategy may have told of a kernel: see facts.lua.\n'
    .. '---@alias kernelband.fact "%s"\n')
    :format(table.concat(require("kernelband.generator.facts").names, '"|"'))
  for _, set in ipairs(sets) do
    local there = package.searchpath(set[2], package.path)
    local rules = there and held(require(set[2]), set[3])
    if rules then class(set[1], rules, out) end
  end
  out[#out + 1] = "---@class kernelband\n---@field version string\nlocal kb = {}\n"
  functions(kb, out)
  out[#out + 1] = "return kb"
  return table.concat(out, "\n") .. "\n"
end

return meta
