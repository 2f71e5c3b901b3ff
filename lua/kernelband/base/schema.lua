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
-- Errors are objects { config = true, message = text } whose tostring and ..
-- give the message: main prints that alone and exits 2, pcall users can show
-- it. schema.raise is the only place that makes one.

local lists = require "kernelband.base.lists"
local core = require "kernelband.core"

local schema = {}

-- Errors ---------------------------------------------------------------

local function kind_of_error(name)
  return { __name = name, __tostring = function(e) return e.message end,
           __concat = function(a, b) return tostring(a) .. tostring(b) end }
end

local config_error = kind_of_error "kernelband.config_error"
local stop_error = kind_of_error "kernelband.stop"

function schema.raise(message, ...)
  if select("#", ...) > 0 then message = message:format(...) end
  error(setmetatable({ config = true, message = message }, config_error), 0)
end

function schema.is_config_error(e)
  return getmetatable(e) == config_error
end

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
  if thread then return debug.traceback(thread, e) end
  return debug.traceback(e, 2)
end

-- Raises an error that says all there is to say: main prints the text without
-- a traceback of its own and exits 1.
function schema.stop(text)
  error(setmetatable({ message = text }, stop_error), 0)
end

function schema.is_stop(e)
  return getmetatable(e) == stop_error
end

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
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return nil end
    if info.currentline > 0 and info.source:sub(1, #own) ~= own then
      return ("%s:%d"):format(info.short_src, info.currentline)
    end
    level = level + 1
  end
end

-- Raises about the user's call of who ("kb.search").
function schema.raise_at_call(who, message, ...)
  if select("#", ...) > 0 then message = message:format(...) end
  local site = schema.call_site()
  local where = site and site .. ": " .. who or who
  schema.raise("%s: %s", where, message)
end

-- Rule sets of the public interface by name, for kernelband doc: what checks is what is printed.
schema.declared = {}

function schema.declare(name, rules)
  schema.declared[name] = rules
  return rules
end

-- Names ------------------------------------------------------------------

-- Edits that turn a into b: insert, drop, change, swap of two neighbours
-- (optimal string alignment, Damerau 1964). Gives up above limit.
local function distance(a, b, limit)
  local la, lb = #a, #b
  if math.abs(la - lb) > limit then return limit + 1 end
  local before, last = {}, {}
  for j = 0, lb do last[j] = j end
  for i = 1, la do
    local row = { [0] = i }
    for j = 1, lb do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1)
         and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[lb]
end

-- The name of the list nearest to the one given, nil when none is near: two
-- edits at most, one for names of two or three letters, none for one. Ties to
-- the first.
function schema.nearest(name, list)
  name = tostring(name)
  local limit = #name <= 1 and 0 or #name <= 3 and 1 or 2
  local best = lists.best(list, function(known)
    local d = distance(name:lower(), known:lower(), limit)
    return d <= limit and -d
  end)
  return best or (lists.find(list, function(known)      -- "steps" for "step_count" or back
    return #name >= 3 and (known:sub(1, #name) == name
                           or (#known >= 3 and name:sub(1, #known) == known))
  end))
end

-- " (did you mean 'policy'?)", else the names there are, else "".
function schema.hint(name, list)
  local near = schema.nearest(name, list)
  if near then return (" (did you mean '%s'?)"):format(near) end
  if #list == 0 then return "" end
  return (" (known: %s)"):format(table.concat(list, ", "))
end

-- Types --------------------------------------------------------------------

local article = { integer = "an integer", any = "a value" }

local function is_list(t)
  local n = #t
  local count = 0
  for k in pairs(t) do
    if math.type(k) ~= "integer" or k < 1 or k > n then return false end
    count = count + 1
  end
  return count == n
end

local function has_type(v, name)
  if name == "any" then return v ~= nil end
  if name == "integer" then return math.tointeger(v) ~= nil and type(v) == "number" end
  if name == "number" then return type(v) == "number" and v == v end
  if name == "list" then return type(v) == "table" and is_list(v) end
  return type(v) == name
end

-- What came, for the reader: "x", 1.5, a table.
function schema.show(v)
  local t = type(v)
  if t == "string" then
    local text = #v > 40 and v:sub(1, 37) .. "..." or v
    return (("%q"):format(text):gsub("\\\n", "\\n"))
  elseif t == "number" then
    if v ~= v then return "nan" end     -- the C library may give it a sign
    return math.type(v) == "integer" and tostring(v) or ("%.14g"):format(v)
  elseif t == "nil" then
    return "nothing"
  elseif t == "boolean" then
    return tostring(v)
  end
  return "a " .. t
end

-- The types that a rule allows.
function schema.type_names(rule)
  local types = rule.type or rule[2]
  return type(types) == "table" and types or { types }
end

local function quoted(list)
  return table.concat(lists.collect(list, function(v)
    return type(v) == "string" and "'" .. v .. "'" or tostring(v)
  end), ", ")
end

-- "an integer >= 1", "a number 0..100", "one of 'sm', 'dram'", "a string or a number".
function schema.wanted(rule)
  if rule.one_of then return "one of " .. quoted(rule.one_of) end
  local text = table.concat(lists.collect(schema.type_names(rule), function(name)
    return article[name] or "a " .. name
  end), " or ")
  local unit = schema.type_names(rule)[1] == "list" and " of length" or ""
  if rule.at_least and rule.at_most then
    return ("%s%s %s..%s"):format(text, unit, rule.at_least, rule.at_most)
  end
  if rule.at_least then text = ("%s%s >= %s"):format(text, unit, rule.at_least) end
  if rule.at_most then text = ("%s%s <= %s"):format(text, unit, rule.at_most) end
  return text
end

-- The keys of a table, sorted as text.
function schema.keys(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

function schema.contains(list, v)
  return lists.find(list, function(x) return x == v end) ~= nil
end

local contains = schema.contains

local function in_bounds(rule, v)
  if not (rule.at_least or rule.at_most) then return true end
  local n = type(v) == "table" and #v or v
  if type(n) ~= "number" then return true end
  return (not rule.at_least or n >= rule.at_least)
     and (not rule.at_most or n <= rule.at_most)
end

-- Checking -----------------------------------------------------------------

local check_table

-- where: prefix of messages; noun: "field" or "option"; path: "a.b[2]".
local function check_value(v, rule, where, noun, path)
  local function refuse(must)
    local got = type(v) == "table" and is_list(v) and rule.at_least
                and ("a list of length %d"):format(#v) or schema.show(v)
    schema.raise("%s: %s: expected %s, got %s", where, path, must, got)
  end
  local matched = lists.find(schema.type_names(rule), function(name) return has_type(v, name) end)
  if not matched then refuse(schema.wanted(rule)) end
  if matched == "integer" then v = math.tointeger(v) end
  if rule.one_of and not contains(rule.one_of, v) then refuse(schema.wanted(rule)) end
  if not in_bounds(rule, v) then refuse(schema.wanted(rule)) end
  if rule.check then
    local fine, must = rule.check(v)
    if not fine then refuse(must or "valid") end
  end
  if rule.rules and type(v) == "table" then
    return check_table(v, rule.rules, where, noun, path .. ".")
  elseif rule.item and type(v) == "table" then
    local out = {}
    for i, item in ipairs(v) do
      out[i] = check_value(item, rule.item, where, noun, ("%s[%d]"):format(path, i))
    end
    return out
  end
  return v
end

-- The unknown key to report: the first in byte order, so that the same table
-- gives the same message.
local function unknown_key(t, names)
  local known = lists.places(names)
  return (lists.find(schema.keys(t), function(k) return not known[k] end))
end

function check_table(t, rules, where, noun, prefix)
  local names, out = lists.collect(rules, function(rule) return rule[1] end), {}
  local unknown = unknown_key(t, names)
  if unknown ~= nil then
    schema.raise("%s: unknown %s '%s%s'%s", where, noun, prefix,
                 tostring(unknown), schema.hint(unknown, names))
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

-- Checks what a file returned. where: "task.lua: softmax" or a path. Returns
-- a checked copy with defaults filled in; nested tables with rules are copied
-- too, everything else is shared.
function schema.check(t, rules, where)
  if type(t) ~= "table" then
    schema.raise("%s: must return a table, got %s", where, schema.show(t))
  end
  return check_table(t, rules, where, "field", "")
end

-- Checks the options of a call made by the user; nil stands for {}. noun is
-- what they are called in messages, "option" unless given.
function schema.options(t, rules, who, noun)
  local site = schema.call_site()
  local where = site and site .. ": " .. who or who
  if t == nil then t = {} end
  if type(t) ~= "table" then
    schema.raise("%s: expected a table of options, got %s", where, schema.show(t))
  end
  return check_table(t, rules, where, noun or "option", "")
end

return schema
