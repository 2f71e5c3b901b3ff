-- trace/space.lua - a recorded space made ready to walk in: rows that repeat a
-- configuration joined, axes grouped into strategies, neighbours listed.
--
--   W = { file, axes, n, source, time_ns, verdict, reason, spread = { [row] = .. },
--         values = { [axis] = { .. } }, evidence = { [row] = JSON }, samples = { [row] = packed },
--         row_of = { [source] = row }, ok = rows, fastest first, optimum_ns, block_x, block_y,
--         strategies = { { name, axes, target, order, first, last, place }, .. } }
--
-- Columns, not rows: a table a row would be a hundred thousand objects for the
-- garbage collector to visit again and again. order of a strategy lists all rows so that
-- those that differ in its axes alone stand together, at first[row] .. last[row], the row itself
-- at place[row]: it has a move where last > first.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local schema   = require "kernelband.base.schema"
local text     = require "kernelband.base.text"

local space = {}

-- What the paper's strategies relieve; others count as compute unless told.
local targets = { tiling = "l2", vectorization = "dram", fusion = "dram", pipeline = "sm",
                  reordering = "sm", access_layout = "dram", memory = "dram", cache = "l2" }

local function text_of(values, axes)
  return table.concat(lists.collect(axes, function(name, i)
    return ("%s=%s"):format(name, values[i])
  end), " ")
end

-- Rows that say the same configuration are one: samples are joined, its time is
-- the mean of the times; a failure beside a success is a success.
local function joined(read)
  local rows, by_source = {}, {}
  for _, row in ipairs(read.rows) do
    local source = text_of(row.values, read.axes)
    local first = by_source[source]
    if not first then
      row.source, row.repeats = source, 1
      rows[#rows + 1], by_source[source] = row, row
    elseif row.verdict == "ok" and first.verdict ~= "ok" then
      for _, key in ipairs { "verdict", "reason", "time_ns", "samples_ns", "evidence" } do
        first[key] = row[key]
      end
    elseif row.verdict == "ok" then
      first.time_ns = (first.time_ns * first.repeats + row.time_ns) / (first.repeats + 1)
      first.repeats = first.repeats + 1
      first.samples_ns = first.samples_ns or {}
      local samples = row.samples_ns
      if not samples or #samples == 0 then samples = { row.time_ns } end
      table.move(samples, 1, #samples, #first.samples_ns + 1, first.samples_ns)
    end
  end
  return rows
end

-- { tiling = { "x", "y", target = "l2" }, ... } or a list of { name =, axes =,
-- target = } as a list. Names of a table have no order, so they are sorted.
local function listed(spec, who)
  local out = {}
  local function add(what, name, axes, target)
    if type(name) ~= "string" or type(axes) ~= "table" or #axes == 0 then
      schema.raise_at_call(who, "%s must be %s, got %s", what, type(name) == "string"
        and "a list of axes" or "{ name = .., axes = { .. } }", schema.show(axes))
    end
    out[#out + 1] = { name = name, axes = axes, target = target }
  end
  for i, s in ipairs(spec) do
    local given = type(s) == "table" and s or {}
    add(("strategies[%d]"):format(i), given.name, given.axes or s, given.target)
  end
  for _, name in ipairs(text.keys(spec)) do
    local axes = spec[name]
    if type(axes) == "string" then axes = { axes } end
    if type(name) == "string" then
      add(("strategy '%s'"):format(name), name, axes, type(axes) == "table" and axes.target)
    end
  end
  if #out == 0 then schema.raise_at_call(who, "strategies is empty") end
  return out
end

local function check(list, axes, who, file)
  local known, named, owner = lists.places(axes), {}, {}
  for _, s in ipairs(list) do
    if named[s.name] then schema.raise_at_call(who, "strategy '%s' is named twice", s.name) end
    named[s.name] = true
    for _, axis in ipairs(s.axes) do
      if not known[axis] then
        schema.raise_at_call(who, "strategy '%s': %s has no axis '%s'%s", s.name, file,
                             tostring(axis), schema.hint(axis, axes))
      elseif owner[axis] then
        schema.raise_at_call(who, "axis '%s' is moved by both %s and %s; one strategy owns it",
                             axis, owner[axis], s.name)
      end
      owner[axis] = s.name
    end
    s.target = s.target or targets[s.name] or "sm"
    if not schema.contains({ "sm", "dram", "l2" }, s.target) then
      schema.raise_at_call(who, "strategy '%s': target must be 'sm', 'dram' or 'l2', got %s",
                           s.name, schema.show(s.target))
    end
  end
end

-- Sorts all rows into the strategy's classes of neighbours; says whether any has a move.
local function has_moves(W, s)
  local own, classes, by_key = lists.places(s.axes), {}, {}
  for i = 1, W.n do
    local key = table.concat(lists.collect(W.axes, function(name, a)
      return not own[name] and tostring(W.values[a][i])
    end), "\n")
    if not by_key[key] then by_key[key], classes[#classes + 1] = #classes + 1, {} end
    table.insert(classes[by_key[key]], i)
  end
  s.order, s.first, s.last, s.place, s.params, s.gains = {}, {}, {}, {}, {}, {}
  for _, class in ipairs(classes) do
    local from = #s.order
    for at, i in ipairs(class) do
      s.order[from + at], s.first[i], s.last[i], s.place[i] = i, from + 1, from + #class, from + at
    end
  end
  return #classes < W.n
end

-- spec: strategies as the user gave them, or nil; anew: whether there is one more, which owns
-- every axis, so that a bad start is left in one step.
local function add_strategies(W, recorded, spec, who, anew)
  if not spec then who = W.file end
  spec = spec or recorded.strategies
  if spec then
    W.strategies = listed(spec, who)
    check(W.strategies, W.axes, who, W.file)
  else
    W.strategies = lists.collect(W.moving, function(name)
      return { name = name, axes = { name }, target = targets[name] or "sm" }
    end)
  end
  W.strategies = lists.collect(W.strategies, function(s)
    if has_moves(W, s) then return s end
    if spec then
      schema.raise("%s: strategy '%s' moves nothing: no two recorded configurations differ "
                   .. "in { %s } alone", W.file, s.name, table.concat(s.axes, ", "))
    end
  end)
  if #W.strategies == 0 then
    schema.raise("%s: no two recorded configurations differ in one axis alone; group axes "
                 .. "with strategies = { name = { axes } }", W.file)
  end
  if not anew then return end
  if schema.contains(lists.collect(W.strategies, "name"), "anew") then
    schema.raise_at_call("kb.trace", "anew = true adds a strategy 'anew', and strategies has one")
  end
  table.insert(W.strategies, { name = "anew", axes = W.moving, target = "sm" })
  has_moves(W, W.strategies[#W.strategies])
end

-- Turns rows into columns.
local function fill(W, rows)
  for a, name in ipairs(W.axes) do
    W.values[a] = lists.collect(rows, function(row) return row.values[a] end)
    local block = name:lower():find "block" and name:lower():match "[xy]$"
    if block then W["block_" .. block] = W["block_" .. block] or a end
  end
  for i, row in ipairs(rows) do
    W.source[i], W.verdict[i], W.reason[i] = row.source, row.verdict, row.reason or false
    W.row_of[row.source] = i
    W.time_ns[i], W.spread[i], W.samples[i] = row.time_ns or 0, 0, false
    W.evidence[i] = row.evidence and json.encode(row.evidence) or false
    if row.verdict == "ok" then
      W.ok[#W.ok + 1] = i
      local samples = row.samples_ns
      if samples and #samples > 1 then
        W.samples[i] = string.pack("<" .. ("d"):rep(#samples), table.unpack(samples))
        W.spread[i] = math.min(1, 1.4826 * core.stats.mad(samples) / core.stats.median(samples))
      end
    end
  end
end

-- What read.file gave, with strategies by the user's spec or nil.
function space.compile(recorded, spec, who, anew)
  local rows = joined(recorded)
  local W = { file = recorded.file, device = recorded.device,
              axes = recorded.axes, n = #rows, ok = {}, row_of = {}, known = {} }
  for _, column in ipairs { "source", "verdict", "reason", "time_ns", "spread", "samples",
                            "evidence", "values" } do
    W[column] = {}
  end
  fill(W, rows)
  if #W.ok < 2 then
    schema.raise("%s: %d configurations, %d of them valid: a search needs two valid ones",
                 W.file, W.n, #W.ok)
  end
  W.ok = lists.sorted(W.ok, function(i) return W.time_ns[i] end)
  W.optimum_ns = W.time_ns[W.ok[1]]
  W.moving = lists.collect(W.axes, function(name, a)
    local values = W.values[a]
    return lists.find(values, function(v) return v ~= values[1] end) and name
  end)
  add_strategies(W, recorded, spec, who, anew)
  return W
end

-- The values of row i by axis.
function space.params(W, i)
  local out = {}
  for a, name in ipairs(W.axes) do out[name] = W.values[a][i] end
  return out
end

return space
