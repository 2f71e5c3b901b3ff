-- policy/init.lua - policy files: which kernel and which strategy to try next.
--
-- A parameter may be a function of the pull number, alpha = function(n) return
-- 1 / n end: params then holds its value for the pull in hand. memory = "FILE", of
-- a policy that has the parameter, is what earlier searches left; remember = "FILE"
-- is where this one leaves its points at the end. Both may be one file. A run keeps
-- the memory it was begun with, and goes on with that.
--
-- A policy works in the fence on its own copies of the engine's kernels, so a
-- policy can neither change the search but by its choices nor see what would
-- differ in a replay. Its table kernel.note is shared with the engine.
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local fence  = require "kernelband.base.fence"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"
local keys   = lists.keys
local surrogate = require "kernelband.policy.surrogate"

local policy = {}

local call_steps = 5e7
local most_logged = 500                 -- bytes of what a policy logs at a time

local rules = schema.declare("policy.lua", {
  { "name", "string", doc = "a short name" },
  { "summary", "string", optional = true, doc = "one line for people" },
  { "defaults", "table", doc = "every tunable with its default" },
  { "accepts", "table", optional = true, doc = "types beyond the default's: name = list" },
  { "limits", "table", optional = true,
    doc = "name = { least, most, \"word\", .. }: the numbers and texts it may be" },
  { "removed", "table", optional = true,
    doc = "parameters of the version before: name = what replaced it" },
  { "reward", "string", optional = true, one_of = { "relative", "improvement" },
    doc = "the reward of its pulls unless kb.search names one; else relative" },
  { "new", "function", doc = "function(params, ctx) returning admit, choose, learn" },
})

local hooks = schema.declare("policy_hooks", {
  { "admit", "function", optional = true,
    doc = "function(kernel): a verified kernel joins the pool" },
  { "choose", "function",
    doc = "function(pending, list) returning kernel, strategy index; nil ends the search" },
  { "learn", "function", optional = true, doc = "function(pull): what came of a choice" },
  { "prefer", "function", optional = true,
    doc = "function(points) returning the number of the child to propose, or nil" },
  { "remember", "function", optional = true, doc = "function() returning measured points" },
})

-- Rewards: what a pull was worth, f(parent, child, verdict) -> number, with child nil when there
-- is none. Negative is worse than having done nothing.
local function reward(name, failure, falls)
  local reward_rules = { { "clip", "number", default = 1, at_least = 0 },
                         { "failure", "number", default = failure } }
  return function(options)
    local o = schema.options(options, reward_rules, "kb.reward." .. name)
    local least = falls and -o.clip or 0
    return function(parent, child)
      if not child then return o.failure end
      return math.max(least, math.min(o.clip, 1 - child.time_ns / parent.time_ns))
    end
  end
end

-- relative: 1 - T(child)/T(parent) within -clip..clip (1), failure (-1) without a child, as the
-- published v1. improvement: the same, and never below 0; failure is 0, as the published v2.
policy.rewards = { relative = reward("relative", -1, true),
                   improvement = reward("improvement", 0, false) }

-- What a policy may compute with: arithmetic, no device, file or clock. Each part is looked up
-- when it is used, for core.stats is loaded then.
local arithmetic = lists.places { "ucb", "cluster", "logit", "points", "gp", "rng", "stats" }
local brain = fence.freeze(setmetatable({}, {
  __index = function(_, name) return arithmetic[name] and core[name] end,
}))

local function memory() return require "kernelband.policy.memory" end

-- Parameters ------------------------------------------------------------------

local function allowed_types(def, name)
  local types, default = def.accepts and def.accepts[name], type(def.defaults[name])
  if types then return type(types) == "table" and types or { types } end
  return { (default == "table" or def.defaults[name] == false) and "any" or default }
end

-- The check of schema.lua for a parameter's value, by the policy's own limits: { least, most,
-- "word", .. }, all optional. What it must be: "an integer 1..64 or 'each' or 'auto'".
local function checker(types, limit)
  local function those(kind)
    return lists.collect(limit or {}, function(v) return type(v) == kind and v end)
  end
  local words, least, most = those "string", table.unpack(those "number")
  local must = (types[1] == "integer" and "an integer" or "a finite number")
    .. (most and (" %s..%s"):format(least, most) or least and " >= " .. least or "")
    .. (words[1] and (" or '%s'"):format(table.concat(words, "' or '")) or "")
  return function(v)
    if type(v) == "string" then return not words[1] or lists.contains(words, v), must end
    return type(v) ~= "number" or math.abs(v) < math.huge and v >= (least or v)
           and v <= (most or v), must
  end
end

-- Parameters of the version before are taken and do nothing, which is said once.
local said = {}

local function without_removed(def, given, file)
  local left = lists.with(given)
  for _, name in ipairs(keys(def.removed or {})) do
    if given[name] ~= nil then
      local words = ("kernelband: %s: parameter '%s' does nothing any more: %s\n"):format(file,
                    name, def.removed[name])
      if not said[words] then io.stderr:write(words) end
      said[words], left[name] = true, nil
    end
  end
  return left
end

-- defaults overlaid with given, as { values =, scheduled = names of those that are functions,
-- at(name, n) = what such a one is at pull n }; errors point at the user's call.
local function merge(def, given, file)
  local who = "kb.policy(\"" .. file .. "\")"
  schema.must_at_call(given == nil or type(given) == "table", who,
    "expected a table of parameters, got %s", schema.show(given))
  given = without_removed(def, given or {}, file)
  local p = {}
  p.values = schema.options(given, lists.collect(keys(def.defaults), function(name)
    local types = allowed_types(def, name)
    local check = checker(types, def.limits and def.limits[name])
    if type(given[name]) == "function" and types[1] ~= "any" then types = { "function" } end
    return { name, types, default = def.defaults[name], check = check }
  end), who, "parameter")
  p.scheduled = lists.collect(keys(p.values), function(name)
    return type(p.values[name]) == "function" and name
  end)
  function p.at(name, n)
    local types, v = allowed_types(def, name), p.values[name](n)
    local fits = lists.find(types, function(kind)
      return type(v) == kind or kind == "integer" and type(v) == "number"
    end)
    if fits and (type(v) ~= "number" or math.abs(v) < math.huge) then return v end
    schema.raise("%s: parameter '%s' at pull %d must be %s, got %s", who, name, n,
                 schema.wanted { type = types }, schema.show(v))
  end
  return p
end

-- What tells runs apart: functions by some of their values, a memory by its hash.
local function described(p, hash)
  local out = lists.with(p.values)
  for _, name in ipairs(p.scheduled) do
    out[name] = { at_pulls_1_2_3_5_10_20_50_100_1000 = lists.collect(
      { 1, 2, 3, 5, 10, 20, 50, 100, 1000 }, function(n) return p.at(name, n) end) }
  end
  if hash then out.memory = p.values.memory .. " " .. hash end
  return out
end

-- The running policy ------------------------------------------------------------

local function copy(v)
  if type(v) ~= "table" then return v end
  local out = {}
  for k, x in next, v do out[k] = copy(x) end
  return out
end

-- A function from the engine's kernels to the policy's copies of them, and a table for the way
-- back. A kernel without id has no other place than its own table.
local function mirror()
  local copies, originals = {}, {}
  return function(kernel)
    if type(kernel) ~= "table" then return kernel end
    local c = copies[kernel]
    if not c then
      kernel.note = kernel.note or {}
      c = copy(kernel)
      c.note = kernel.note
      copies[kernel], originals[c] = c, kernel
    end
    return c
  end, originals
end

-- The terms of a choice that the journal keeps; others may be there.
local numbers = { "mean", "exploration", "psi", "cluster" }

local function check_choice(where, kernel, index, terms, strategies, originals)
  local function need(fine, v, what, ...)
    if fine then return end
    error(("%s: choose%s, got %s"):format(where, what:format(...), schema.show(v)), 0)
  end
  if kernel == nil then return nil end
  local i = type(index) == "number" and math.tointeger(index)
  need(originals[kernel], kernel, " must return an admitted kernel or nil")
  need(i and strategies[i], index, " must return a strategy index 1..%d beside the kernel",
       #strategies)
  need(terms == nil or type(terms) == "table", terms,
       "'s third value must be a table of terms or nil")
  for _, name in ipairs(terms and numbers or {}) do
    local v, whole = terms[name], name == "cluster"
    need(v == nil or type(v) == "number" and v == v and (not whole or math.tointeger(v)), v,
         "'s term '%s' must be %s or nil", name, whole and "an integer" or "a number")
  end
  return originals[kernel], i, copy(terms)
end

-- ctx as the policy sees it. pool: its kernels, fastest first; under_way: what choose was told.
local function inner_context(ctx, originals, pool, under_way, remembered)
  local index = lists.collect(ctx.strategies, function(_, i) return i end)
  local own = {}                        -- the engine's: they change no list they are given
  local inner = { strategies = ctx.strategies, rng = ctx.rng, device = ctx.device, core = brain }

  function inner.open(kernel, i)
    local original, n = originals[kernel], index[i]
    local must = not original and "an admitted kernel, got " .. schema.show(kernel)
      or not n and ("a strategy index 1..%d, got %s"):format(#index, schema.show(i))
    if must then error("ctx.open: expected " .. must, 2) end
    return not ctx.open or ctx.open(original, n)
  end

  -- How many pulls are under way: of a kernel, of a strategy, of the pair; nil stands for any.
  function inner.pending(kernel, i)
    return #lists.collect(under_way.list, function(e)
      return (not kernel or e.parent == kernel) and (not i or e.strategy == i)
    end)
  end

  -- The open strategies of a kernel, and the fastest kernel that has strategy i open, or nil.
  function inner.open_strategies(kernel)
    return lists.collect(index, function(i) return inner.open(kernel, i) and i end)
  end

  function inner.fastest(i)
    return (lists.find(pool, function(kernel) return inner.open(kernel, i) end))
  end

  function inner.draw(weights) return lists.draw(weights, ctx.rng) end

  -- Into the journal, as print would show it.
  function inner.log(...)
    local words = table.pack(...)
    for at = 1, words.n do
      local v = words[at]
      words[at] = type(v) == "string" and v or schema.show(v)
    end
    if ctx.log then ctx.log(table.concat(words, "\t"):sub(1, most_logged)) end
  end

  local function moves(kernel, i)
    local original = originals[kernel]
    if ctx.moves and original then return ctx.moves(original, i) end
  end

  function inner.surrogate(options)
    local model = surrogate.new(options, moves, remembered, #ctx.strategies)
    own[model.prefer] = true
    return model
  end

  -- The policy's own kernels are no read-only ones.
  return rawset(fence.freeze(inner), "pool", pool), own
end

local pull_keys <const> = lists.words "n strategy verdict reason reward cost terms exhausted params"

-- params: as merge gave them.
local function start(def, file, ctx, remembered, params)
  local copy_of, originals = mirror()
  local live, n = copy(params.values), 0
  local function at_pull(pull)
    for _, name in ipairs(params.scheduled) do live[name] = params.at(name, pull) end
  end
  at_pull(1)
  local pool, under_way = {}, { list = {} }
  local context, own = inner_context(ctx, originals, pool, under_way, remembered)
  local p = schema.check(fence.call(call_steps, def.new, live, context), hooks, file .. ": new")
  local where = ("%s:%d"):format(file, debug.getinfo(p.choose, "S").linedefined)
  local running = { name = def.name }
  local copies = setmetatable({}, { __mode = "k" })     -- the policy's, of lists of children

  function running.admit(kernel)
    local c = copy_of(kernel)
    local _, at = lists.find(pool, function(other) return other.speedup < c.speedup end)
    table.insert(pool, at or #pool + 1, c)
    if p.admit then fence.call(call_steps, p.admit, c) end
    kernel.note = c.note
  end

  -- pending: how many pulls are under way; which: a list of { parent, strategy, params }, without
  -- strategy where it is there no more.
  function running.choose(pending, which)
    local waiting = lists.collect(which or {}, function(e)
      return e.strategy and { parent = copy_of(e.parent), strategy = e.strategy,
                              params = copy(e.params) }
    end)
    n, under_way.list = n + 1, waiting
    at_pull(n)
    local kernel, i, terms = fence.call(call_steps, p.choose, pending or 0, waiting)
    return check_choice(where, kernel, i, terms, ctx.strategies, originals)
  end

  -- Of children that a generator has drawn, a list of their parameters, the number of the
  -- one to propose; nil: the first. Only of a policy that has a word in it.
  running.prefer = p.prefer and function(points)
    local given = own[p.prefer] and points or copies[points] or copy(points)
    copies[points] = given
    local at = fence.call(call_steps, p.prefer, given)
    local i = type(at) == "number" and math.tointeger(at)
    if at ~= nil and not (i and points[i]) then
      error(("%s: prefer must return the number of a point, 1..%d, or nil, got %s"):format(
            file, #points, schema.show(at)), 0)
    end
    return i or nil
  end

  function running.learn(pull)
    if not p.learn then return end
    local c = { parent = copy_of(pull.parent), child = copy_of(pull.child) }
    for _, key in ipairs(pull_keys) do c[key] = copy(pull[key]) end
    fence.call(call_steps, p.learn, c)
  end

  -- At the end of a search that was not broken off: true | nil, why nothing was saved. What was
  -- timed once more, a list of { params, time_ns }, replaces the first times.
  function running.finish(retimed)
    local file_of = params.values.remember
    if not p.remember or file_of == "" then return true end
    local points = fence.call(call_steps, p.remember)
    for _, again in ipairs(retimed or {}) do points[#points + 1] = again end
    local ok, why = pcall(memory().save, file_of, ctx.name or "?", points)
    return ok or nil, why
  end

  return running
end

-- The policy of a definition with the memory that is in a text; nil: with none. What the
-- search itself will make may be absent, "".
local function with_memory(def, file, params, memory_text)
  local spaces, hash
  if memory_text == "" then hash = "absent" elseif memory_text then
    spaces, hash = memory().parse(params.values.memory, memory_text)
  end
  return {
    name = def.name, summary = def.summary or "", file = file, defaults = def.defaults,
    params = described(params, hash), reward = def.reward, memory = memory_text,
    recalling = function(other) return with_memory(def, file, params, other) end,
    new = function(ctx) return start(def, file, ctx, spaces, params) end,
  }
end

-- The policy of a file with params laid over its defaults:
-- { name, summary, file, params, defaults, reward, new(ctx) -> { admit, choose, learn },
--   memory = text or nil, recalling(text) -> the same policy with that memory }.
function policy.load(name, params)
  schema.must_at_call(type(name) == "string", "kb.policy", "expected a path, got %s",
    schema.show(name))
  local file = path.found(name, "kb.policy", "no such file: %s")
  schema.must_at_call(core.system.exists(file) == "file", "kb.policy", "'%s' is not a file", file)
  local def = schema.check(fence.load(file), rules, file)
  for _, accepted in ipairs(keys(def.accepts or {})) do
    schema.must(def.defaults[accepted] ~= nil,
      "%s: accepts names '%s', which defaults does not have%s", file, accepted,
      schema.hint(accepted, keys(def.defaults)))
  end
  local merged = merge(def, params, name)
  local function names_file(v) return type(v) == "string" and v ~= "" end
  local from, to = merged.values.memory, merged.values.remember
  local recalled = names_file(from) and (from == to and not core.system.exists(from) and ""
                                         or memory().read(from)) or nil
  if names_file(to) then memory().check_writable(to) end
  return with_memory(def, file, merged, recalled)
end

return policy
