-- generator/mixed.lua - several generators in one search.
--
--   kb.generator.mixed { kb.generator.llm { .. }, kb.generator.schedule {} }
--   kb.generator.mixed { { kb.generator.llm { .. }, share = 3 }, kb.generator.schedule {} }
--
-- Each pull goes to one of those that have something for its kernel and strategy,
-- drawn by their shares (1 unless said). Where that one has nothing after all, the
-- next is asked.
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local who <const> = "kb.generator.mixed"

local function members(options)
  local all = lists.collect(type(options) == "table" and options or {}, function(m, i)
    local bare = type(m) ~= "table" or m.start
    local g, share = bare and m or m[1], not bare and m.share or 1
    schema.must_at_call(type(g) == "table" and type(g.start) == "function", who,
      "item %d must be a generator or { generator, share = n }, got %s", i, schema.show(g))
    schema.must_at_call(type(share) == "number" and share > 0 and share < math.huge, who,
      "item %d: share must be a number above 0, got %s", i, schema.show(share))
    return { start = g.start, identity = g.identity or g.name, share = share }
  end)
  schema.must_at_call(#all > 0, who, "the list of generators is empty")
  return all
end

-- candidate.by goes with a candidate whose open constants are searched, too.
local function mark(candidate, i)
  candidate.by = candidate.by or {}
  candidate.by.member = i
  return candidate
end

local function start(all, task, ctx)
  local instance, started = { name = "mixed", repairs = 0 }, {}
  for i, m in ipairs(all) do
    local g = m.start(task, ctx)
    started[i] = { g = g, share = m.share, i = i }
    if g.priced == false then instance.priced = false end
    instance.asks, instance.first = instance.asks or g.asks, instance.first or g.first
    if g.repair then instance.repairs = math.max(instance.repairs, g.repairs or 1) end
  end

  local function open(parent, strategy)
    return lists.collect(started, function(m) return m.g.open(parent, strategy) and m end)
  end

  function instance.open(parent, strategy) return open(parent, strategy)[1] ~= nil end

  function instance.propose(parent, strategy, rng, here)
    local list, pick, why = open(parent, strategy), rng:split "mixed", nil
    while #list > 0 do
      local m = table.remove(list, lists.draw(lists.collect(list, "share"), pick))
      local candidate, reason, code, wait_s = m.g.propose(parent, strategy, rng, here)
      if candidate then return mark(candidate, m.i) end
      if code then return nil, reason, code, wait_s end
      why = reason
    end
    return nil, why or "no generator has anything for this pull"
  end

  function instance.repair(candidate, evaluation, rng, here)
    local i = candidate.by and candidate.by.member
    local g = i and started[i].g
    if not (g and g.repair) then return nil, "its generator repairs nothing" end
    local mended, why, code, wait_s = g.repair(candidate, evaluation, rng, here)
    return mended and mark(mended, i), why, code, wait_s
  end

  -- What the members that have a method say; each is told.
  local function each(method, a, b)
    return lists.collect(started, function(m) return m.g[method] and m.g[method](a, b) end)
  end

  function instance.ending(strategies)
    local out = each("ending", strategies)
    return #out > 0 and table.concat(out, "; ") or nil
  end

  function instance.pending(candidate, is) each("pending", candidate, is) end
  function instance.seen(candidate) each("seen", candidate) end
  return instance
end

local function new(options)
  local all = members(options)
  local names = lists.collect(all, function(m) return ("%s * %g"):format(m.identity, m.share) end)
  return { name = "mixed", identity = "mixed " .. table.concat(names, " + "),
           start = function(task, ctx) return start(all, task, ctx) end }
end

return { new = new }
