-- generator/mixed.lua - several generators in one search.
--
--   kb.generator.mixed { kb.generator.llm { .. }, kb.generator.schedule {} }
--   kb.generator.mixed { { kb.generator.llm { .. }, share = 3 }, kb.generator.schedule {} }
--
-- Each pull goes to one of those that have something for its kernel and strategy,
-- drawn by their shares (1 unless said). Where that one has nothing after all, the
-- next is asked.
local lists   = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local who <const> = "kb.generator.mixed"

local function members(options)
  local out = {}
  for i, m in ipairs(type(options) == "table" and options or {}) do
    local g, share = m, 1
    if type(m) == "table" and not m.start then g, share = m[1], m.share or 1 end
    if type(g) ~= "table" or type(g.start) ~= "function" then
      schema.raise_at_call(who, "item %d must be a generator or { generator, share = n }, got %s",
                           i, schema.show(g))
    end
    if type(share) ~= "number" or not (share > 0 and share < math.huge) then
      schema.raise_at_call(who, "item %d: share must be a number above 0, got %s", i,
                           schema.show(share))
    end
    out[i] = { start = g.start, name = g.name, identity = g.identity or g.name, share = share }
  end
  if #out == 0 then schema.raise_at_call(who, "the list of generators is empty") end
  return out
end

local function draw(list, rng)
  local sum = 0
  for _, m in ipairs(list) do sum = sum + m.share end
  local left = rng:uniform() * sum
  for i, m in ipairs(list) do
    left = left - m.share
    if left < 0 or i == #list then return table.remove(list, i) end
  end
end

-- candidate.by goes with a candidate whose open constants are searched, too.
local function mark(candidate, i)
  candidate.by = candidate.by or {}
  candidate.by.member = i
  return candidate
end

local function start(all, task, ctx)
  local started = lists.collect(all, function(m, i)
    return { g = m.start(task, ctx), share = m.share, i = i }
  end)
  local instance = { name = "mixed", repairs = 0 }
  for _, m in ipairs(started) do
    if m.g.priced == false then instance.priced = false end
    instance.asks = instance.asks or m.g.asks
    instance.first = instance.first or m.g.first
    if m.g.repair then instance.repairs = math.max(instance.repairs, m.g.repairs or 1) end
  end

  function instance.open(parent, strategy)
    return lists.find(started, function(m) return m.g.open(parent, strategy) end) ~= nil
  end

  function instance.propose(parent, strategy, rng, here)
    local list = lists.collect(started, function(m) return m.g.open(parent, strategy) and m end)
    local pick, why = rng:split "mixed", "no generator has anything for this pull"
    while #list > 0 do
      local m = draw(list, pick)
      local candidate, reason, code, wait_s = m.g.propose(parent, strategy, rng, here)
      if candidate then return mark(candidate, m.i) end
      if code then return nil, reason, code, wait_s end
      why = reason
    end
    return nil, why
  end

  function instance.repair(candidate, evaluation, rng, here)
    local i = candidate.by and candidate.by.member
    local g = i and started[i].g
    if not (g and g.repair) then return nil, "its generator repairs nothing" end
    local mended, why, code, wait_s = g.repair(candidate, evaluation, rng, here)
    return mended and mark(mended, i), why, code, wait_s
  end

  function instance.ending(strategies)
    local out = lists.collect(started, function(m) return m.g.ending and m.g.ending(strategies) end)
    return #out > 0 and table.concat(out, "; ") or nil
  end

  function instance.pending(candidate, is)
    for _, m in ipairs(started) do
      if m.g.pending then m.g.pending(candidate, is) end
    end
  end

  function instance.seen(candidate)
    for _, m in ipairs(started) do m.g.seen(candidate) end
  end
  return instance
end

local function new(options)
  local all = members(options)
  local names = lists.collect(all, function(m) return ("%s * %g"):format(m.identity, m.share) end)
  return { name = "mixed", identity = "mixed " .. table.concat(names, " + "),
           start = function(task, ctx) return start(all, task, ctx) end }
end

return { new = new }
