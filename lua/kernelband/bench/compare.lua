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

local compare = {}

local resamples = 400
local high = 0.9

-- Loading -------------------------------------------------------------------------

local function row_of(file, n, line)
  local row = json.table(line)
  local function fault(what) schema.raise("%s: line %d: %s", file, n, what) end
  if not row then fault "not a JSON object" end
  for _, name in ipairs { "space", "cell" } do
    if type(row[name]) ~= "string" then fault("no row of a sweep: '" .. name .. "' is missing") end
  end
  if math.type(row.seed) ~= "integer" or type(row.best) ~= "table" then
    fault "no row of a sweep: 'seed' or 'best' is missing"
  end
  for _, step in ipairs(row.best) do
    if type(step) ~= "table" or type(step[1]) ~= "number" or type(step[2]) ~= "number"
       or not (step[2] >= 0 and step[2] <= 1.000001) then
      fault "'best' must hold pairs of a pull and a share from 0 to 1"
    end
  end
  return row
end

local function load_rows(file, out)
  local lines, why = core.system.read_file(file)
  if not lines then schema.raise("%s", why) end
  local n, before = 0, #out
  for line in lines:gmatch "[^\n]+" do
    n = n + 1
    out[#out + 1] = row_of(file, n, line)
  end
  if #out == before then schema.raise("%s: it holds no rows", file) end
end

-- A run's kernels as a row; shares are filled in when all runs are known.
local function load_run(folder, out)
  local reader <close> = require("kernelband.store.run").reader(folder)
  local e, best, top = reader:experiment(), {}, 0
  local identity = e and e.identity or {}
  for _, k in ipairs(reader:kernels()) do
    if k.speedup and k.speedup > top then
      top = k.speedup
      best[#best + 1] = { k.pull or 0, top }
    end
  end
  local row = { space = identity.task or "?", seed = math.tointeger(tonumber(identity.seed)) or 0,
                cell = ("%s %s"):format(identity.policy or "?", identity.params or ""),
                best = best, top = top, arms = {}, choices = folder, run = folder }
  for _, p in ipairs(reader:pulls()) do
    row.steps = math.max(row.steps or 0, p.n)
    row.arms[p.strategy] = (row.arms[p.strategy] or 0) + 1
  end
  row.steps, row.pulls = row.steps or 0, row.steps or 0
  out[#out + 1] = row
end

-- Files of rows and folders of runs. A run's share is of the best of these runs on
-- its task.
function compare.load(names)
  local rows, top = {}, {}
  for _, name in ipairs(names) do
    local kind = core.system.exists(name)
    if not kind then schema.raise("kernelband compare: no such file or run: %s", name) end
    if kind == "dir" then load_run(name, rows) else load_rows(name, rows) end
  end
  for _, row in ipairs(rows) do
    if row.run then top[row.space] = math.max(top[row.space] or 0, row.top) end
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
  local sum, from, share = 0, 1, 0
  for _, step in ipairs(row.best) do
    local at = math.max(1, math.min(step[1], steps + 1))
    sum, from, share = sum + (at - from) * share, at, step[2]
  end
  return (sum + (steps + 1 - from) * share) / steps
end

local function reached(row, share)
  for _, step in ipairs(row.best) do
    if step[2] >= share then return math.max(step[1], 1) end
  end
  return math.huge
end

-- Grouping -------------------------------------------------------------------------

-- Names of cells and of spaces in the order of first sight, and cell -> space -> seed -> row.
local function group(rows)
  local cells, spaces, by = {}, {}, {}
  for _, row in ipairs(rows) do
    if not by[row.cell] then
      by[row.cell] = { steps = 0 }
      cells[#cells + 1] = row.cell
    end
    local cell = by[row.cell]
    if not spaces[row.space] then
      spaces[row.space] = true
      spaces[#spaces + 1] = row.space
    end
    cell[row.space] = cell[row.space] or {}
    cell[row.space][row.seed] = row
    cell.steps = math.max(cell.steps, row.steps or 0)
  end
  return cells, spaces, by
end

-- What all of the cells have: spaces, and the seeds that are there on each of these, ascending.
local function shared(spaces, ...)
  local cells, count, at = { ... }, {}, { seeds = {} }
  at.spaces = lists.collect(spaces, function(space)
    return not lists.find(cells, function(cell) return cell[space] == nil end) and space
  end)
  for _, space in ipairs(at.spaces) do
    for _, cell in ipairs(cells) do
      for seed in pairs(cell[space]) do count[seed] = (count[seed] or 0) + 1 end
    end
  end
  for seed, n in pairs(count) do
    if n == #cells * #at.spaces then at.seeds[#at.seeds + 1] = seed end
  end
  table.sort(at.seeds)
  return at
end

local function each(cell, at, visit)
  for _, space in ipairs(at.spaces) do
    for i, seed in ipairs(at.seeds) do visit(cell[space][seed], space, i) end
  end
end

-- f of every row: values[space][place of the seed].
local function values_of(cell, at, f)
  local out = {}
  for _, space in ipairs(at.spaces) do out[space] = {} end
  each(cell, at, function(row, space, i) out[space][i] = f(row) end)
  return out
end

-- Geometric mean over spaces of the mean over seeds, or over those picked.
local function geo(values, at, pick)
  local log, n = 0, #at.seeds
  for _, space in ipairs(at.spaces) do
    local sum, list = 0, values[space]
    for i = 1, n do sum = sum + list[pick and pick[i] or i] end
    log = log + math.log(math.max(sum / n, 1e-9))
  end
  return math.exp(log / #at.spaces)
end

-- The 95 % interval of statistic(pick) over resamples of n seeds.
local function bootstrap(n, statistic)
  if n < 2 then return nil end
  local rng, list, pick = core.rng(1):split "bootstrap", {}, {}
  for b = 1, resamples do
    for i = 1, n do pick[i] = 1 + rng:below(n) end
    list[b] = statistic(pick)
  end
  return core.stats.quantile(list, 0.025), core.stats.quantile(list, 0.975), list
end

-- Two-sided bootstrap p-value: how often a resampled difference has the other sign.
local function chance_of(list)
  local below, above = 0, 0
  for _, d in ipairs(list or {}) do
    if d <= 0 then below = below + 1 end
    if d >= 0 then above = above + 1 end
  end
  return math.min(1, 2 * (math.min(below, above) + 0.5) / resamples)
end

local function estimate(cell, at, f)
  local values = values_of(cell, at, f)
  local low, up = bootstrap(#at.seeds, function(pick) return geo(values, at, pick) end)
  return { value = geo(values, at), low = low, high = up }
end

-- The summary ----------------------------------------------------------------------

local function median_reached(cell, at)
  local list = {}
  each(cell, at, function(row) list[#list + 1] = reached(row, high) end)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Mean pulls an arm, over spaces and seeds, by name.
local function arms_of(cell, at)
  local sum = {}
  each(cell, at, function(row)
    for name, n in pairs(row.arms or {}) do sum[name] = (sum[name] or 0) + n end
  end)
  return lists.collect(text.keys(sum), function(name)
    return { name = name, pulls = sum[name] / (#at.spaces * #at.seeds) }
  end)
end

-- Of every space the area of the best fixed arm.
local function best_arms(cells, spaces, by, steps)
  local best = {}
  for _, name in ipairs(cells) do
    for _, space in ipairs(name:find "^arm " and spaces or {}) do
      local at, sum = shared({ space }, by[name]), 0
      each(by[name], at, function(row) sum = sum + area(row, steps) end)
      if #at.seeds > 0 then best[space] = math.max(best[space] or 0, sum / #at.seeds) end
    end
  end
  return best
end

local function regret(cell, at, best, steps)
  local sum, n = 0, 0
  each(cell, at, function(row, space)
    if best[space] then sum, n = sum + best[space] - area(row, steps), n + 1 end
  end)
  return n > 0 and sum / n or nil
end

-- An earlier cell that made the same choices in every search the two share.
local function same_as(c, list, spaces, by)
  for _, other in ipairs(list) do
    local at = shared(spaces, by[c.name], by[other.name])
    local same = #at.seeds > 0 and #at.spaces > 0
    each(by[c.name], at, function(row, space, i)
      local twin = by[other.name][space][at.seeds[i]]
      same = same and row.choices ~= nil and row.choices == twin.choices
    end)
    if same then return other.name end
  end
end

-- The difference to the reference cell at T, paired by seed.
local function against(c, reference, spaces, by, steps)
  local a, b = by[c.name], by[reference]
  if c.name == reference or not b then return nil end
  local at = shared(spaces, a, b)
  if #at.seeds == 0 or #at.spaces == 0 then return nil end
  local function f(row) return share_at(row, steps) end
  local x, y = values_of(a, at, f), values_of(b, at, f)
  local function difference(pick) return geo(x, at, pick) - geo(y, at, pick) end
  local low, up, list = bootstrap(#at.seeds, difference)
  return { value = difference(nil), low = low, high = up, seeds = #at.seeds,
           chance = chance_of(list), sure = low ~= nil and (low > 0 or up < 0) }
end

local function describe(c, cell, at, marks)
  for _, n in ipairs(marks) do
    if n <= c.steps then
      c.at[n] = estimate(cell, at, function(row) return share_at(row, n) end)
    end
  end
  local last = values_of(cell, at, function(row) return share_at(row, marks[#marks]) end)
  for _, space in ipairs(at.spaces) do
    c.space[space] = geo(last, { spaces = { space }, seeds = at.seeds })
  end
  c.area = estimate(cell, at, function(row) return area(row, c.steps) end)
  c.to90, c.arms = median_reached(cell, at), arms_of(cell, at)
end

-- The cell that others are compared with: the one wanted, else the first policy.
local function reference_of(cells, by, spaces, wanted)
  if wanted then
    if by[wanted] then return wanted end
    schema.raise("compare: there is no cell '%s'%s", wanted, schema.hint(wanted, cells))
  end
  return lists.find(cells, function(name)
    local _, row = next(by[name][spaces[1]] or {})
    return row and row.policy ~= "baseline"
  end) or cells[1]
end

-- rows -> { at, steps, spaces, reference, cells = { { name, seeds, at = { [T] =
-- estimate }, area, to90, regret, arms, same, against, space = { [space] = share } } } }
function compare.table(rows, options)
  options = options or {}
  if #rows == 0 then schema.raise "compare: no rows" end
  local cells, spaces, by = group(rows)
  local steps, out = 0, {}
  for _, name in ipairs(cells) do steps = math.max(steps, by[name].steps) end
  local marks = options.at or { 20, 40, 60, 100 }
  local at = lists.collect(marks, function(n) return n <= steps and n end)
  if #at == 0 then at[1] = steps end
  local best = best_arms(cells, spaces, by, steps)
  local reference = reference_of(cells, by, spaces, options.against)
  for _, name in ipairs(cells) do
    local own = shared(spaces, by[name])
    local c = { name = name, seeds = #own.seeds, steps = by[name].steps, at = {}, space = {},
                spaces = #own.spaces }
    if #own.seeds > 0 then
      describe(c, by[name], own, at)
      c.regret = regret(by[name], own, best, c.steps)
      c.same = same_as(c, out, own.spaces, by)
      c.against = against(c, reference, own.spaces, by, at[#at])
    end
    out[#out + 1] = c
  end
  return { at = at, steps = steps, spaces = spaces, reference = reference, cells = out,
           arms_known = next(best) ~= nil }
end

-- Text -----------------------------------------------------------------------------

local function figure(e)
  if not e then return "" end
  if not e.low then return ("%.3f"):format(e.value) end
  return ("%.3f [%.3f %.3f]"):format(e.value, e.low, e.high)
end

local function header_of(t)
  local words = { "cell", "seeds" }
  for _, n in ipairs(t.at) do words[#words + 1] = "T = " .. n end
  words[#words + 1], words[#words + 2] = "area", "to 90 %"
  words[#words + 1] = t.arms_known and "regret" or nil
  words[#words + 1] = "against " .. t.reference
  return words
end

local function words_of(t, c)
  local part = c.spaces < #t.spaces and ("%d of %d spaces, "):format(c.spaces, #t.spaces) or ""
  local words = { c.name, part .. c.seeds }
  for _, n in ipairs(t.at) do words[#words + 1] = figure(c.at[n]) end
  words[#words + 1] = c.area and ("%.3f"):format(c.area.value) or ""
  words[#words + 1] = not c.to90 and "" or c.to90 == math.huge and "> " .. c.steps
                      or tostring(c.to90)
  if t.arms_known then words[#words + 1] = c.regret and ("%+.3f"):format(c.regret) or "" end
  local d = c.against
  words[#words + 1] = c.same and "same choices as " .. c.same
    or d and ("%+.3f [%+.3f %+.3f]%s"):format(d.value, d.low or d.value, d.high or d.value,
                                               d.sure and "" or " may be chance")
    or ""
  return words
end

-- Lists of words, the header first, so that a page can show them too.
function compare.words(t)
  local out = { header_of(t) }
  for _, c in ipairs(t.cells) do out[#out + 1] = words_of(t, c) end
  return out
end

-- What each space gave at the last T, a list of words a cell.
function compare.by_space(t)
  local out = { { "T = " .. t.at[#t.at] } }
  for i, space in ipairs(t.spaces) do out[1][i + 1] = space end
  for _, c in ipairs(t.cells) do
    local row = { c.name }
    for i, space in ipairs(t.spaces) do
      row[i + 1] = c.space[space] and ("%.3f"):format(c.space[space]) or ""
    end
    out[#out + 1] = row
  end
  return out
end

-- { pull, share } of a cell after every pull.
function compare.curve(t, rows, name)
  local _, spaces, by = group(rows)
  local cell, at, out = by[name], shared(spaces, by[name]), {}
  for n = 0, math.min(cell.steps, t.steps) do
    out[n + 1] = { n, geo(values_of(cell, at, function(row) return share_at(row, n) end), at) }
  end
  return out
end

-- The table, what each space gave at the last T, and pulls an arm.
function compare.text(t, more)
  local out = { text.table(compare.words(t)) }
  if more then
    local arms = lists.collect(t.cells, function(c)
      local list = lists.collect(c.arms or {}, function(a)
        return ("%s %.1f"):format(a.name, a.pulls)
      end)
      return #list > 0 and { c.name, table.concat(list, "  ") }
    end)
    out[2] = text.table(compare.by_space(t))
    out[3] = #arms > 0 and "pulls an arm\n" .. text.table(arms) or nil
  end
  return (table.concat(out, "\n"):gsub("\n$", ""))
end

return compare
