-- trace/space.lua - a recorded space made ready to walk in: rows that repeat a
-- configuration joined, axes grouped into strategies, neighbours listed.
--
--   W = { file, rows = { row, ... }, ok = rows' indices, fastest first,
--         strategies = { { name, axes, target }, ... },
--         class = { [strategy] = { [row] = members } },
--         place = { [strategy] = { [row] = the row's position in members } },
--         row_of = { [source] = row } }
--
-- members are the rows, ascending, that differ in the strategy's axes only, the
-- row itself among them: a strategy has a move where there are two.
local schema = require "kernelband.schema"

local space = {}

-- What the paper's strategies relieve; others count as compute unless told.
local targets = { tiling = "l2", vectorization = "dram", fusion = "dram", pipeline = "sm",
                  reordering = "sm", access_layout = "dram", memory = "dram", cache = "l2" }

local function text_of(values, axes)
  local out = {}
  for i, name in ipairs(axes) do out[i] = ("%s=%s"):format(name, values[i]) end
  return table.concat(out, " ")
end

-- Rows that say the same configuration are one: samples are joined, its time is
-- the mean of the times; a failure beside a success is a success.
local function joined(read)
  local rows, by_source = {}, {}
  for _, row in ipairs(read.rows) do
    local source = text_of(row.values, read.axes)
    local first = by_source[source]
    if not first then
      row.source, row.params, row.repeats = source, {}, 1
      for i, name in ipairs(read.axes) do row.params[name] = row.values[i] end
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
  local out = {}
  for i, name in ipairs(read.axes) do
    for _, row in ipairs(rows) do
      if row.values[i] ~= rows[1].values[i] then
        out[#out + 1] = name
        break
      end
    end
  end
  return out
end

-- { tiling = { "x", "y", target = "l2" }, ... } or a list of { name =, axes =,
-- target = } as a list. Names of a table have no order, so they are sorted.
local function listed(spec, who)
  local out = {}
  for i, s in ipairs(spec) do
    if type(s) ~= "table" or type(s.name) ~= "string" or type(s.axes) ~= "table" then
      schema.raise_at_call(who, "strategies[%d] must be { name = .., axes = { .. } }, got %s",
                           i, schema.show(s))
    end
    out[i] = { name = s.name, axes = s.axes, target = s.target }
  end
  local names = {}
  for name in pairs(spec) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local axes = spec[name]
    if type(axes) == "string" then axes = { axes } end
    if type(axes) ~= "table" or #axes == 0 then
      schema.raise_at_call(who, "strategy '%s' must be a list of axes, got %s", name,
                           schema.show(axes))
    end
    out[#out + 1] = { name = name, axes = axes, target = axes.target }
  end
  if #out == 0 then schema.raise_at_call(who, "strategies is empty") end
  return out
end

local function checked(list, axes, who, file)
  local known, named, owner = {}, {}, {}
  for i, name in ipairs(axes) do known[name] = i end
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

local function neighbours(W, axes)
  for at, s in ipairs(W.strategies) do
    local own, classes, class, place, any = {}, {}, {}, {}, false
    for _, name in ipairs(s.axes) do own[name] = true end
    for i, row in ipairs(W.rows) do
      local rest = {}
      for a, name in ipairs(axes) do
        if not own[name] then rest[#rest + 1] = tostring(row.values[a]) end
      end
      local key = table.concat(rest, "\n")
      local members = classes[key] or {}
      classes[key], class[i] = members, members
      members[#members + 1] = i
      place[i] = #members
      any = any or #members > 1
    end
    if not any then
      schema.raise("%s: strategy '%s' moves nothing: no two recorded configurations differ "
                   .. "in { %s } alone", W.file, s.name, table.concat(s.axes, ", "))
    end
    W.class[at], W.place[at] = class, place
  end
end

-- spec: strategies as the user gave them, or nil.
function space.compile(read, spec, who)
  local W = { file = read.file, kind = read.kind, device = read.device, axes = read.axes,
              task = read.task, rows = joined(read), ok = {}, class = {}, place = {}, row_of = {} }
  for i, row in ipairs(W.rows) do
    W.row_of[row.source] = i
    if row.verdict == "ok" then W.ok[#W.ok + 1] = i end
  end
  if #W.ok < 2 then
    schema.raise("%s: %d configurations, %d of them valid: a search needs two valid ones",
                 read.file, #W.rows, #W.ok)
  end
  table.sort(W.ok, function(a, b)
    local x, y = W.rows[a].time_ns, W.rows[b].time_ns
    if x ~= y then return x < y end
    return a < b
  end)
  W.optimum_ns = W.rows[W.ok[1]].time_ns
  W.moving = moving(read, W.rows)
  if spec then
    W.strategies = checked(listed(spec, who), read.axes, who, read.file)
  elseif read.strategies then
    W.strategies = checked(read.strategies, read.axes, read.file, read.file)
  else
    local list = {}
    for i, name in ipairs(W.moving) do list[i] = { name = name, axes = { name } } end
    W.strategies = checked(list, read.axes, who, read.file)
    for i = #list, 1, -1 do
      local ok = pcall(neighbours, { file = W.file, rows = W.rows, strategies = { list[i] },
                                     class = {}, place = {} }, read.axes)
      if not ok then table.remove(list, i) end
    end
    if #list == 0 then
      schema.raise("%s: no two recorded configurations differ in one axis alone; group axes "
                   .. "with strategies = { name = { axes } }", read.file)
    end
  end
  neighbours(W, read.axes)
  return W
end

return space
