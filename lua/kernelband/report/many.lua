-- report/many.lua - several runs side by side. Runs that differ by seed alone form
-- a group: same task, policy and parameters. A group is one curve, the median of
-- its runs, with a band from the lowest to the highest.
local chart  = require "kernelband.report.chart"
local html   = require "kernelband.report.html"
local lists  = require "kernelband.base.lists"
local search = require "kernelband.report.search"
local stats  = require("kernelband.core").stats

local many = {}

-- Groups -------------------------------------------------------------------------

-- Groups in the order their first run was given.
local function groups_of(models)
  local groups = lists.groups(models, function(m)
    return table.concat({ m.task, m.policy, tostring(m.experiment.identity.params), m.generator },
                        "\0")
  end)
  return lists.collect(groups, function(runs, i)
    local m = runs[1]
    return { task = m.task, policy = m.policy, runs = runs, params = m.params,
             generator = m.generator_name, series = (i - 1) % 8 + 1 }
  end)
end

-- Whether a field differs between these tables.
local function differs(list, field)
  return lists.find(list, function(t) return t[field] ~= list[1][field] end) ~= nil
end

-- Names each group by what differs between groups: task, policy, generator, parameters.
local function name_groups(groups)
  for _, g in ipairs(groups) do
    local words = { differs(groups, "task") and g.task or nil }
    local rivals = lists.collect(groups, function(h) return h.policy == g.policy and h.params end)
    local params = lists.collect(lists.keys(g.params), function(name)
      return type(g.params[name]) ~= "table" and differs(rivals, name)
             and name .. "=" .. tostring(g.params[name])
    end)
    if differs(groups, "policy") or #params == 0 then words[#words + 1] = g.policy end
    local beside = lists.collect(groups, function(h) return h.task == g.task and h end)
    if differs(beside, "generator") then words[#words + 1] = g.generator end
    table.move(params, 1, #params, #words + 1, words)
    g.label = html.cut(table.concat(words, " "), 40)
  end
end

-- The largest of(m) of models, at least `least`.
local function most(models, least, of)
  return math.max(least, table.unpack(lists.collect(models, of)))
end

-- Sections -----------------------------------------------------------------------

local function runs(models)
  local show = { run = function(m) return { m.name, title = m.folder } end }
  show["speed-up"] = function(m) return { html.times(m.final.speedup), class = "h" } end
  return html.heading "Runs"
         .. html.listing("run", models, { left = 3, sort = true, show = show })
end

local function summary(all)
  local function row(g)
    local logs, pulls, p = {}, 0, {}
    for j, m in ipairs(g.runs) do
      logs[j], pulls = math.log(m.final.speedup or 1), pulls + m.pulls
    end
    if #logs > 1 and #logs <= 128 then p = stats.paired(logs) end
    return { { html = html.dot("s" .. g.series) .. html.escape(g.label) }, g.task,
      html.count(#g.runs), html.count(pulls),
      { html.times(math.exp(stats.mean(logs))), class = "h" },
      { html.interval(p.low and math.exp(p.low), p.high and math.exp(p.high)), title = p.method } }
  end
  return html.table({ "group", "task", "runs", "pulls", "geometric mean of speed-ups",
      "95 % interval over runs" }, all.groups, { left = 2, row = row })
    .. html.note(html.said "runs") .. runs(all.models)
end

-- Median, lowest and highest of a group's runs on a grid of 120 places, up to where
-- the first of its runs ends: beyond, fewer runs would speak for all.
local function curve(g, key)
  local last, line = math.min(table.unpack(lists.collect(g.runs, search.axes[key].last))), {}
  local steps = key == "landed" and math.min(last, 120) or 120
  for i = 0, steps do
    local x = last * i / math.max(1, steps)
    if key == "landed" then x = math.floor(x) end
    local values = lists.collect(g.runs, function(m)
      local best = lists.best(m.curve, function(p)
        return (p[key] or math.huge) <= x and p.landed
      end)
      return best and best.speedup or 1
    end)
    local several = #values > 1
    line[i + 1] = { x, stats.median(values), several and math.min(table.unpack(values)) or nil,
                    several and math.max(table.unpack(values)) or nil }
  end
  return line
end

local function overlay(all, key)
  local c = search.best_chart(key, most(all.models, 0, "elapsed_s"), 1,
    most(all.models, 1, "fastest"))
  for _, g in ipairs(all.groups) do
    c:line(curve(g, key), { series = g.series, step = true,
      name = #g.runs > 1 and ("%s, %d runs"):format(g.label, #g.runs) or g.label })
  end
  c:rule(1, "baseline")
  return html.figure(c:svg())
end

local function curves(all)
  local priced = not lists.find(all.models, function(m) return not m.usd or m.usd <= 0 end)
  return html.grid(overlay(all, "landed"), overlay(all, "at_s"),
                   priced and overlay(all, "usd") or "")
    .. html.note(html.said "groups")
end

-- Shares of runs that are correct and more than p times as fast as the baseline.
local function fast_p(all)
  local high = 1.05 * most(all.models, 1.5, function(m) return m.final.speedup end)
  local c = chart.new { title = "fast_p", x = { label = "p, speed-up over the baseline",
      log = high > 6.3, min = 1, max = high },
    y = { label = "share of runs that are correct and more than p times as fast", min = 0,
          max = 1, format = html.percent } }
  for _, g in ipairs(all.groups) do
    local faster = lists.collect(g.runs, function(m)
      return m.winner and m.winner.id ~= 1 and m.final.speedup > 1 and m.final.speedup
    end)
    table.sort(faster)
    local line = { { 1, #faster / #g.runs } }
    for i, s in ipairs(faster) do line[i + 1] = { s, (#faster - i) / #g.runs } end
    line[#line + 1] = { high, 0 }
    c:line(line, { series = g.series, step = true, name = g.label })
  end
  return html.grid(html.figure(c:svg()))
end

-- Pulls an arm, a bar a group: its runs added up.
local function arms(all)
  local names = lists.distinct(lists.joined(lists.collect(all.models, "strategies")))
  local series = lists.collect(names, function(name, j)
    return { key = name, name = html.cut(name, 26), class = "s" .. (j - 1) % 8 + 1 }
  end)
  local bars = lists.collect(all.groups, function(g)
    local parts = {}
    for _, m in ipairs(g.runs) do
      for name, arm in pairs(m.arms) do parts[name] = (parts[name] or 0) + arm.n end
    end
    return { name = html.cut(g.label, 14), title = g.label, parts = parts }
  end)
  local head = lists.collect(all.groups, function(g)
    return { html.cut(g.label, 22), title = g.label }
  end)
  return html.grid(html.figure(chart.bars { title = "Pulls an arm", bars = bars, series = series,
      y = { label = "pulls", integer = true } }),
    html.table({ "strategy", table.unpack(head) }, names, { sort = true, row = function(name)
      return { name, table.unpack(lists.collect(bars, function(bar)
        return html.count(bar.parts[name] or 0)
      end)) }
    end }))
end

local function verdicts(all)
  local names = lists.collect(chart.verdicts, function(v)
    return lists.find(all.models, function(m) return m.verdicts[v] end) and v
  end)
  return html.table({ "run", table.unpack(lists.collect(names, html.verdict)) }, all.models,
    { sort = true, row = function(m)
      return { m.name, table.unpack(lists.collect(names, function(v)
        return html.count(m.verdicts[v] or 0)
      end)) }
    end })
end

-- What html.page takes, of models of at least two runs.
function many.view(models)
  local groups, tasks = groups_of(models), lists.distinct(lists.collect(models, "task"))
  name_groups(groups)
  return {
    title = ("%d runs: %s"):format(#models, html.cut(table.concat(tasks, ", "), 60)),
    lead = html.p(html.said("seeds", { groups = groups }), "q"),
    sections = html.sections({
      { "summary", "Speed-ups", summary, origin = "runs" },
      { "progress", "Best so far", curves, origin = "curves" },
      { "fast_p", "fast_p", fast_p },
      { "arms", "Pulls an arm", arms },
      { "verdicts", "Verdicts", verdicts, origin = "nothing" } },
      { models = models, groups = groups }) }
end

return many
