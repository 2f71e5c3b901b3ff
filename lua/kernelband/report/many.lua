-- report/many.lua - several runs side by side. Runs that differ by seed alone form
-- a group: same task, policy and parameters. A group is one curve, the median of
-- its runs, with a band from the lowest to the highest.
local lists = require "kernelband.base.lists"
local chart = require "kernelband.report.chart"
local core  = require "kernelband.core"
local html  = require "kernelband.report.html"
local page  = require "kernelband.report.page"
local text  = require "kernelband.base.text"

local many = {}

local stats = core.stats

-- Groups in the order their first run was given.
local function groups_of(models)
  local out, by_key = {}, {}
  for _, m in ipairs(models) do
    local key = table.concat({ m.task, m.policy, tostring(m.experiment.identity.params),
                               m.generator }, "\0")
    if not by_key[key] then
      by_key[key] = { task = m.task, policy = m.policy, runs = {}, params = m.params,
                      generator = m.generator_name, series = #out % 8 + 1 }
      out[#out + 1] = by_key[key]
    end
    table.insert(by_key[key].runs, m)
  end
  return out
end

-- Whether a field differs between these tables.
local function differs(list, field)
  return lists.find(list, function(t) return t[field] ~= list[1][field] end) ~= nil
end

-- Names each group by what differs between groups: task, policy, generator, parameters.
local function name_groups(groups)
  for i, g in ipairs(groups) do
    local words = { differs(groups, "task") and g.task or nil }
    local rivals = lists.collect(groups, function(h) return h.policy == g.policy and h.params end)
    local params = lists.collect(text.keys(g.params), function(name)
      return type(g.params[name]) ~= "table" and differs(rivals, name)
             and name .. "=" .. tostring(g.params[name])
    end)
    if differs(groups, "policy") or #params == 0 then words[#words + 1] = g.policy end
    local beside = lists.collect(groups, function(h) return h.task == g.task and h end)
    if differs(beside, "generator") then words[#words + 1] = g.generator end
    table.move(params, 1, #params, #words + 1, words)
    g.label = html.cut(#words > 0 and table.concat(words, " ") or ("group %d"):format(i), 40)
  end
end

local function final_speedup(m) return m.final.speedup or 1 end

-- Curves -------------------------------------------------------------------------

local ends = { landed = "pulls", at_s = "elapsed_s", usd = "usd" }

-- The best so far of a run at ascending places.
local function follower(m, key)
  local at = 0
  return function(x)
    while at < #m.curve and (m.curve[at + 1][key] or math.huge) <= x do at = at + 1 end
    return at > 0 and m.curve[at].speedup or 1
  end
end

-- Median, lowest and highest of a group's runs on a grid of 120 places, up to where
-- the first of its runs ends: beyond, fewer runs would speak for all.
local function curve(g, key, unit)
  local last, best, line, band = math.huge, {}, {}, {}
  for j, m in ipairs(g.runs) do
    last, best[j] = math.min(last, m[ends[key]] or 0), follower(m, key)
  end
  local steps = key == "landed" and math.min(last, 120) or 120
  for i = 0, steps do
    local x, values = last * i / math.max(1, steps), {}
    if key == "landed" then x = math.floor(x) end
    for j in ipairs(g.runs) do values[j] = best[j](x) end
    line[#line + 1] = { x / unit, stats.median(values) }
    band[#band + 1] = { x / unit, math.min(table.unpack(values)), math.max(table.unpack(values)) }
  end
  return line, band
end

local function overlay(groups, key, label)
  local unit, longest, high = 1, 0, 1
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do
      longest = math.max(longest, m.elapsed_s)
      for _, p in ipairs(m.curve) do high = math.max(high, p.speedup) end
    end
  end
  if key == "at_s" then label, unit = html.span(longest) end
  local c = chart.new { title = "Best so far against " .. label,
    x = { label = label, min = 0, integer = key == "landed" },
    y = { label = "speed-up over the baseline", log = high > 6 } }
  for _, g in ipairs(groups) do
    local line, band = curve(g, key, unit)
    if #g.runs > 1 then c:band(band, { series = g.series, step = true }) end
    c:line(line, { series = g.series, step = true,
      name = #g.runs > 1 and ("%s, %d runs"):format(g.label, #g.runs) or g.label })
  end
  c:rule(1, "baseline")
  return html.figure(c:svg())
end

local function curves(groups)
  local priced = true
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do priced = priced and m.usd and m.usd > 0 end
  end
  return html.grid(overlay(groups, "landed", "pulls"), overlay(groups, "at_s", "time"),
              priced and overlay(groups, "usd", "US dollars") or "")
    .. html.note("As the searches measured it. Line: the median of a group's runs; band: its "
      .. "lowest and highest run. A group's curve ends where its first run does.")
    .. html.origin "curves"
end

-- Shares of runs that are correct and more than p times as fast as the baseline.
local function fast_p(groups)
  local high = 1.5
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do high = math.max(high, final_speedup(m)) end
  end
  high = high * 1.05
  local c = chart.new { title = "fast_p", x = { label = "p, speed-up over the baseline",
      log = high > 6.3, min = 1, max = high },
    y = { label = "share of runs that are correct and more than p times as fast", min = 0,
          max = 1, format = html.percent } }
  for _, g in ipairs(groups) do
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
    .. html.origin "fast_p"
end

-- Tables -------------------------------------------------------------------------

local function runs(models)
  local function row(m)
    local f = m.final
    return { { m.name, title = m.folder }, m.task, m.policy, ("%d"):format(m.seed),
      html.count(m.pulls), html.percent(m.pulls > 0 and m.ok / m.pulls or nil),
      { html.times(f.speedup), class = "h" }, html.interval(f.speedup_low, f.speedup_high),
      m.confirmed and "yes" or "no", html.time(f.time_ns), html.duration(m.elapsed_s),
      html.usd(m.usd), m.state }
  end
  return html.heading "Runs" .. html.table({ "run", "task", "policy", "seed", "pulls", "valid",
      "speed-up", "95 % interval", "confirmed", "time", "took", "cost", "state" }, models,
      { left = 3, sort = true, row = row })
    .. html.origin "runs"
end

local function summary(groups, models)
  local function row(g)
    local logs, pulls, p = {}, 0, {}
    for j, m in ipairs(g.runs) do
      logs[j], pulls = math.log(final_speedup(m)), pulls + m.pulls
    end
    if #logs > 1 and #logs <= 64 then p = stats.paired(logs) end
    return { { html = html.dot("s" .. g.series) .. html.escape(g.label) }, g.task,
      html.count(#g.runs), html.count(pulls),
      { html.times(math.exp(stats.mean(logs))), class = "h" },
      { html.interval(p.low and math.exp(p.low), p.high and math.exp(p.high)), title = p.method } }
  end
  return html.table({ "group", "task", "runs", "pulls", "geometric mean of speed-ups",
      "95 % interval over runs" }, groups, { left = 2, row = row })
    .. html.note("Interval over runs: of the pseudo-median of log speed-ups, exact Wilcoxon, "
      .. "Student's where there are too few runs for that.") .. runs(models)
end

-- Pulls an arm, a bar a group: its runs added up.
local function arms(groups)
  local names, bars, series, rows, head = {}, {}, {}, {}, { "strategy" }
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do
      for _, name in ipairs(m.strategies) do
        if not names[name] then names[name], names[#names + 1] = true, name end
      end
    end
  end
  for j, name in ipairs(names) do
    series[j], rows[j] = { name = html.cut(name, 26), class = "s" .. (j - 1) % 8 + 1 }, { name }
  end
  for i, g in ipairs(groups) do
    bars[i] = { name = html.cut(g.label, 14), title = g.label, parts = {} }
    head[i + 1] = { html.cut(g.label, 22), title = g.label }
    for j, name in ipairs(names) do
      local n = 0
      for _, m in ipairs(g.runs) do n = n + (m.arms[name] and m.arms[name].n or 0) end
      bars[i].parts[j], rows[j][i + 1] = n, html.count(n)
    end
  end
  return html.grid(html.figure(chart.bars { title = "Pulls an arm", bars = bars, series = series,
      y = { label = "pulls", integer = true } }), html.table(head, rows, { sort = true }))
    .. html.origin "arms"
end

local function verdicts(models)
  local head, rows = { "run" }, {}
  for i, m in ipairs(models) do rows[i] = { m.name } end
  for _, v in ipairs(chart.verdicts) do
    if lists.find(models, function(m) return m.verdicts[v] end) then
      head[#head + 1] = html.verdict(v)
      for i, m in ipairs(models) do rows[i][#head] = html.count(m.verdicts[v] or 0) end
    end
  end
  return html.table(head, rows, { sort = true })
end

-- models: at least two runs.
function many.html(models)
  local groups, tasks, damage = groups_of(models), {}, {}
  name_groups(groups)
  for _, m in ipairs(models) do
    damage[#damage + 1] = m.damage and html.note(m.damage)
    if not tasks[m.task] then tasks[m.task], tasks[#tasks + 1] = true, m.task end
  end
  return page.html {
    title = ("%d runs: %s"):format(#models, html.cut(table.concat(tasks, ", "), 60)),
    lead = table.concat(damage) .. html.p(#groups == 1 and "Runs that differ by seed alone."
      or ("%d groups of runs that differ by seed alone."):format(#groups), "q"),
    sections = {
      { id = "summary", title = "Speed-ups", html = summary(groups, models) },
      { id = "progress", title = "Best so far", html = curves(groups) },
      { id = "fast_p", title = "fast_p", html = fast_p(groups) },
      { id = "arms", title = "Pulls an arm", html = arms(groups) },
      { id = "verdicts", title = "Verdicts", html = verdicts(models) },
    } }
end

return many
