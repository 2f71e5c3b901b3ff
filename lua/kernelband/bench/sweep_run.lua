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

local runner = {}

runner.baselines = { "oracle", "oracle-best", "sample", "arms" }

-- Cells ---------------------------------------------------------------------------

-- { name =, value = } of a grid stands for the value, and is called so.
local function is_named(v) return type(v) == "table" and v.name and v.value ~= nil end

-- A value as a label and as what decides whether rows may be used again.
local label_of

local function labels(t, is, between)
  return table.concat(lists.collect(lists.keys(t), function(name)
    return name .. is .. label_of(t[name])
  end), between)
end

function label_of(v)
  if is_named(v) then return v.name end
  if type(v) == "number" then return ("%.6g"):format(v) end
  if type(v) == "function" then return "f" .. core.system.hash(text.source_of(v)):sub(1, 6) end
  return type(v) == "table" and "{" .. labels(v, ":", ",") .. "}" or tostring(v)
end

-- All combinations of a grid, each a table of parameters.
local function combinations(grid)
  local out = { {} }
  for _, name in ipairs(lists.keys(grid)) do
    local values, longer = grid[name], {}
    schema.must_at_call(type(values) == "table" and #values > 0, "kb.sweep",
                        "grid.%s must be a list of values, got %s", name, schema.show(values))
    for _, chosen in ipairs(out) do
      for _, v in ipairs(values) do longer[#longer + 1] = lists.with(chosen, { [name] = v }) end
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
    local entry = schema.options(type(given) == "string" and { file = given } or given, entry_rules,
                                 "kb.sweep", "field of a policy")
    for _, chosen in ipairs(combinations(o.grid)) do
      local params = lists.with(entry.params, chosen)
      local told = labels(entry.name and chosen or params, "=", " ")
      for name, v in pairs(params) do
        if is_named(v) then params[name] = v.value end
      end
      local p = policies.load(entry.file, params)
      local source = core.system.read_file(p.file) or ""
      cells[#cells + 1] = { policy = p, reward = entry.reward,
        label = (entry.name or p.name) .. (told ~= "" and " " .. told or ""),
        key = core.system.hash(source .. labels(params, "=", " ") .. label_of(entry.reward or 0)) }
    end
  end
  return cells
end

-- Units ---------------------------------------------------------------------------

-- Of a task: how a baseline is played, what it takes beside steps and seed, its label.
local function baselines_of(o, task)
  local out = {}
  local function add(run, more, label) out[#out + 1] = { run = run, more = more, label = label } end
  for _, name in ipairs(task.oracle and o.baselines or {}) do
    if name == "sample" then add(task.sample, {}, name) end
    if name == "oracle" then add(task.oracle, { bound = "pool" }, name) end
    if name == "oracle-best" then add(task.oracle, { bound = "best" }, name) end
    for i, s in ipairs(name == "arms" and task.strategies or {}) do
      add(task.arm, { strategy = i }, "arm " .. s.name)
    end
  end
  return out
end

-- Every search of a stage, in the order of its rows.
function runner.units(o, stage)
  local units, named, cells, count = {}, {}, cells_of(o), math.tointeger(o.seeds)
  local seeds = count and {} or o.seeds
  for i = 1, count or 0 do seeds[i] = i end
  for _, task in ipairs(o.spaces) do
    schema.must_at_call(type(task.environment) == "function", "kb.sweep",
                        "spaces must be tasks of kb.trace or kb.synthetic, got %s",
                        task.name and "task " .. task.name or schema.show(task))
    schema.must_at_call(not named[task.name], "kb.sweep",
                        "two spaces are called '%s'; give one a name =", task.name)
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

-- { pull, true share of the optimum } of the start and of each best after it.
local function add_best(row, n, share)
  row.best[#row.best + 1] = { n, tonumber(("%.6g"):format(share)) }
end

local function play(row, unit)
  local r = unit.cell.run(lists.with(unit.cell.more, { steps = unit.steps, seed = unit.seed }))
  row.policy, row.pulls = "baseline", unit.steps
  local last = r.start
  add_best(row, 0, last)
  for n, share in ipairs(r.share) do
    if share ~= last then add_best(row, n, share) end
    last = share
  end
end

local function search_for(row, unit)
  local cell, task, best = unit.cell, unit.task, nil
  local r = search.run { task = task, policy = cell.policy, reward = cell.reward, seed = unit.seed,
    budget = { steps = unit.steps }, quiet = true, confirm = false, on_pull = function(p)
      if not best then
        best = p.parent
        add_best(row, 0, task.share_of_optimum(best))
      end
      if p.child and p.child.speedup_low > math.max(1, best.speedup_low) then
        best = p.child
        add_best(row, p.n, task.share_of_optimum(best))
      end
    end }
  if not best then add_best(row, 0, 0) end
  local choices = lists.collect(r.rows, function(p) return p.parent .. p.strategy end)
  row.policy, row.pulls, row.arms, row.verdicts = cell.policy.name, r.pulls, r.arms, r.verdicts
  row.choices = core.system.hash(table.concat(choices, " "))
end

function runner.run(unit)
  local row = { key = unit.key, space = unit.task.name, cell = unit.cell.label, seed = unit.seed,
                steps = unit.steps, stage = unit.stage, best = {} }
  if unit.cell.run then play(row, unit) else search_for(row, unit) end
  return row
end

return runner
