-- report/search.lua - how the search went: best so far, verdicts, strategies and clusters, the
-- kernels' plane. Each function returns the HTML of one section, nil when the run has nothing
-- to show there.
local lists    = require "kernelband.base.lists"
local chart    = require "kernelband.report.chart"
local features = require "kernelband.report.features"
local html     = require "kernelband.report.html"
local model    = require "kernelband.report.model"
local pca      = require "kernelband.report.pca"

local search = {}

-- Best so far --------------------------------------------------------------------

-- The best so far against a field of pulls as SVG: a line and its band, the baseline, the winner
-- as confirmed, and with_dots, all kernels and failures.
local function drawn_curve(m, key, label, last, with_dots)
  local unit = 1
  if key == "at_s" then label, unit = html.span(last) end
  local low, high = 1, 1
  for _, d in ipairs(m.dots) do low, high = math.min(low, d.speedup or 1), math.max(high,
                                                                            d.speedup or 1) end
  for _, p in ipairs(m.curve) do high = math.max(high, p.speedup_high) end
  local log = high / low > 6
  local c = chart.new { title = "Best so far against " .. label, x = { label = label, min = 0,
      integer = key == "landed" }, height = 240,
    y = { label = "speed-up over the baseline" .. (log and ", logarithmic" or ""), log = log } }
  local line, band = { { 0, 1 } }, { { 0, 1, 1 } }
  for _, p in ipairs(m.curve) do
    local x = p[key] and p[key] / unit
    line[#line + 1], band[#band + 1] = { x, p.speedup }, { x, p.speedup_low, p.speedup_high }
  end
  local l, b = line[#line], band[#band]
  line[#line + 1], band[#band + 1] = { last / unit, l[2] }, { last / unit, b[2], b[3] }
  c:band(band, { series = 1, step = true })
  if with_dots then
    local floor = log and low / 1.12 or math.max(0, low - 0.06 * (high - low))
    local by_verdict = {}
    for _, d in ipairs(m.dots) do
      local v = d.speedup and "ok" or d.verdict
      by_verdict[v] = by_verdict[v] or {}
      table.insert(by_verdict[v], { d[key], d.speedup or floor, ("pull %d, %s: %s"):format(d.n,
        d.strategy, d.speedup and ("kernel %d, %s"):format(d.id, html.times(d.speedup)) or v) })
    end
    for _, v in ipairs(chart.verdicts) do
      if by_verdict[v] then
        c:points(by_verdict[v], { class = "v-" .. v, radius = 2,
                                  name = v == "ok" and "verified kernel" or v })
      end
    end
  end
  c:line(line, { series = 1, step = true, name = "best so far as the search measured it, 95 %" })
  c:rule(1, "baseline")
  if m.confirmed and m.winner.id ~= 1 then
    c:points({ { last / unit, m.final.speedup, "confirmed: " .. html.times(m.final.speedup) } },
             { class = "fg", ring = true, radius = 5, name = "the winner, confirmed" })
  end
  return c:svg()
end

-- Best so far against pulls, as SVG.
function search.curve(m) return drawn_curve(m, "landed", "pulls", m.pulls, true) end

function search.progress(m)
  if m.pulls == 0 then return html.p "No pull has landed yet." end
  local priced, rows = m.usd and m.usd > 0 or nil, {}
  for i = math.max(1, #m.curve - 11), #m.curve do
    local p = m.curve[i]
    rows[#rows + 1] = { ("#%d"):format(p.id), p.strategy, ("%d"):format(p.landed),
      html.duration(p.at_s), html.times(p.speedup),
      html.interval(p.speedup_low, p.speedup_high), priced and html.usd(p.usd) }
  end
  local function figure(...) return html.figure(drawn_curve(m, ...)) end
  return html.grid(figure("landed", "pulls", m.pulls, true), figure("at_s", "time", m.elapsed_s),
              priced and figure("usd", "US dollars", m.usd) or "")
    .. (m.stride > 1 and html.note(("Dots: every %dth of %s pulls; the line and its band are "
        .. "of all."):format(m.stride, html.count(m.pulls))) or "")
    .. html.table({ "kernel", "strategy", "pull", "after", "speed-up", "95 % interval",
        priced and "dollars" }, rows, { left = 2, caption = (#m.curve > 12
        and ("The last 12 of %d improvements"):format(#m.curve) or "Improvements")
        .. ", as the search measured them" })
    .. html.origin "progress"
end

-- Verdicts -----------------------------------------------------------------------

local function verdict_bars(m)
  local series, size = chart.verdict_series(m.verdicts), m.bins.size
  local bars = lists.collect(m.bins, function(bin, i)
    local from = (i - 1) * size + 1
    local to = math.min(m.pulls, from + size - 1)
    return { name = ("%d"):format(from),
             parts = lists.collect(series, function(s) return bin[s.name] or 0 end),
             title = from == to and ("pull %d"):format(from)
                     or ("pulls %d to %d"):format(from, to) }
  end)
  return chart.bars { title = "Verdicts of successive pulls", height = 210, bars = bars,
    series = series, label = "first pull of each group, in the order they landed",
    y = { label = size > 1 and ("pulls, in groups of %d"):format(size) or "pulls",
          integer = true } }
end

function search.verdicts(m)
  if m.pulls == 0 then return nil end
  local origin = html.origin "verdicts"
  if m.verdicts.ok == m.pulls then
    return html.p(("All %s pulls gave a kernel that passed every check."):format(
                  html.count(m.pulls))) .. origin
  end
  local rows = lists.collect(chart.verdicts, function(v)
    local n = m.verdicts[v]
    return n and { html.verdict(v), html.count(n), html.percent(n / m.pulls) }
  end)
  return html.grid(html.figure(verdict_bars(m)), html.table({ "verdict", "pulls", "share" }, rows))
    .. html.table({ "verdict", "reason", "pulls", "first" }, m.reasons,
      { caption = "What went wrong most often", row = function(r)
        return { html.verdict(r.verdict), { html.cut(r.reason or "", 160), class = "wrap",
                 title = r.reason }, html.count(r.n), ("%d"):format(r.first) }
      end }) .. origin
end

-- Strategies and clusters --------------------------------------------------------

-- A policy that has the parameter masked takes a share of the strategy's value; others
-- do not choose it.
local function scaled(m) return type(m.params.masked) == "number" and m.params.masked or nil end

local function hatching(m)
  return (" Hatched: %s at least half of the cluster's kernels."):format(scaled(m)
    and ("the policy counts %g of the strategy's value, as the hardware is busy, for")
        :format(scaled(m)) or "the policy's hardware mask keeps the strategy from")
end

local function heat_cell(m, name, cluster, cell, most)
  local masked = model.masked(m, name, cluster) or 0
  local title = ("%s in cluster %d: %s"):format(name, cluster, cell
    and ("%d pulls, %d gave a kernel, mean reward %.4f"):format(cell.n, cell.ok, cell.mean)
    or "no pull")
  if masked > 0 then
    title = ("%s, %s for %.0f %% of its kernels"):format(title,
      scaled(m) and "scaled down" or "masked", 100 * masked)
  end
  return { hatched = masked >= 0.5, value = cell and cell.mean / most, title = title,
    lines = { cell and ("%.3f"):format(cell.mean) or "", cell and ("%s pull%s"):format(
      html.count(cell.n), cell.n == 1 and "" or "s") or "0 pulls" } }
end

local function heat(m)
  local cells, most, hatched = {}, 1e-9, false
  for _, row in pairs(m.cells) do
    for _, cell in pairs(row) do most = math.max(most, math.abs(cell.mean)) end
  end
  for i, name in ipairs(m.strategies) do
    cells[i] = {}
    for j, c in ipairs(m.clusters) do
      cells[i][j] = heat_cell(m, name, c, m.cells[name] and m.cells[name][j], most)
      hatched = hatched or cells[i][j].hatched
    end
  end
  return html.figure(chart.heat { title = "Pulls and mean reward by strategy and cluster",
      rows = m.strategies, cells = cells, cell_width = 74,
      columns = lists.collect(m.clusters, function(c) return ("cluster %d"):format(c) end) },
    "Mean reward and pulls of each cell; blue is above zero, orange below, stronger is further "
    .. "from it." .. (hatched and hatching(m) or "") .. (m.more_clusters
      and (" The 12 clusters with the most pulls; %d more are not drawn."):format(m.more_clusters)
      or ""))
end

function search.strategies(m)
  if m.pulls == 0 then return nil end
  local function row(name)
    local arm = m.arms[name] or { n = 0, reward = 0, verdicts = {} }
    local ok, target = arm.verdicts.ok or 0, model.target(m, name)
    return { name, target and features.resource(m.gpu, target), html.count(arm.n),
      html.count(ok), arm.n > 0 and html.percent(ok / arm.n) or nil,
      arm.n > 0 and ("%.4f"):format(arm.reward / arm.n) or nil }
  end
  return html.grid(#m.clusters > 0 and heat(m) or "", html.table({ "strategy", "target", "pulls",
      "kernels", "valid", "mean reward" }, m.strategies, { left = 2, sort = true, row = row }))
    .. html.origin "strategies"
end

-- The plane of kernels -------------------------------------------------------------

local function axis_text(m, weights, share)
  local order = lists.collect(features.behaviour(m.gpu), function(name, j)
    return weights[j] and { weights[j], (weights[j] < 0 and "-" or "+") .. name }
  end)
  order = lists.sorted(order, function(axis) return -math.abs(axis[1]) end)
  local words = lists.collect(order, function(axis, i) return i <= 2 and axis[2] end)
  return ("%s (%.0f %% of the variance)"):format(table.concat(words, " "), 100 * share)
end

local function usable(rho)
  if type(rho) ~= "table" or #rho ~= 6 then return false end
  for _, v in ipairs(rho) do if not html.finite(v) then return false end end
  return true
end

function search.clusters(m)
  local kernels, points = {}, {}
  for _, k in ipairs(m.sample) do
    if usable(k.rho) then kernels[#kernels + 1], points[#points + 1] = k, k.rho end
  end
  local places, shares, weights = pca.plane(points, 6)
  if not places then return nil end
  local c = chart.new { title = "Kernels by behaviour", height = 320,
    x = { label = axis_text(m, weights[1], shares[1]) },
    y = { label = axis_text(m, weights[2], shares[2]) } }
  local by_cluster, others, winner = {}, {}, {}
  for _, id in ipairs(m.clusters) do by_cluster[id] = {} end
  for i, k in ipairs(kernels) do
    local p = { places[i][1], places[i][2], ("kernel %d, %s, %s%s"):format(k.id,
      k.strategy and "by " .. k.strategy or "the baseline", html.times(k.speedup),
      k.cluster and (", cluster %d"):format(k.cluster) or "") }
    table.insert(by_cluster[k.cluster] or others, p)
    if m.winner and k.id == m.winner.id then winner[1] = p end
  end
  c:points(others, { series = 8, radius = 2.5, name = #others > 0 and "never a parent" or nil })
  for i, id in ipairs(m.clusters) do
    c:points(by_cluster[id], { series = (i - 1) % 7 + 1, radius = 4,
      name = #by_cluster[id] > 0 and ("cluster %d"):format(id) or nil })
  end
  c:points(winner, { class = "fg", ring = true, radius = 8, name = winner[1] and "the winner" })
  return html.figure(c:svg(), ("%s of %s kernels on the two principal axes of the six behaviour "
      .. "features, standardised."):format(html.count(#kernels), html.count(m.kernels)))
    .. html.origin "clusters"
end

return search
