-- trace/space.lua - a recorded space made ready to walk in: rows that repeat a
-- configuration joined, axes grouped into strategies, neighbours listed.
--
--   W = { file, axes, n, source, time_ns, verdict, reason, spread = { [row] = .. },
--         values = { [axis] = { .. } }, evidence = { [row] = JSON }, samples = { [row] = list },
--         row_of = { [source] = row }, ok = rows, fastest first, optimum_ns,
--         block_x = the values of an axis, block_y,
--         strategies = { { name, axes, target, order, first, last, place }, .. } }
--
-- Columns, not rows, and evidence as text: tables a row would be a hundred thousand objects for the
-- garbage collector to visit again and again. order of a strategy lists all rows so that
-- those that differ in its axes alone stand together, at first[row] .. last[row], the row itself
-- at place[row]: it has a move where last > first.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local schema   = require "kernelband.base.schema"

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
local function joined(rows)
  local fine = lists.collect(rows, function(row) return row.verdict == "ok" and row end)
  local first = fine[1] or rows[1]
  for n = 2, #fine do
    local samples = fine[n].samples_ns or { fine[n].time_ns }
    first.time_ns = (first.time_ns * (n - 1) + fine[n].time_ns) / n
    first.samples_ns = first.samples_ns or {}
    table.move(samples, 1, #samples, #first.samples_ns + 1, first.samples_ns)
  end
  return first
end

-- Strategies ----------------------------------------------------------------------

local rules = {
  { "name", "string" },
  { "axes", "list", at_least = 1, item = { type = "string" } },
  { "target", "string", optional = true, one_of = { "sm", "dram", "l2" } },
}

-- The strategies of { tiling = { "x", "y", target = "l2" }, ... } or of a list of { name =,
-- axes =, target = }. Names of a table have no order, so they are sorted.
local function listed(W, spec, who)
  local out = { table.unpack(spec) }
  for _, name in ipairs(lists.keys(spec)) do
    local axes = type(spec[name]) == "string" and { spec[name] } or spec[name]
    if type(name) == "string" then
      local own = type(axes) == "table" and { table.unpack(axes) } or axes
      out[#out + 1] = { name = name, axes = own, target = own ~= axes and axes.target or nil }
    end
  end
  schema.must_at_call(#out > 0, who, "strategies is empty")
  local known, named, owner = lists.places(W.axes), {}, {}
  for i, s in ipairs(out) do
    local where = ("strategy '%s'"):format(type(s) == "table" and s.name or i)
    out[i] = schema.options(s, rules, who .. ": " .. where, "field")
    schema.must_at_call(not named[s.name], who, "%s is named twice", where)
    named[s.name] = true
    for _, axis in ipairs(s.axes) do
      schema.must_at_call(known[axis], who, "%s: %s has no axis '%s'%s", where, W.file, axis,
                          schema.hint(axis, W.axes))
      schema.must_at_call(not owner[axis], who, "axis '%s' is moved by both %s and %s; one "
                          .. "strategy owns it", axis, owner[axis], s.name)
      owner[axis] = s.name
    end
  end
  return out
end

-- Sorts all rows into the strategy's classes of neighbours; says whether any has a move.
local function has_moves(W, s)
  local own = lists.places(s.axes)
  local classes = lists.groups(W.source, function(_, i)
    return table.concat(lists.collect(W.axes, function(name, a)
      return not own[name] and tostring(W.values[a][i])
    end), "\n")
  end)
  s.order, s.first, s.last, s.place, s.params, s.gains = {}, {}, {}, {}, {}, {}
  for _, class in ipairs(classes) do
    local from = #s.order
    for at, source in ipairs(class) do
      local i = W.row_of[source]
      s.order[from + at], s.first[i], s.last[i], s.place[i] = i, from + 1, from + #class, from + at
    end
  end
  return #classes < W.n
end

-- options: of kb.trace. Strategies are the user's, else the file's, else one an axis; anew owns
-- every axis, so that a bad start is left in one step.
local function add_strategies(W, recorded, options)
  local spec, who = options.strategies or recorded.strategies, options.strategies and "kb.trace"
  local list = spec and listed(W, spec, who or W.file) or lists.collect(W.moving, function(name)
    return { name = name, axes = { name } }
  end)
  W.strategies = lists.collect(list, function(s)
    s.target = s.target or targets[s.name] or "sm"
    local moves = has_moves(W, s)
    schema.must(moves or not spec, "%s: strategy '%s' moves nothing: no two recorded "
                .. "configurations differ in { %s } alone", W.file, s.name,
                table.concat(s.axes, ", "))
    return moves and s
  end)
  schema.must(#W.strategies > 0, "%s: no two recorded configurations differ in one axis alone; "
              .. "group axes with strategies = { name = { axes } }", W.file)
  if not options.anew then return end
  schema.must_at_call(not lists.contains(lists.collect(W.strategies, "name"), "anew"), "kb.trace",
                      "anew = true adds a strategy 'anew', and strategies has one")
  local anew = { name = "anew", axes = W.moving, target = "sm" }
  has_moves(W, anew)
  table.insert(W.strategies, anew)
end

-- The column of the first axis that is called a size of blocks along x, or y; nil: there is none.
local function block(W, side)
  local _, a = lists.find(W.axes, function(name)
    return name:lower():find("block.*" .. side .. "$")
  end)
  return W.values[a]
end

-- What read.file gave, by the options of kb.trace.
function space.compile(recorded, options)
  for _, row in ipairs(recorded.rows) do row.source = text_of(row.values, recorded.axes) end
  local rows = lists.collect(lists.groups(recorded.rows, "source"), joined)
  local function column(of) return lists.collect(rows, of) end
  local W = {
    file = recorded.file, device = recorded.device, axes = recorded.axes, n = #rows,
    noise = options.noise, draws = options.draws == "all" and math.huge or options.draws,
    source = column "source", verdict = column "verdict",
    reason = column(function(row) return row.reason or "" end),
    time_ns = column(function(row) return row.time_ns or 0 end),
    evidence = column(function(row) return row.evidence and json.encode(row.evidence) or "" end),
    samples = column(function(row) return row.samples_ns or {} end),
    values = lists.collect(recorded.axes, function(_, a)
      return column(function(row) return row.values[a] end)
    end),
    known = {},
  }
  W.row_of, W.block_x, W.block_y = lists.places(W.source), block(W, "x"), block(W, "y")
  W.spread = lists.collect(W.samples, function(samples)
    return samples[2] and math.min(1, 1.4826 * core.stats.mad(samples) / core.stats.median(samples))
           or 0
  end)
  local ok = lists.collect(W.verdict, function(verdict, i) return verdict == "ok" and i end)
  schema.must(#ok > 1, "%s: %d configurations, %d of them valid: a search needs two valid ones",
              W.file, W.n, #ok)
  W.ok = lists.sorted(ok, function(i) return W.time_ns[i] end)
  W.optimum_ns = W.time_ns[W.ok[1]]
  W.moving = lists.collect(W.axes, function(name, a)
    local values = W.values[a]
    return lists.find(values, function(v) return v ~= values[1] end) and name
  end)
  add_strategies(W, recorded, options)
  return W
end

-- The values of row i by axis.
function space.params(W, i)
  local out = {}
  for a, name in ipairs(W.axes) do out[name] = W.values[a][i] end
  return out
end

return space
