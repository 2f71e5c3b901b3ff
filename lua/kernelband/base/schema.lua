-- base/schema.lua - checks tables against rules and says what is wrong so that the
-- reader can mend it.
--
-- A rule set is a list, in the order problems are reported:
--
--   { { "steps",  "integer", default = 20, at_least = 1, doc = "pulls" },
--     { "policy", { "table", "string" } },
--     { "device", "string", optional = true, one_of = { "cpu", "auto" } },
--     { "timed",  "list", item = { type = "table", rules = shape_rules } },
--     { "budget", "table", rules = budget_rules } }
--
--   types     string number integer boolean table list function userdata any;
--             list is a table with keys 1..n only, integer takes 3.0 as 3,
--             NaN is never a number
--   optional  may be nil; default implies it
--   one_of    list of the values allowed
--   at_least, at_most   bounds of a number, or of the length of a list
--   check     function(value) -> true | false, "what it must be"
--   item      rule for each element of a list (type = instead of a name)
--   rules     rule set of a nested table
--
--   doc       what it means, with its unit: kernelband doc api prints it
--
-- Errors of the configuration are objects { config = true, message = text } whose
-- tostring and .. give the message: main prints that alone and exits 2, pcall users
-- can show it. schema.raise is the only place that makes one.

local lists = require "kernelband.base.lists"
local core = require "kernelband.core"

local schema = {}

-- Errors ---------------------------------------------------------------

local said = { __name = "kernelband.error", __tostring = function(e) return e.message end,
               __concat = function(a, b) return tostring(a) .. tostring(b) end }

-- Only a message with values is a format.
local function worded(message, ...)
  return select("#", ...) > 0 and message:format(...) or message
end

function schema.raise(...)
  error(setmetatable({ config = true, message = worded(...) }, said), 0)
end

-- Raises unless it holds; returns it.
function schema.must(holds, ...) return holds or schema.raise(...) end

function schema.is_config_error(e) return getmetatable(e) == said end

local own = "@" .. (core.system.lib_dir() or "?") .. "/lua/kernelband/"

-- Whether a message is about a line of the engine; Lua shortens long paths to "...end".
function schema.is_own(e)
  local file = type(e) == "string" and e:match "^([^\n:]+):%d+: "
  return file and not e:find("\nstack traceback:", 1, true)
         and (file:sub(1, #own - 1) == own:sub(2)
              or file:find "^%.%.%." and file:find("/lua/kernelband/", 1, true)) and true or false
end

-- A message handler: a fault of the engine's own keeps the way to it, in thread where that is
-- another one. A fault of the user's is said in one sentence.
function schema.trace_own(e, thread)
  if not schema.is_own(e) then return e end
  return thread and debug.traceback(thread, e) or debug.traceback(e, 2)
end

-- Raises what is no mistake of the configuration: main prints the text and exits 1.
function schema.stop(text) error(text, 0) end

-- A Lua file as a function, raising what is wrong with it.
function schema.load_file(file, env)
  local chunk, why = loadfile(file, "t", env or _G)
  if chunk then return chunk end
  schema.raise("%s", why:find(file, 1, true) and why or why:find "^[^\n]-:%d+:" and why
                     or file .. ": " .. why)
end

-- "file:line" of the innermost caller outside lua/kernelband, or nil. A call
-- in tail position leaves no frame, so the line may then be its caller's.
function schema.call_site()
  for level = 2, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return nil end
    if info.currentline > 0 and info.source:sub(1, #own) ~= own then
      return ("%s:%d"):format(info.short_src, info.currentline)
    end
  end
end

local function call_of(who)
  local site = schema.call_site()
  return site and site .. ": " .. who or who
end

-- Raises about the user's call of who ("kb.search").
function schema.raise_at_call(who, ...) schema.raise("%s: %s", call_of(who), worded(...)) end

function schema.must_at_call(holds, who, ...) return holds or schema.raise_at_call(who, ...) end

-- Rule sets of the public interface by name, for kernelband doc: what checks is what is printed.
schema.declared = {}

function schema.declare(name, rules)
  schema.declared[name] = rules
  return rules
end

-- Names ------------------------------------------------------------------

-- Edits that turn a into b: insert, drop, change, swap of two neighbours
-- (optimal string alignment, Damerau 1964).
local function distance(a, b)
  local d = { [0] = {} }
  for j = 0, #b do d[0][j] = j end
  for i = 1, #a do
    d[i] = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local swap = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      d[i][j] = math.min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost,
                         swap and d[i - 2][j - 2] + 1 or math.huge)
    end
  end
  return d[#a][#b]
end

-- The name of the list nearest to the one given, nil when none is near: two
-- edits at most, one for names of two or three letters, none for one. Ties to
-- the first.
function schema.nearest(name, list)
  name = tostring(name)
  local limit = #name <= 1 and 0 or #name <= 3 and 1 or 2
  local best = lists.best(list, function(known)
    local d = math.abs(#name - #known) <= limit and distance(name:lower(), known:lower())
    return d and d <= limit and -d
  end)
  return best or (lists.find(list, function(known)      -- "steps" for "step_count" or back
    local short = math.min(#name, #known)
    return short >= 3 and name:sub(1, short) == known:sub(1, short)
  end))
end

-- " (did you mean 'policy'?)", else the names there are, else "".
function schema.hint(name, list)
  local near = schema.nearest(name, list)
  return near and (" (did you mean '%s'?)"):format(near)
         or #list > 0 and (" (known: %s)"):format(table.concat(list, ", ")) or ""
end

-- Types --------------------------------------------------------------------

local function is_list(t)
  local count = 0
  for _ in pairs(t) do count = count + 1 end
  for i = 1, count do
    if t[i] == nil then return false end
  end
  return true
end

-- What is asked of a value besides Lua's own types.
local kinds = {
  any = function() return true end,
  integer = function(v) return type(v) == "number" and math.tointeger(v) ~= nil end,
  number = function(v) return type(v) == "number" and v == v end,
  list = function(v) return type(v) == "table" and is_list(v) end,
}

-- What came, for the reader: "x", 1.5, a table.
function schema.show(v)
  if type(v) == "string" then
    return (("%q"):format(#v > 40 and v:sub(1, 37) .. "..." or v):gsub("\\\n", "\\n"))
  end
  if v ~= v then return "nan" end       -- the C library may give it a sign
  if math.type(v) == "float" then return ("%.14g"):format(v) end
  if math.type(v) or type(v) == "boolean" then return tostring(v) end
  return v == nil and "nothing" or "a " .. type(v)
end

-- The types that a rule allows.
function schema.type_names(rule)
  local types = rule.type or rule[2]
  return type(types) == "table" and types or { types }
end

-- "an integer >= 1", "a number 0..100", "one of 'sm', 'dram'", "a string or a number".
function schema.wanted(rule)
  local types, least, most = schema.type_names(rule), rule.at_least, rule.at_most
  if rule.one_of then
    return "one of " .. table.concat(lists.collect(rule.one_of, function(v)
      return type(v) == "string" and "'" .. v .. "'" or tostring(v)
    end), ", ")
  end
  local text = table.concat(lists.collect(types, function(name)
    return name == "integer" and "an integer" or name == "any" and "a value" or "a " .. name
  end), " or ")
  if not (least or most) then return text end
  return text .. (types[1] == "list" and " of length " or " ")
         .. (least and most and least .. ".." .. most or least and ">= " .. least or "<= " .. most)
end

local function in_bounds(rule, v)
  local n = type(v) == "table" and #v or v
  if type(n) ~= "number" then return true end
  return n >= (rule.at_least or -math.huge) and n <= (rule.at_most or math.huge)
end

-- Checking -----------------------------------------------------------------

local check_table

-- where: prefix of messages; noun: "field" or "option"; path: "a.b[2]".
local function check_value(v, rule, where, noun, path)
  local function refuse(must)
    local got = type(v) == "table" and is_list(v) and rule.at_least
                and ("a list of length %d"):format(#v) or schema.show(v)
    schema.raise("%s: %s: expected %s, got %s", where, path, must or schema.wanted(rule), got)
  end
  local matched = lists.find(schema.type_names(rule), function(name)
    if kinds[name] then return kinds[name](v) end
    return type(v) == name
  end)
  if not matched then refuse() end
  if matched == "integer" then v = math.tointeger(v) end
  if rule.one_of and not lists.contains(rule.one_of, v) or not in_bounds(rule, v) then refuse() end
  local fine, must = (rule.check or kinds.any)(v)
  if not fine then refuse(must or "valid") end
  if type(v) ~= "table" then return v end
  if rule.rules then return check_table(v, rule.rules, where, noun, path .. ".") end
  if not rule.item then return v end
  local out = {}
  for i, item in ipairs(v) do
    out[i] = check_value(item, rule.item, where, noun, ("%s[%d]"):format(path, i))
  end
  return out
end

function check_table(t, rules, where, noun, prefix)
  local names, out = lists.collect(rules, 1), {}
  local known = lists.places(names)
  for _, key in ipairs(lists.keys(t)) do        -- the first, so that the message is always the same
    if not known[key] then
      schema.raise("%s: unknown %s '%s%s'%s", where, noun, prefix, tostring(key),
                   schema.hint(key, names))
    end
  end
  for _, rule in ipairs(rules) do
    local name, v = rule[1], t[rule[1]]
    if v ~= nil then
      out[name] = check_value(v, rule, where, noun, prefix .. name)
    elseif rule.default ~= nil then
      out[name] = rule.default
    elseif not rule.optional then
      schema.raise("%s: missing %s '%s%s' (%s)", where, noun, prefix, name,
                   rule.doc or schema.wanted(rule))
    end
  end
  return out
end

local function check(t, rules, where, noun, expected)
  if type(t) == "table" then return check_table(t, rules, where, noun, "") end
  schema.raise("%s: %s, got %s", where, expected, schema.show(t))
end

-- Checks what a file returned. where: "task.lua: softmax" or a path. Returns
-- a checked copy with defaults filled in; nested tables with rules are copied
-- too, everything else is shared.
function schema.check(t, rules, where)
  return check(t, rules, where, "field", "must return a table")
end

-- Checks the options of a call made by the user; nil stands for {}. noun is
-- what they are called in messages, "option" unless given.
function schema.options(t, rules, who, noun)
  return check(t == nil and {} or t, rules, call_of(who), noun or "option",
               "expected a table of options")
end

return schema
