-- report/search.lua - how the search went: best so far, verdicts, strategies and clusters, the
-- kernels' plane. Each function returns the HTML of one section, nil when the run has nothing
-- to show there.
local lists    = require "kernelband.base.lists"
local chart    = require "kernelband.report.chart"
local features = require "kernelband.report.features"
local html     = require "kernelband.report.html"
local model    = require "kernelband.report.model"
local pca      = require "kernelband.report.pca"
local text     = require "kernelband.base.text"

local search = {}

-- Best so far --------------------------------------------------------------------

-- What the best is drawn against, by the field of pulls; last: the field of the model where it
-- ends.
search.axes = { landed = { label = "pulls", last = "pulls" }, at_s = { last = "elapsed_s" },
                usd = { label = "US dollars", last = "usd" } }

-- An empty chart of the best so far from low to high. longest_s: what it lasts.
function search.best_chart(key, longest_s, low, high)
  local label, unit, log = search.axes[key].label, 1, high / low > 6
  if key == "at_s" then
    unit = longest_s > 7200 and 3600 or longest_s > 300 and 60 or 1
    label = unit == 3600 and "hours" or unit == 60 and "minutes" or "seconds"
  end
  return chart.new { title = "Best so far against " .. label, height = 240,
    x = { label = label, min = 0, integer = key == "landed", unit = unit },
    y = { label = "speed-up over the baseline" .. (log and ", logarithmic" or ""), log = log } }
end

-- The best so far against a field of pulls as SVG: a line and its band, the baseline, the winner
-- as confirmed, and against pulls, all kernels and failures.
function search.curve(m, key)
  local low, high = math.min(1, m.slowest or 1), math.max(1, m.fastest or 1)
  local last = m[search.axes[key].last]
  local c, line = search.best_chart(key, m.elapsed_s, low, high), { { 0, 1, 1, 1 } }
  for i, p in ipairs(m.curve) do
    line[i + 1] = { p[key], p.speedup, p.speedup_low, p.speedup_high }
  end
  line[#line + 1] = { last, table.unpack(line[#line], 2) }
  local floor = c.y.log and low / 1.12 or math.max(0, low - 0.06 * (high - low))
  for _, v in ipairs(key == "landed" and chart.verdicts or {}) do
    local dots = lists.collect(m.dots, function(d)
      return d.verdict == v and { d.landed, d.speedup or floor,
        text = ("pull %d, %s: %s"):format(d.n, d.strategy,
          d.speedup and ("kernel %d, %s"):format(d.id, html.times(d.speedup)) or v) }
    end)
    c:points(dots, { class = "v-" .. v, radius = 2, name = v == "ok" and "verified kernel" or v })
  end
  c:line(line, { series = 1, step = true, name = "best so far as the search measured it, 95 %" })
  c:rule(1, "baseline")
  if m.confirmed and m.winner.id ~= 1 then
    c:points({ { last, m.final.speedup, text = "confirmed: " .. html.times(m.final.speedup) } },
             { class = "fg", ring = true, radius = 5, name = "the winner, confirmed" })
  end
  return c:svg()
end

function search.progress(m)
  local priced, rows = m.usd and m.usd > 0 or nil, {}
  for i = math.max(1, #m.curve - 11), #m.curve do
    local p = m.curve[i]
    rows[#rows + 1] = { ("#%d"):format(p.id), p.strategy, ("%d"):format(p.landed),
      html.duration(p.at_s), html.times(p.speedup),
      html.interval(p.speedup_low, p.speedup_high), priced and html.usd(p.usd) }
  end
  return html.grid(html.figure(search.curve(m, "landed")), html.figure(search.curve(m, "at_s")),
                   priced and html.figure(search.curve(m, "usd")) or "")
    .. (m.stride > 1 and html.note(("Dots: every %dth of %s pulls; the line and its band are "
        .. "of all."):format(m.stride, html.count(m.pulls))) or "")
    .. html.table({ "kernel", "strategy", "pull", "after", "speed-up", "95 % interval",
        priced and "dollars" }, rows, { left = 2, caption = (#m.curve > 12
        and ("The last 12 of %d improvements"):format(#m.curve) or "Improvements")
        .. ", as the search measured them" })
end

-- Verdicts -----------------------------------------------------------------------

local function verdict_bars(m)
  local size = m.bins.size
  return chart.bars { title = "Verdicts of successive pulls", height = 210,
    series = chart.verdict_series(m.verdicts),
    label = "first pull of each group, in the order they landed",
    y = { label = size > 1 and ("pulls, in groups of %d"):format(size) or "pulls", integer = true },
    bars = lists.collect(m.bins, function(bin, i)
      local from, to = (i - 1) * size + 1, math.min(m.pulls, i * size)
      return { name = ("%d"):format(from),
        title = from == to and ("pull %d"):format(from) or ("pulls %d to %d"):format(from, to),
        parts = bin }
    end) }
end

function search.verdicts(m)
  if m.verdicts.ok == m.pulls then
    return html.p(("All %s pulls gave a kernel that passed every check."):format(
                  html.count(m.pulls)))
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
      end })
end

-- Strategies and clusters --------------------------------------------------------

-- A policy that has the parameter masked takes a share of the strategy's value; others
-- do not choose it.
local function scaled(m) return html.finite(m.params.masked) end

local function heat_cell(m, name, cluster, most)
  local masked, cell = model.masked(m, name, cluster), m.cells[name] and m.cells[name][cluster]
  return { hatched = masked >= 0.5, value = cell and cell.mean / most,
    title = ("%s in cluster %d: %s%s"):format(name, cluster, cell
      and ("%d pulls, %d gave a kernel, mean reward %.4f"):format(cell.n, cell.ok, cell.mean)
      or "no pull", masked > 0 and (", %s for %.0f %% of its kernels"):format(
        scaled(m) and "scaled down" or "masked", 100 * masked) or ""),
    lines = { cell and ("%.3f"):format(cell.mean) or "",
              text.plural(cell and cell.n or 0, "pull") } }
end

local function heat(m)
  local most, hatched = 1e-9, false
  for _, row in pairs(m.cells) do
    for _, cell in pairs(row) do most = math.max(most, math.abs(cell.mean)) end
  end
  local cells = lists.collect(m.strategies, function(name)
    return lists.collect(m.clusters, function(cluster)
      local cell = heat_cell(m, name, cluster, most)
      hatched = hatched or cell.hatched
      return cell
    end)
  end)
  return html.figure(chart.heat { title = "Pulls and mean reward by strategy and cluster",
      rows = m.strategies, cells = cells, cell_width = 74,
      columns = lists.collect(m.clusters, function(c) return ("cluster %d"):format(c) end) },
    "Mean reward and pulls of each cell; blue is above zero, orange below, stronger is further "
    .. "from it." .. (hatched and (" Hatched: %s at least half of the cluster's kernels."):format(
      scaled(m) and ("the policy counts %g of the strategy's value, as the hardware is busy, for")
        :format(scaled(m)) or "the policy's hardware mask keeps the strategy from") or "")
    .. (m.more_clusters > 0 and (" The 12 clusters with the most pulls; %d more are not drawn.")
      :format(m.more_clusters) or ""))
end

function search.strategies(m)
  local function row(name)
    local arm, target = m.arms[name], m.targets[name]
    return { name, target and features.resource(m.gpu, target), html.count(arm and arm.n or 0),
      html.count(arm and arm.ok or 0), arm and html.percent(arm.ok / arm.n),
      arm and ("%.4f"):format(arm.mean) }
  end
  return html.grid(#m.clusters > 0 and heat(m) or "", html.table({ "strategy", "target", "pulls",
      "kernels", "valid", "mean reward" }, m.strategies, { left = 2, sort = true, row = row }))
end

-- The plane of kernels -------------------------------------------------------------

-- The two features with the largest weights.
local function axis_text(m, weights, share)
  local order = lists.collect(features.behaviour(m.gpu), function(name, j)
    local w = weights[j]
    return w ~= 0 and { weight = math.abs(w), name = (w < 0 and "-" or "+") .. name }
  end)
  order = lists.sorted(order, function(axis) return -axis.weight end)
  return ("%s (%.0f %% of the variance)"):format(
    table.concat(lists.collect(order, "name"), " ", 1, math.min(2, #order)), 100 * share)
end

function search.clusters(m)
  local kernels = lists.collect(m.sample, function(k)
    return #lists.collect(k.rho, html.finite) == 6 and k
  end)
  local places, shares, weights = pca.plane(lists.collect(kernels, "rho"), 6)
  if not places then return nil end
  local c = chart.new { title = "Kernels by behaviour", height = 320,
    x = { label = axis_text(m, weights[1], shares[1]) },
    y = { label = axis_text(m, weights[2], shares[2]) } }
  -- The points of the kernels that fit.
  local function points(how, fits)
    c:points(lists.collect(kernels, function(k, i)
      return fits(k) and { places[i][1], places[i][2], text = ("kernel %d, %s, %s%s"):format(k.id,
        html.maker(k), html.times(k.speedup),
        k.cluster and (", cluster %d"):format(k.cluster) or "") }
    end), how)
  end
  local shown = lists.places(m.clusters)
  points({ name = "never a parent", series = 8, radius = 2.5 },
         function(k) return not (k.cluster and shown[k.cluster]) end)
  for i, id in ipairs(m.clusters) do
    points({ name = ("cluster %d"):format(id), series = (i - 1) % 7 + 1, radius = 4 },
           function(k) return k.cluster == id end)
  end
  points({ name = "the winner", class = "fg", ring = true, radius = 8 },
         function(k) return m.winner and k.id == m.winner.id end)
  return html.figure(c:svg(), ("%s of %s kernels on the two principal axes of the six behaviour "
      .. "features, standardised."):format(html.count(#kernels), html.count(m.kernels)))
end

return search
