-- trace/space.lua - a recorded space made ready to walk in: rows that repeat a
-- configuration joined, axes grouped into strategies, neighbours listed.
--
--   W = { file, axes, n, source, time_ns, verdict, reason, spread = { [row] = .. },
--         values, features, samples = { [row] = packed }, kinds = { [row] = .. },
--         row_of = { [source] = row }, ok = rows, fastest first, optimum_ns,
--         strategies = { { name, axes, target }, ... },
--         order, first, last, place = { [strategy] = { ... } } }
--
-- Columns, not rows: a table a row would be a hundred thousand objects for the
-- garbage collector to visit again and again. order[s] lists all rows so that
-- those that differ in strategy s's axes alone stand together, at first[s][row]
-- .. last[s][row], the row itself at place[s][row]: it has a move under s where
-- last > first.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local features = require "kernelband.trace.features"
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

-- Axes with more than one value, in the file's order.
local function moving(read, rows)
  return lists.collect(read.axes, function(name, i)
    for _, row in ipairs(rows) do
      if row.values[i] ~= rows[1].values[i] then return name end
    end
  end)
end

-- { tiling = { "x", "y", target = "l2" }, ... } or a list of { name =, axes =,
-- target = } as a list. Names of a table have no order, so they are sorted.
local function listed(spec, who)
  local out = lists.collect(spec, function(s, i)
    if type(s) ~= "table" or type(s.name) ~= "string" or type(s.axes) ~= "table" then
      schema.raise_at_call(who, "strategies[%d] must be { name = .., axes = { .. } }, got %s",
                           i, schema.show(s))
    end
    return { name = s.name, axes = s.axes, target = s.target }
  end)
  for _, name in ipairs(text.keys(spec)) do
    local axes = spec[name]
    if type(name) == "string" then
      if type(axes) == "string" then axes = { axes } end
      if type(axes) ~= "table" or #axes == 0 then
        schema.raise_at_call(who, "strategy '%s' must be a list of axes, got %s", name,
                             schema.show(axes))
      end
      out[#out + 1] = { name = name, axes = axes, target = axes.target }
    end
  end
  if #out == 0 then schema.raise_at_call(who, "strategies is empty") end
  return out
end

local function checked(list, axes, who, file)
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
    if s.target ~= "sm" and s.target ~= "dram" and s.target ~= "l2" then
      schema.raise_at_call(who, "strategy '%s': target must be 'sm', 'dram' or 'l2', got %s",
                           s.name, schema.show(s.target))
    end
  end
  return list
end

-- Sorts all rows into classes of neighbours; says whether any has a move.
local function neighbours(W, rows, s, axes)
  local own, classes, keys = lists.places(s.axes), {}, {}
  for i, row in ipairs(rows) do
    local key = table.concat(lists.collect(axes, function(name, a)
      return not own[name] and tostring(row.values[a])
    end), "\n")
    if not classes[key] then
      classes[key], keys[#keys + 1] = {}, key
    end
    table.insert(classes[key], i)
  end
  local order, first, last, place, any = {}, {}, {}, {}, false
  for _, key in ipairs(keys) do
    local members, from = classes[key], #order + 1
    for _, i in ipairs(members) do
      order[#order + 1] = i
      first[i], last[i], place[i] = from, from + #members - 1, #order
    end
    any = any or #members > 1
  end
  local at = #W.order + 1
  W.order[at], W.first[at], W.last[at], W.place[at] = order, first, last, place
  return any
end

local function grouped(W, rows, recorded, spec, who)
  if spec or recorded.strategies then
    if not spec then who = recorded.file end
    W.strategies = checked(listed(spec or recorded.strategies, who), W.axes, who, W.file)
    for _, s in ipairs(W.strategies) do
      if not neighbours(W, rows, s, W.axes) then
        schema.raise("%s: strategy '%s' moves nothing: no two recorded configurations differ "
                     .. "in { %s } alone", W.file, s.name, table.concat(s.axes, ", "))
      end
    end
    return
  end
  W.strategies = {}
  for _, name in ipairs(W.moving) do
    local s = { name = name, axes = { name } }
    if neighbours(W, rows, s, W.axes) then
      table.insert(W.strategies, s)
    else
      for _, column in ipairs { "order", "first", "last", "place" } do table.remove(W[column]) end
    end
  end
  if #W.strategies == 0 then
    schema.raise("%s: no two recorded configurations differ in one axis alone; group axes "
                 .. "with strategies = { name = { axes } }", W.file)
  end
  checked(W.strategies, W.axes, who, W.file)
end

-- Turns rows into columns.
local function columns(W, rows)
  for a = 1, #W.axes do W.values[a] = {} end
  local pack = features.packer(W)
  for i, row in ipairs(rows) do
    W.source[i], W.verdict[i], W.reason[i] = row.source, row.verdict, row.reason or false
    W.row_of[row.source] = i
    for a = 1, #W.axes do W.values[a][i] = row.values[a] end
    W.time_ns[i], W.spread[i], W.samples[i] = row.time_ns or 0, 0, false
    W.features[i], W.kinds[i] = false, false
    if row.verdict == "ok" then
      W.ok[#W.ok + 1] = i
      W.features[i], W.kinds[i] = pack(row)
      local samples = row.samples_ns
      if samples and #samples > 1 then
        W.samples[i] = string.pack("<" .. ("d"):rep(#samples), table.unpack(samples))
        W.spread[i] = math.min(1, 1.4826 * core.stats.mad(samples) / core.stats.median(samples))
      end
    end
  end
end

-- A strategy that owns every axis, so that a bad start is left in one step.
local function add_anew(W, rows, who)
  for _, s in ipairs(W.strategies) do
    if s.name == "anew" then
      schema.raise_at_call(who, "anew = true adds a strategy 'anew', and strategies has one")
    end
  end
  local s = { name = "anew", axes = W.moving, target = "sm" }
  neighbours(W, rows, s, W.axes)
  table.insert(W.strategies, s)
end

-- spec: strategies as the user gave them, or nil; anew: whether there is one more.
function space.compile(recorded, spec, who, anew)
  local rows = joined(recorded)
  local W = { file = recorded.file, kind = recorded.kind, device = recorded.device,
              axes = recorded.axes, n = #rows, ok = {}, row_of = {} }
  for _, column in ipairs { "source", "verdict", "reason", "time_ns", "spread", "samples",
                            "features", "kinds", "values", "order", "first", "last", "place" } do
    W[column] = {}
  end
  columns(W, rows)
  if #W.ok < 2 then
    schema.raise("%s: %d configurations, %d of them valid: a search needs two valid ones",
                 W.file, W.n, #W.ok)
  end
  W.ok = lists.sorted(W.ok, function(i) return W.time_ns[i] end)
  W.optimum_ns = W.time_ns[W.ok[1]]
  W.moving = moving(recorded, rows)
  grouped(W, rows, recorded, spec, who)
  if anew then add_anew(W, rows, who) end
  return W
end

-- The values of row i by axis.
function space.params(W, i)
  local out = {}
  for a, name in ipairs(W.axes) do out[name] = W.values[a][i] end
  return out
end

return space
