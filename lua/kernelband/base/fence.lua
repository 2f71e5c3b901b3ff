-- base/fence.lua - evaluates strategy and policy files in an environment that can
-- compute and nothing else: no files, clock, randomness, code loading or
-- coroutines, no order of pairs and no addresses of tables that differ from
-- run to run. So what they compute can be replayed. There is no require: what a strategy
-- should not have to write itself is a field that the engine reads (facts, see strategy.lua).
--
-- A fence, not a jail. VM steps are counted, of a large budget once it has run for
-- 50 ms or more, and memory is capped, but one call
-- of a C function is one step: a pattern such as ("a?"):rep(24) may run for
-- seconds inside string.find before the budget is looked at. Untrusted code
-- runs in a worker process, never here.

local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local fence = {}

local max_repeat_bytes <const> = 1 << 24        -- string.rep, C code that never steps
local max_move <const> = 1 << 20                -- table.move likewise
local tick <const> = 1000                       -- VM steps between two looks at a budget
local toll <const> = 100                        -- steps a nested call costs its caller
local small <const> = 1e6                       -- a budget that is counted from its first step

-- Frozen tables --------------------------------------------------------------

local target = setmetatable({}, { __mode = "k" })       -- proxy -> table
local proxy = setmetatable({}, { __mode = "kv" })       -- table -> proxy

-- Keys of a table in an order that is the same in every run.
local ordered = { boolean = true, number = true, string = true }

local function before(a, b)
  if type(a) ~= type(b) then return type(a) < type(b) end
  if type(a) == "boolean" then return not a and b end
  return a < b
end

-- The fence's pairs, also that of frozen tables elsewhere. Keys removed on the
-- way are skipped, keys added are not seen.
local function sorted_pairs(t)
  local from, keys, i = target[t] or t, {}, 0
  if type(from) ~= "table" then
    error(("pairs: expected a table, got %s"):format(type(from)), 2)
  end
  for k in next, from do
    if not ordered[type(k)] then
      error(("pairs: a %s as key has no order that could be replayed; use its id"):format(type(k)),
            2)
    end
    keys[#keys + 1] = k
  end
  table.sort(keys, before)
  return function()
    while i < #keys do
      i = i + 1
      local v = t[keys[i]]
      if v ~= nil then return keys[i], v end
    end
  end, t, nil
end

-- The read-only face of t, deep; the same face for the same table. Indexing,
-- #, ipairs and pairs work on it; next, rawget and rawlen see it empty.
function fence.freeze(t)
  if type(t) ~= "table" or target[t] then return t end
  if proxy[t] then return proxy[t] end
  local p = setmetatable({}, {
    __index = function(_, k) return fence.freeze(t[k]) end,
    __newindex = function(_, k)
      error(("'%s' cannot be set: the table is read-only"):format(tostring(k)), 2)
    end,
    __len = function() return #t end,
    __pairs = sorted_pairs,
    __metatable = "frozen",
  })
  target[p], proxy[t] = t, p
  return p
end

-- The environment ------------------------------------------------------------

local function copy(lib, names)
  local out = {}
  for name in names:gmatch "%S+" do out[name] = assert(lib[name], name) end
  return out
end

-- An address would differ from run to run.
local addressed = { table = true, ["function"] = true, userdata = true, thread = true }
local function plain(v) return addressed[type(v)] and type(v) or tostring(v) end

local strings = copy(string, "byte char find gmatch gsub len lower match reverse sub upper")

function strings.rep(s, n, sep)
  if math.max(#s + #(sep or ""), 1) * n <= max_repeat_bytes then return string.rep(s, n, sep) end
  error("string.rep: the result would be too large", 2)
end

function strings.format(fmt, ...)
  if fmt:gsub("%%%%", ""):find "%%[^%a]*p" then
    error("string.format: '%p' is an address, which differs from run to run", 2)
  end
  local args = table.pack(...)
  for i = 1, args.n do
    args[i] = type(args[i]) == "number" and args[i] or plain(args[i])
  end
  return string.format(fmt, table.unpack(args, 1, args.n))
end

local tables = copy(table, "concat insert pack remove sort unpack")

function tables.move(from, first, last, at, to)
  if last - first >= max_move then error("table.move: too many elements", 2) end
  return table.move(from, first, last, at, to)
end

local base = copy(_G, "assert error ipairs select tonumber type")
base.pairs = sorted_pairs
base.tostring = plain
base.string = fence.freeze(strings)
base.table = fence.freeze(tables)
base.math = fence.freeze(copy(math, [[abs acos asin atan ceil cos deg exp floor fmod huge log max
  maxinteger min mininteger modf pi rad sin sqrt tan tointeger type ult]]))

local function refuse(what)
  return function(_, name) error(("global '%s' %s"):format(tostring(name), what), 2) end
end

local function environment(globals)
  local known = lists.with(base)
  for k, v in pairs(globals or {}) do known[k] = fence.freeze(v) end
  setmetatable(known, { __index = refuse "is not available in this file" })
  return setmetatable({}, { __index = known, __metatable = "fenced",
                            __newindex = refuse "cannot be set in this file: use local" })
end

-- Budgets --------------------------------------------------------------------

-- The hook belongs to a coroutine, and so does the budget in force there.
local in_force = setmetatable({}, { __mode = "k" })
local string_meta = getmetatable("")
local keepers = {}      -- functions that must run to their end once entered

local function raise_spent(budget)
  error(("%s: step budget spent (%d VM steps): a loop without end?")
        :format(schema.call_site() or "?", budget.steps), 0)
end

local function count()
  local budget = in_force[coroutine.running()]
  if not budget then return debug.sethook() end
  budget.left = budget.left - tick
  if budget.left <= 0 and not keepers[debug.getinfo(2, "f").func] then raise_spent(budget) end
end

local function watch() debug.sethook(count, "", tick) end

-- A budget is counted, or is by the time it has run for long, with those around it.
core.overtime.tell(function()
  local budget = in_force[coroutine.running()]
  if budget then watch() end
  while budget do
    budget.counted = true
    budget = budget.outer
  end
end)

-- Where an error that names no line of the file came from: running out of memory names
-- none, a stack that is full while the budget is looked at names one of the fence.
local here = debug.getinfo(1, "S").short_src

local function locate(fn, err)
  if schema.is_config_error(err) then return err end
  if type(err) ~= "string" then err = "error object is a " .. type(err) .. ", expected a string" end
  local place, what = err:match "^([^\n]-):%d+: (.*)"
  if place == here and what:find "^stack overflow" then err, place = what, nil end
  if place then return err end
  local info = debug.getinfo(fn, "S")
  return ("%s:%d: %s"):format(info.short_src, math.max(info.linedefined, 1), err)
end

-- What fence.call does after pcall, whose results follow.
local function settle(thread, budget, fn, ok, ...)
  local outer = budget.outer
  if budget.timed then core.overtime.finish() end
  if budget.counted then debug.sethook() end
  string_meta.__index, in_force[thread] = budget.methods, outer
  if outer then
    outer.left = outer.left - toll - (budget.steps - math.max(budget.left, 0))
    if outer.counted then watch() end
    if outer.left <= 0 then raise_spent(outer) end
  end
  if not ok then error(locate(fn, (...)), 0) end
  return ...
end

-- fn(...) in about steps VM steps (looked at every thousand, see above), in the running
-- coroutine; raises "file:line: ..." when they are spent or fn raises. Nested
-- calls are charged to the call around them. While it runs, methods of
-- strings are the fenced ones.
function fence.call(steps, fn, ...)
  local thread = coroutine.running()
  local outer = in_force[thread]
  if outer then steps = math.min(steps, math.max(outer.left, 1)) end
  local budget = { steps = steps, left = steps, outer = outer, methods = string_meta.__index }
  in_force[thread], string_meta.__index = budget, strings
  budget.timed = steps > small and not (outer and outer.counted) and core.overtime.begin()
  budget.counted = not budget.timed
  if budget.counted then watch() end
  return settle(thread, budget, fn, pcall(fn, ...))
end

for _, f in ipairs { fence.call, settle, watch } do keepers[f] = true end

-- fn under fence.call, as a function.
function fence.wrap(steps, fn) return function(...) return fence.call(steps, fn, ...) end end

-- Runs the file (text only) with the base names and globals, tables among them
-- frozen; returns what it returns. A file that does not load is a
-- configuration error (see schema.lua).
function fence.load(file, globals, steps)
  local chunk = schema.load_file(file, environment(globals))
  local ok, value = pcall(fence.call, steps or 1e6, chunk)
  if not ok then schema.raise("%s", tostring(value)) end
  return value
end

return fence
