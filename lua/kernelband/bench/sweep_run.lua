-- bench/sweep_run.lua - what a sweep consists of: units, each one search (or a baseline
-- that knows more or less than a policy may), and the row that comes of it.
--
-- A row: { key, space, cell, policy, seed, steps, stage, pulls, best = { { pull,
-- share of the optimum } where it rose }, arms, verdicts, choices = hash of what was
-- chosen }. Rows of one space, seed and choices were the same search.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local policies = require "kernelband.policy"
local schema   = require "kernelband.base.schema"
local search   = require "kernelband.search.search"
local text     = require "kernelband.base.text"

local keys = text.keys

local runner = {}

runner.baselines = { "oracle", "oracle-best", "sample", "arms" }

local function digits(x) return tonumber(("%.6g"):format(x)) end

-- Cells ---------------------------------------------------------------------------

-- A value as a label and as what decides whether rows may be used again.
local function label_of(v)
  if type(v) == "table" and v.name and v.value ~= nil then return v.name end
  if type(v) == "number" then return ("%.6g"):format(v) end
  if type(v) == "function" then
    return "f" .. core.system.hash(text.source_of(v)):sub(1, 6)
  elseif type(v) == "table" then
    return "{" .. table.concat(lists.collect(keys(v), function(k)
      return k .. ":" .. label_of(v[k])
    end), ",") .. "}"
  end
  return tostring(v)
end

local function value_of(v)
  if type(v) == "table" and v.name and v.value ~= nil then return v.value end
  return v
end

-- All combinations of a grid: lists of { name, value }.
local function combinations(grid)
  local out = { {} }
  for _, name in ipairs(keys(grid)) do
    local values = grid[name]
    if type(values) ~= "table" or #values == 0 then
      schema.raise_at_call("kb.sweep", "grid.%s must be a list of values, got %s", name,
                           schema.show(values))
    end
    local longer = {}
    for _, chosen in ipairs(out) do
      for _, v in ipairs(values) do
        local one = table.move(chosen, 1, #chosen, 1, {})
        one[#one + 1] = { name, v }
        longer[#longer + 1] = one
      end
    end
    out = longer
  end
  return out
end

local entry_rules = {
  { "file", "string" }, { "name", "string", optional = true },
  { "params", "table", default = {} }, { "reward", "function", optional = true },
}

-- Policies x grid, each loaded once: { label, policy, reward, key }.
local function cells_of(o)
  local cells = {}
  for _, given in ipairs(o.policies) do
    if type(given) == "string" then given = { file = given } end
    local entry = schema.options(given, entry_rules, "kb.sweep", "field of a policy")
    for _, chosen in ipairs(combinations(o.grid)) do
      local params, words = {}, {}
      local function set(name, v, told)
        params[name] = value_of(v)
        words[#words + 1] = told and name .. "=" .. label_of(v) or nil
      end
      for _, name in ipairs(keys(entry.params)) do set(name, entry.params[name], not entry.name) end
      for _, c in ipairs(chosen) do set(c[1], c[2], true) end
      local secret = lists.collect(keys(params), function(name)
        return name .. "=" .. label_of(params[name])
      end)
      local p = policies.load(entry.file, params)
      local source = core.system.read_file(p.file) or ""
      table.insert(words, 1, entry.name or p.name)
      cells[#cells + 1] = { label = table.concat(words, " "), policy = p, reward = entry.reward,
        key = core.system.hash(source .. table.concat(secret, " ") .. label_of(entry.reward or 0)) }
    end
  end
  return cells
end

-- Units ---------------------------------------------------------------------------

local function seeds_of(seeds)
  if type(seeds) == "table" then return seeds end
  local out = {}
  for i = 1, seeds do out[i] = i end
  return out
end

local function baselines_of(o, task)
  local out = {}
  for _, name in ipairs(task.oracle and o.baselines or {}) do
    if name == "arms" then
      for i, s in ipairs(task.strategies) do
        out[#out + 1] = { label = "arm " .. s.name, run = task.arm, more = { strategy = i } }
      end
    elseif name == "sample" then
      out[#out + 1] = { label = "sample", run = task.sample, more = {} }
    else
      out[#out + 1] = { label = name, run = task.oracle,
                        more = { bound = name == "oracle" and "pool" or "best" } }
    end
  end
  return out
end

-- Every search of a stage, in the order of its rows.
function runner.units(o, stage)
  local units, named = {}, {}
  local cells, seeds = cells_of(o), seeds_of(o.seeds)
  for _, task in ipairs(o.spaces) do
    if type(task.environment) ~= "function" then
      schema.raise_at_call("kb.sweep", "spaces must be tasks of kb.trace or kb.synthetic, "
                           .. "got %s", task.name and "task " .. task.name or schema.show(task))
    elseif named[task.name] then
      schema.raise_at_call("kb.sweep", "two spaces are called '%s'; give one a name =", task.name)
    end
    named[task.name] = true
    local list = baselines_of(o, task)
    table.move(cells, 1, #cells, #list + 1, list)
    for _, cell in ipairs(list) do
      for _, seed in ipairs(seeds) do
        units[#units + 1] = { task = task, cell = cell, seed = seed, steps = o.steps, stage = stage,
          key = ("%s|%s|%s|%d|%d|%s"):format(task.name, cell.label, cell.key or "", o.steps, seed,
                                            task.optimum_ns) }
      end
    end
  end
  return units
end

local function trail_of(start, share)
  local out, last = { { 0, digits(start) } }, start
  for n, s in ipairs(share) do
    if s ~= last then out[#out + 1], last = { n, digits(s) }, s end
  end
  return out
end

local function choices_of(rows)
  return core.system.hash(table.concat(lists.collect(rows, function(row)
    return row.parent .. row.strategy
  end), " "))
end

-- A search, and { pull, true share of the optimum } of each best.
local function watched(unit, options)
  local trail, best = { { 0, 0 } }, nil
  options.on_pull = function(p)
    if #trail == 1 and p.n == 1 then
      best = p.parent
      trail[1][2] = unit.task.share_of_optimum(p.parent)
    end
    if p.child and p.child.speedup_low > math.max(1, best.speedup_low) then
      best = p.child
      trail[#trail + 1] = { p.n, unit.task.share_of_optimum(p.child) }
    end
  end
  return search.run(options), trail
end

function runner.run(unit)
  local cell, task = unit.cell, unit.task
  local row = { key = unit.key, space = task.name, cell = cell.label, seed = unit.seed,
                steps = unit.steps, stage = unit.stage }
  if cell.run then
    local r = cell.run(lists.with(cell.more, { steps = unit.steps, seed = unit.seed }))
    row.policy, row.pulls, row.best = "baseline", unit.steps, trail_of(r.start, r.share)
    return row
  end
  local options = { task = task, policy = cell.policy, reward = cell.reward, seed = unit.seed,
                    budget = { steps = unit.steps }, quiet = true, confirm = false }
  local r, trail = watched(unit, options)
  for _, step in ipairs(trail) do step[2] = digits(step[2]) end
  row.policy, row.pulls, row.best = cell.policy.name, r.pulls, trail
  row.arms, row.verdicts, row.choices = r.arms, r.verdicts, choices_of(r.rows)
  return row
end

return runner
