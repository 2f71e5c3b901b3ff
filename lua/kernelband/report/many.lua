-- report/many.lua - several runs side by side. Runs that differ by seed alone form
-- a group: same task, policy and parameters. A group is one curve, the median of
-- its runs, with a band from the lowest to the highest.
local chart  = require "kernelband.report.chart"
local core   = require "kernelband.core"
local format = require "kernelband.report.format"
local page   = require "kernelband.report.page"

local many = {}

local stats = core.stats

-- Groups in the order their first run was given. Each: label, runs.
local function groups_of(models)
  local out, by_key = {}, {}
  for _, m in ipairs(models) do
    local key = table.concat({ m.task, m.policy, tostring(m.experiment.identity.params),
                               m.generator }, "\0")
    if not by_key[key] then
      by_key[key] = { task = m.task, policy = m.policy, runs = {}, params = m.params,
                      generator = m.generator }
      out[#out + 1] = by_key[key]
    end
    table.insert(by_key[key].runs, m)
  end
  return out
end

local function same(groups, key)
  for _, g in ipairs(groups) do if g[key] ~= groups[1][key] then return false end end
  return true
end

-- A parameter that groups of the same policy set differently is part of the name.
local function differing(groups)
  local names, seen = {}, {}
  for _, g in ipairs(groups) do
    for _, h in ipairs(groups) do
      for name, v in pairs(g.params) do
        if type(v) ~= "table" and g.policy == h.policy and h.params[name] ~= v
           and not seen[name] then
          seen[name] = true
          names[#names + 1] = name
        end
      end
    end
  end
  table.sort(names)
  return names
end

local function name_groups(groups)
  local names = differing(groups)
  for i, g in ipairs(groups) do
    local words = { same(groups, "policy") and #groups > 1 and #names > 0 and "" or g.policy }
    if not same(groups, "task") then table.insert(words, 1, g.task) end
    for _, h in ipairs(groups) do
      if h.task == g.task and h.generator ~= g.generator then
        words[#words + 1] = g.generator
        break
      end
    end
    for _, name in ipairs(names) do
      if g.params[name] ~= nil then
        words[#words + 1] = name .. "=" .. tostring(g.params[name])
      end
    end
    g.label = table.concat(words, " "):gsub("^ +", "")
    g.series = (i - 1) % 8 + 1
    if g.label == "" then g.label = ("group %d"):format(i) end
    g.label = chart.cut(g.label, 40)
  end
end

-- The best so far of a run at x.
local function value_at(m, key, x)
  local v, at = 1, m.at[key]
  while at < #m.curve and (m.curve[at + 1][key] or math.huge) <= x do at = at + 1 end
  m.at[key] = at
  if at > 0 then v = m.curve[at].speedup end
  return v
end

local ends = { landed = "pulls", at_s = "elapsed_s", usd = "usd" }

-- Median, lowest and highest of a group's runs on a grid of 120 places, up to where
-- the first of its runs ends: beyond, fewer runs would speak for all.
local function curve(g, key, unit)
  local last = math.huge
  for _, m in ipairs(g.runs) do
    last = math.min(last, m[ends[key]] or 0)
    m.at = { landed = 0, at_s = 0, usd = 0 }
  end
  local line, band = {}, {}
  local steps = key == "landed" and math.min(last, 120) or 120
  for i = 0, steps do
    local x = key == "landed" and math.floor(last * i / math.max(1, steps)) or last * i / steps
    local values = {}
    for j, m in ipairs(g.runs) do values[j] = value_at(m, key, x) end
    line[#line + 1] = { x / unit, stats.median(values) }
    band[#band + 1] = { x / unit, math.min(table.unpack(values)), math.max(table.unpack(values)) }
  end
  return line, band
end

local function overlay(groups, key, label)
  local unit, longest = 1, 0
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do longest = math.max(longest, m.elapsed_s) end
  end
  if key == "at_s" then label, unit = format.span(longest) end
  local high = 1
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do
      for _, p in ipairs(m.curve) do high = math.max(high, p.speedup) end
    end
  end
  local c = chart.new { title = "Best so far against " .. label,
    x = { label = label, min = 0, integer = key == "landed" },
    y = { label = "speed-up over the baseline", log = high > 6 } }
  for _, g in ipairs(groups) do
    local line, band = curve(g, key, unit)
    if #g.runs > 1 then c:band(band, { series = g.series, step = true }) end
    c:line(line, { series = g.series, step = true,
      name = #g.runs > 1 and ("%s, %d runs"):format(g.label, #g.runs) or g.label })
  end
  c:rule("y", 1, "baseline")
  return format.figure(c:svg())
end

local function curves(groups)
  local priced = true
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do priced = priced and m.usd and m.usd > 0 end
  end
  return '<div class="grid">' .. overlay(groups, "landed", "pulls")
    .. overlay(groups, "at_s", "time")
    .. (priced and overlay(groups, "usd", "US dollars") or "") .. "</div>"
    .. format.note("Line: the median of a group's runs; band: its lowest and highest run. A "
                   .. "group's curve ends where its first run does.")
    .. format.origin("Improvements of each run, as in its own report; a group has the same task, "
                     .. "policy, parameters and generator.")
end

-- Shares of runs that are correct and more than p times as fast as the baseline.
local function fast_p(groups)
  local high = 1.5
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do high = math.max(high, m.final and m.final.speedup or 1) end
  end
  local c = chart.new { title = "fast_p", x = { label = "p, speed-up over the baseline",
      log = high > 6, min = 1, max = high * 1.05 },
    y = { label = "share of runs that are correct and more than p times as fast", min = 0,
          max = 1, format = function(v) return ("%.0f %%"):format(100 * v) end } }
  for _, g in ipairs(groups) do
    local speedups, line = {}, {}
    for i, m in ipairs(g.runs) do
      speedups[i] = m.winner and m.winner.id ~= 1 and m.final.speedup or 0
    end
    table.sort(speedups)
    local above = #speedups
    for _, s in ipairs(speedups) do if s <= 1 then above = above - 1 end end
    line[1] = { 1, above / #speedups }
    for _, s in ipairs(speedups) do
      if s > 1 then
        above = above - 1
        line[#line + 1] = { s, above / #speedups }
      end
    end
    line[#line + 1] = { high * 1.05, 0 }
    c:line(line, { series = g.series, step = true, name = g.label })
  end
  return '<div class="grid">' .. format.figure(c:svg()) .. "</div>"
    .. format.origin("The winner of each run; a run without a kernel faster than its baseline "
                     .. "counts as not fast. fast_p as KernelBench defines it.")
end

local function runs(models)
  local rows = {}
  for i, m in ipairs(models) do
    local f = m.final or {}
    rows[i] = { { m.name, title = m.folder }, m.task, m.policy, ("%d"):format(m.seed),
      format.count(m.pulls), format.percent(m.pulls > 0 and m.ok / m.pulls or nil),
      { format.times(f.speedup), class = "h" }, format.interval(f.speedup_low, f.speedup_high),
      m.confirmed and "yes" or "no", format.time(f.time_ns), format.duration(m.elapsed_s),
      format.usd(m.usd), m.state }
  end
  return format.table({ "run", "task", "policy", "seed", "pulls", "valid", "speed-up",
    "95 % interval", "confirmed", "time", "took", "cost", "state" }, rows,
    { left = { true, true, true }, sort = true })
    .. format.origin("Each row is a run folder; its interval is that of the evaluation that "
    .. "stands for the winner (kind confirm where there is one).",
    { "SELECT kernel, json FROM evaluations WHERE kind = 'confirm'" })
end

local function summary(groups, models)
  local rows = {}
  for i, g in ipairs(groups) do
    local logs = {}
    for j, m in ipairs(g.runs) do logs[j] = math.log(m.final and m.final.speedup or 1) end
    local low, high, method = "", "", nil
    if #logs > 1 and #logs <= 64 then
      local p = stats.paired(logs)
      low, high, method = math.exp(p.low), math.exp(p.high), p.method
    end
    local pulls = 0
    for _, m in ipairs(g.runs) do pulls = pulls + m.pulls end
    rows[i] = { { html = ('<span class="dot s%d"></span>%s'):format(g.series,
      chart.escape(g.label)) }, g.task, format.count(#g.runs), format.count(pulls),
      { format.times(math.exp(stats.mean(logs))), class = "h" },
      { format.interval(low, high), title = method } }
  end
  return format.table({ "group", "task", "runs", "pulls", "geometric mean of speed-ups",
    "95 % interval over runs" }, rows, { left = { true, true } })
    .. format.note("Interval over runs: of the pseudo-median of log speed-ups, exact Wilcoxon, "
                   .. "Student's where there are too few runs for that.")
    .. "<h3>Runs</h3>" .. runs(models)
end

-- Pulls an arm, a bar a group: its runs added up.
local function arms(groups)
  local names, seen, rows = {}, {}, {}
  for _, g in ipairs(groups) do
    for _, m in ipairs(g.runs) do
      for _, name in ipairs(m.strategies) do
        if not seen[name] then seen[name] = true names[#names + 1] = name end
      end
    end
  end
  local bars, series = {}, {}
  for i, g in ipairs(groups) do
    bars[i] = { name = chart.cut(g.label, 14), title = g.label, parts = {} }
    for j, name in ipairs(names) do
      local n = 0
      for _, m in ipairs(g.runs) do n = n + (m.arms[name] and m.arms[name].n or 0) end
      bars[i].parts[j] = n
      rows[j] = rows[j] or { name }
      rows[j][i + 1] = format.count(n)
    end
  end
  for j, name in ipairs(names) do
    series[j] = { name = chart.cut(name, 26), class = "s" .. (j - 1) % 8 + 1 }
  end
  local head = { "strategy" }
  for i, g in ipairs(groups) do head[i + 1] = { chart.cut(g.label, 22), title = g.label } end
  return '<div class="grid">' .. format.figure(chart.bars { title = "Pulls an arm", bars = bars,
      series = series, y = { label = "pulls", integer = true } })
    .. format.table(head, rows, { sort = true }) .. "</div>"
    .. format.origin("Table pulls of every run.",
                     { "SELECT strategy, count(*) FROM pulls GROUP BY 1" })
end

local function verdicts(models)
  local head, rows = { "run" }, {}
  local present = {}
  for _, v in ipairs(chart.verdicts) do
    for _, m in ipairs(models) do present[v] = present[v] or m.verdicts[v] end
    if present[v] then head[#head + 1] = { html = format.verdict(v) } end
  end
  for i, m in ipairs(models) do
    local row = { m.name }
    for _, v in ipairs(chart.verdicts) do
      if present[v] then row[#row + 1] = format.count(m.verdicts[v] or 0) end
    end
    rows[i] = row
  end
  return format.table(head, rows, { sort = true })
end

-- models: at least two runs.
function many.html(models)
  local groups = groups_of(models)
  name_groups(groups)
  local tasks, names, damage = {}, {}, {}
  for _, m in ipairs(models) do
    damage[#damage + 1] = m.damage and format.note(m.damage)
    if not tasks[m.task] then tasks[m.task] = true names[#names + 1] = m.task end
  end
  return page.html {
    title = ("%d runs: %s"):format(#models, chart.cut(table.concat(names, ", "), 60)),
    lead = table.concat(damage) .. ('<p class="q">%s</p>'):format(
           ("%d groups of runs that differ by seed alone.")
           :format(#groups)),
    foot = page.foot(),
    sections = {
      { id = "summary", title = "Speed-ups", html = summary(groups, models) },
      { id = "progress", title = "Best so far", html = curves(groups) },
      { id = "fast_p", title = "fast_p", html = fast_p(groups) },
      { id = "arms", title = "Pulls an arm", html = arms(groups) },
      { id = "verdicts", title = "Verdicts", html = verdicts(models) },
    } }
end

return many
