-- bench/compare.lua - rows of sweeps, or runs, as a table that says which policy is better
-- and whether that is more than chance.
--
--   kb.compare.load { "rows.jsonl", "runs/a", .. } -> rows
--   kb.compare.table(rows, { at = { 20, 40, 60, 100 }, against = cell }) -> summary
--   kb.compare.text(summary) -> lines
--
-- Share of the optimum at T: of every space the mean over seeds, over spaces the
-- geometric mean. Intervals are bootstrapped over seeds (percentile, 95 %); pairs are
-- compared on the seeds they share. area: mean share over pulls 1 .. T. to 90 %:
-- the median pull at which 0.9 was reached. regret: how much lower the area is than
-- that of the best fixed arm of each space (rows "arm ..": sweep's baselines).
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"
local text   = require "kernelband.base.text"
local collect = lists.collect

local compare = {}

local resamples = 400
local high = 0.9

-- Loading -------------------------------------------------------------------------

local row_rules = {
  { "space", "string" }, { "cell", "string" }, { "seed", "integer" },
  { "best", "list", item = { type = "list", check = function(step)
    local n, share = step[1], step[2]
    return type(n) == "number" and type(share) == "number" and share >= 0 and share <= 1.000001,
      "a pair of a pull and a share from 0 to 1"
  end } },
}

local function load_rows(file, out)
  local found, why = core.system.read_file(file)
  local lines = lists.words(found or schema.raise("%s", why), "[^\n]+")
  for n, line in ipairs(lines) do
    local row, where = json.table(line), ("%s: line %d: no row of a sweep"):format(file, n)
    schema.must(row, "%s: not a JSON object", where)
    schema.check({ space = row.space, cell = row.cell, seed = row.seed, best = row.best },
                 row_rules, where)
    out[#out + 1] = row
  end
  schema.must(#lines > 0, "%s: it holds no rows", file)
end

-- A run's kernels as a row, with speed-ups as shares; top: the best of a task.
local function load_run(folder, out, top)
  local reader <close> = require("kernelband.store.run").reader(folder)
  local identity, best, fastest = reader:experiment().identity, {}, 0
  for _, k in ipairs(reader:kernels()) do
    if k.speedup and k.speedup > fastest then
      fastest = k.speedup
      best[#best + 1] = { k.pull or 0, fastest }
    end
  end
  local row = { space = identity.task or "?", seed = math.tointeger(tonumber(identity.seed)) or 0,
                cell = ("%s %s"):format(identity.policy or "?", identity.params or ""),
                best = best, steps = 0, arms = {}, choices = folder, run = folder }
  for _, p in ipairs(reader:pulls()) do
    row.steps, row.arms[p.strategy] = p.n, (row.arms[p.strategy] or 0) + 1
  end
  out[#out + 1], top[row.space] = row, math.max(top[row.space] or 0, fastest)
end

-- Files of rows and folders of runs. A run's share is of the best of these runs on
-- its task.
function compare.load(names)
  local rows, top = {}, {}
  for _, name in ipairs(names) do
    local kind = core.system.exists(name)
    schema.must(kind, "kernelband compare: no such file or run: %s", name)
    if kind == "dir" then load_run(name, rows, top) else load_rows(name, rows) end
  end
  for _, row in ipairs(rows) do
    for _, step in ipairs(row.run and row.best or {}) do step[2] = step[2] / top[row.space] end
  end
  return rows
end

-- Figures of one row ---------------------------------------------------------------

local function share_at(row, n)
  local share = 0
  for _, step in ipairs(row.best) do
    if step[1] > n then break end
    share = step[2]
  end
  return share
end

-- Mean share over pulls 1 .. steps.
local function area(row, steps)
  local sum = 0
  for n = 1, steps do sum = sum + share_at(row, n) end
  return sum / steps
end

-- Grouping -------------------------------------------------------------------------

-- Cells { name, steps, rows[space][seed] }, names of spaces, both in the order of first sight,
-- and the cells by name.
local function group(rows)
  local by = {}
  for _, row in ipairs(rows) do
    local cell = by[row.cell] or { name = row.cell, steps = 0, rows = {} }
    by[row.cell], cell.rows[row.space] = cell, cell.rows[row.space] or {}
    cell.rows[row.space][row.seed] = row
    cell.steps = math.max(cell.steps, row.steps or 0)
  end
  local names = lists.distinct(collect(rows, "cell"))
  return collect(names, function(name) return by[name] end),
         lists.distinct(collect(rows, "space")), by
end

-- What all of the cells have: spaces, and the seeds that are there on each of these, ascending.
local function shared(spaces, ...)
  local cells, searches = { ... }, {}
  local common = collect(spaces, function(space)
    return not lists.find(cells, function(cell) return not cell.rows[space] end) and space
  end)
  for _, cell in ipairs(cells) do
    for _, space in ipairs(common) do searches[#searches + 1] = cell.rows[space] end
  end
  local seeds = collect(lists.keys(searches[1] or {}), function(seed)
    return not lists.find(searches, function(rows) return not rows[seed] end) and seed
  end)
  table.sort(seeds)
  return { spaces = common, seeds = seeds }
end

-- f of every row of a cell that is there, a list a space.
local function values_of(cell, at, f)
  return collect(at.spaces, function(space)
    return collect(at.seeds, function(seed) return f(cell.rows[space][seed]) end)
  end)
end

-- The same as one list; f may give nothing.
local function all_of(cell, at, f)
  local out = {}
  values_of(cell, at, function(row) out[#out + 1] = f(row) end)
  return out
end

-- Geometric mean over spaces of the mean over seeds, or over those picked.
local function geo(values, pick)
  local log = 0
  for _, list in ipairs(values) do
    local sum, n = 0, #list
    for i = 1, n do sum = sum + list[pick and pick[i] or i] end
    log = log + math.log(math.max(sum / n, 1e-9))
  end
  return math.exp(log / #values)
end

-- statistic() and its 95 % interval: that of statistic(pick) over resamples of n seeds, which come
-- third.
local function bootstrap(n, statistic)
  local e = { value = statistic(nil) }
  if n < 2 then return e, {} end
  local rng, list, pick = core.rng(1):split "bootstrap", {}, {}
  for b = 1, resamples do
    for i = 1, n do pick[i] = 1 + rng:below(n) end
    list[b] = statistic(pick)
  end
  e.low, e.high = core.stats.quantile(list, 0.025), core.stats.quantile(list, 0.975)
  return e, list
end

-- Two-sided bootstrap p-value: how often a resampled difference has the other sign.
local function chance_of(list)
  local below = #collect(list, function(d) return d <= 0 end)
  local above = #collect(list, function(d) return d >= 0 end)
  return math.min(1, 2 * (math.min(below, above) + 0.5) / resamples)
end

-- The summary ----------------------------------------------------------------------

local function median_reached(cell, at)
  local list = all_of(cell, at, function(row)
    local step = lists.find(row.best, function(step) return step[2] >= high end)
    return step and math.max(step[1], 1) or math.huge
  end)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Mean pulls an arm, over spaces and seeds, by name.
local function arms_of(cell, at)
  local sum = {}
  all_of(cell, at, function(row)
    for name, n in pairs(row.arms or {}) do sum[name] = (sum[name] or 0) + n end
  end)
  return collect(lists.keys(sum), function(name)
    return { name = name, pulls = sum[name] / (#at.spaces * #at.seeds) }
  end)
end

-- Of every space the area of the best fixed arm.
local function best_arms(cells, spaces, steps)
  local best = {}
  for _, cell in ipairs(cells) do
    for _, space in ipairs(cell.name:find "^arm " and spaces or {}) do
      local areas = all_of(cell, shared({ space }, cell), function(row) return area(row, steps) end)
      if areas[1] then best[space] = math.max(best[space] or 0, core.stats.mean(areas)) end
    end
  end
  return best
end

local function regret(cell, at, best)
  local list = all_of(cell, at, function(row)
    return best[row.space] and best[row.space] - area(row, cell.steps)
  end)
  return list[1] and core.stats.mean(list)
end

-- The name of an earlier cell that made the same choices in every search the two share.
local function same_as(cell, cells, spaces)
  for _, other in ipairs(cells) do
    if other == cell then return nil end
    local same = all_of(cell, shared(spaces, cell, other), function(row)
      return row.choices ~= nil and row.choices == other.rows[row.space][row.seed].choices
    end)
    if same[1] and not lists.contains(same, false) then return other.name end
  end
end

-- The difference to the reference cell at T, paired by seed.
local function against(cell, reference, spaces, steps)
  local at = shared(spaces, cell, reference)
  if cell == reference or #at.seeds == 0 then return nil end
  local function f(row) return share_at(row, steps) end
  local x, y = values_of(cell, at, f), values_of(reference, at, f)
  local e, list = bootstrap(#at.seeds, function(pick) return geo(x, pick) - geo(y, pick) end)
  e.seeds, e.chance = #at.seeds, list[1] and chance_of(list)
  e.sure = e.low ~= nil and (e.low > 0 or e.high < 0)
  return e
end

-- What the summary says of a cell, of its rows that `at` names: shares at every T of marks.
local function describe(c, cell, at, marks)
  local function estimate(f)
    local values = values_of(cell, at, f)
    return (bootstrap(#at.seeds, function(pick) return geo(values, pick) end))
  end
  for _, n in ipairs(marks) do
    c.at[n] = n <= c.steps and estimate(function(row) return share_at(row, n) end) or nil
  end
  local last = values_of(cell, at, function(row) return share_at(row, marks[#marks]) end)
  for i, space in ipairs(at.spaces) do c.space[space] = geo { last[i] } end
  c.area = estimate(function(row) return area(row, c.steps) end)
  c.to90, c.arms = median_reached(cell, at), arms_of(cell, at)
end

-- The cell that others are compared with: the one wanted, else the first policy.
local function reference_of(cells, by, spaces, wanted)
  if wanted then
    return by[wanted] or schema.raise("compare: there is no cell '%s'%s", wanted,
                                      schema.hint(wanted, collect(cells, "name")))
  end
  return lists.find(cells, function(cell)
    local _, row = next(cell.rows[spaces[1]] or {})
    return row and row.policy ~= "baseline"
  end) or cells[1]
end

-- rows -> { at, steps, spaces, reference, cells = { { name, seeds, at = { [T] =
-- estimate }, area, to90, regret, arms, same, against, space = { [space] = share } } } }
function compare.table(rows, options)
  options = options or {}
  schema.must(#rows > 0, "compare: no rows")
  local cells, spaces, by = group(rows)
  local steps = lists.best(cells, function(cell) return cell.steps end).steps
  local marks = collect(options.at or { 20, 40, 60, 100 }, function(n) return n <= steps and n end)
  if #marks == 0 then marks[1] = steps end
  local best, reference = best_arms(cells, spaces, steps),
                          reference_of(cells, by, spaces, options.against)
  local out = collect(cells, function(cell)
    local own = shared(spaces, cell)
    local c = { name = cell.name, seeds = #own.seeds, steps = cell.steps, at = {}, space = {},
                spaces = #own.spaces }
    if #own.seeds > 0 then
      describe(c, cell, own, marks)
      c.regret, c.same = regret(cell, own, best), same_as(cell, cells, own.spaces)
      c.against = against(cell, reference, own.spaces, marks[#marks])
    end
    return c
  end)
  return { at = marks, steps = steps, spaces = spaces, reference = reference.name, cells = out,
           arms_known = next(best) ~= nil }
end

-- Text -----------------------------------------------------------------------------

local function figure(e)
  if not e.low then return ("%.3f"):format(e.value) end
  return ("%.3f [%.3f %.3f]"):format(e.value, e.low, e.high)
end

local function difference(c)
  local d = c.against
  if c.same then return "same choices as " .. c.same end
  return d and ("%+.3f [%+.3f %+.3f]%s"):format(d.value, d.low or d.value, d.high or d.value,
                                                d.sure and "" or " may be chance")
end

-- A line of the table. at: the words of a T; figures: words, false for one that is not shown.
local function line(t, cell, seeds, at, figures)
  local words = { cell, seeds, table.unpack(collect(t.at, at)) }
  for _, word in ipairs(figures) do words[#words + 1] = word or nil end
  return words
end

-- Lists of words, the header first, so that a page can show them too.
function compare.words(t)
  local out = { line(t, "cell", "seeds", function(n) return "T = " .. n end,
                     { "area", "to 90 %", t.arms_known and "regret", "against " .. t.reference }) }
  for _, c in ipairs(t.cells) do
    local some = c.spaces < #t.spaces and ("%d of %d spaces, "):format(c.spaces, #t.spaces) or ""
    out[#out + 1] = line(t, c.name, some .. c.seeds,
      function(n) return c.at[n] and figure(c.at[n]) or "" end,
      { c.area and ("%.3f"):format(c.area.value) or "",
        c.to90 == math.huge and "> " .. c.steps or tostring(c.to90 or ""),
        t.arms_known and (c.regret and ("%+.3f"):format(c.regret) or ""), difference(c) or "" })
  end
  return out
end

-- What each space gave at the last T, a list of words a cell.
function compare.by_space(t)
  local out = { { "T = " .. t.at[#t.at], table.unpack(t.spaces) } }
  for i, c in ipairs(t.cells) do
    out[i + 1] = { c.name, table.unpack(collect(t.spaces, function(space)
      return c.space[space] and ("%.3f"):format(c.space[space]) or ""
    end)) }
  end
  return out
end

-- { pull, share } of a cell after every pull.
function compare.curve(t, rows, name)
  local _, spaces, by = group(rows)
  local cell, out = by[name], {}
  local at = shared(spaces, cell)
  for n = 0, math.min(cell.steps, t.steps) do
    out[n + 1] = { n, geo(values_of(cell, at, function(row) return share_at(row, n) end)) }
  end
  return out
end

-- The table, what each space gave at the last T, and pulls an arm.
function compare.text(t, more)
  local out = { text.table(compare.words(t)) }
  if more then
    local arms = collect(t.cells, function(c)
      local list = collect(c.arms or {}, function(a) return ("%s %.1f"):format(a.name, a.pulls) end)
      return #list > 0 and { c.name, table.concat(list, "  ") }
    end)
    out[2] = text.table(compare.by_space(t))
    out[3] = #arms > 0 and "pulls an arm\n" .. text.table(arms) or nil
  end
  return (table.concat(out, "\n"):gsub("\n$", ""))
end

return compare
