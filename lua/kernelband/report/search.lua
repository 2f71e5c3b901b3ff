-- report/search.lua - how the search went: best so far, verdicts, strategies and clusters, the tree
-- and the plane of kernels. Each section's function returns its HTML, nil when the run has nothing
-- to show there.
local lists    = require "kernelband.base.lists"
local chart    = require "kernelband.report.chart"
local features = require "kernelband.report.features"
local html     = require "kernelband.report.html"
local model    = require "kernelband.report.model"
local pca      = require "kernelband.report.pca"
local text     = require "kernelband.base.text"

local search = {}

local tag = html.tag

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
      return d.verdict == v and { d.landed, d.speedup or floor, text = html.said("pull", d) }
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
  local priced = m.usd and m.usd > 0 or nil
  local last = table.move(m.curve, math.max(1, #m.curve - 11), #m.curve, 1, {})
  for i, p in ipairs(last) do last[i] = lists.with(p, { priced = priced }) end
  return html.grid(html.figure(search.curve(m, "landed")), html.figure(search.curve(m, "at_s")),
                   priced and html.figure(search.curve(m, "usd")) or "")
    .. (m.stride > 1 and html.note(html.said("dots", m)) or "")
    .. html.listing("improvement", last, { left = 2, caption = html.said("improvements", m) })
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
  if m.verdicts.ok == m.pulls then return html.p(html.said("all_passed", m)) end
  local rows = lists.collect(chart.verdicts, function(v)
    local n = m.verdicts[v]
    return n and { html.verdict(v), html.count(n), html.percent(n / m.pulls) }
  end)
  return html.grid(html.figure(verdict_bars(m)), html.table({ "verdict", "pulls", "share" }, rows))
    .. html.listing("reason", m.reasons, { caption = "What went wrong most often",
      show = { reason = function(r)
        return { html.cut(r.reason or "", 160), class = "wrap", title = r.reason }
      end } })
end

-- Strategies and clusters --------------------------------------------------------

-- A policy that has the parameter masked takes a share of the strategy's value; others
-- do not choose it.
local function scaled(m) return html.finite(m.params.masked) end

local function heat_cell(m, name, cluster)
  local masked, cell = model.masked(m, name, cluster), m.cells[name] and m.cells[name][cluster]
  return { hatched = masked >= 0.5, value = cell and cell.mean / math.max(1e-9, cell.most),
    title = html.said("cell", lists.with(cell or {}, { name = name, cluster = cluster,
                                                       masked = masked, scaled = scaled(m) })),
    lines = { cell and ("%.3f"):format(cell.mean) or "",
              text.plural(cell and cell.n or 0, "pull") } }
end

local function heat(m)
  local cells = lists.collect(m.strategies, function(name)
    return lists.collect(m.clusters, function(cluster) return heat_cell(m, name, cluster) end)
  end)
  local hatched = lists.find(lists.joined(cells), function(cell) return cell.hatched end)
  return html.figure(chart.heat { title = "Pulls and mean reward by strategy and cluster",
      rows = m.strategies, cells = cells, cell_width = 74,
      columns = lists.collect(m.clusters, function(c) return ("cluster %d"):format(c) end) },
    html.said("heat", lists.with(m, { hatched = hatched, scaled = scaled(m) })))
end

function search.strategies(m)
  local arms = lists.collect(m.strategies, function(name)
    local target = m.targets[name]
    return lists.with(m.arms[name] or { n = 0, ok = 0 },
      { strategy = name, target = target and features.resource(m.gpu, target) })
  end)
  return html.grid(#m.clusters > 0 and heat(m) or "",
                   html.listing("arm", arms, { left = 2, sort = true }))
end

-- The tree -----------------------------------------------------------------------
--
-- A row a kernel: what it was made from, by what, how fast it is, and the verdicts of its pulls
-- that gave no kernel.

local ROW, STEP = 21, 16

-- Kernels in the order of the rows, each with its place in the drawing. A kernel's parent is older
-- than it is.
local function rows_of(list)
  local out, placed = {}, {}
  local function place(k, depth)
    k.x, k.y, placed[k] = 8 + STEP * depth, ROW * #out + 12, true
    out[#out + 1] = k
    for _, child in ipairs(k.children) do place(child, depth + 1) end
  end
  for _, k in ipairs(list) do
    if not placed[k] then place(k, 0) end
  end
  return out
end

local function branches(rows, path)
  local on_path, plain, strong = lists.places(lists.collect(path, "id")), {}, {}
  for _, k in ipairs(rows) do
    for _, child in ipairs(k.children) do
      table.insert(on_path[k.id] and on_path[child.id] and strong or plain,
                   ("M%d %dV%dH%d"):format(k.x, k.y, child.y, child.x))
    end
  end
  return tag("path", { class = "axis", stroke_opacity = ".45", d = table.concat(plain) })
         .. tag("path", { class = "line s1", d = table.concat(strong) })
end

-- A row as SVG, and where it ends. final: the winner's confirmed figures, of others nil.
local function node(k, winner, final)
  local name = ("#%d %s %s%s"):format(k.id, k.strategy and html.cut(k.strategy, 24) or "baseline",
    html.times(final and final.speedup or k.speedup), final and ", confirmed" or "")
  local x, y = k.x + 16 + chart.text_width(name) * (winner and 1.08 or 1), k.y + 4
  local out = { tag("g", nil, chart.tooltip(html.said("kernel", k))
      .. tag("circle", { class = "area v-ok", cx = k.x, cy = k.y, r = 4.5 })
      .. (winner and tag("circle", { class = "line s1", cx = k.x, cy = k.y, r = 7.5 }) or "")
      .. chart.label(k.x + 12, y, name, winner and "h")) }
  for _, f in ipairs(k.fell) do
    out[#out + 1] = tag("g", nil, chart.tooltip(html.said("fell", f))
      .. chart.swatch("v-" .. f.verdict, x, y, tostring(f.n)))
    x = x + 22 + chart.text_width(tostring(f.n))
  end
  if k.hidden > 0 then
    local more = ("+%d kernels"):format(k.hidden)
    out[#out + 1] = chart.label(x + 2, y, more, "q")
    x = x + chart.text_width(more) + 6
  end
  return table.concat(out), x
end

-- The legend and the tree, as SVG, and how many kernels are in it; nil where there is none.
function search.tree_drawing(m)
  if #m.tree == 0 then return nil end
  local rows, fell, wide = rows_of(m.tree), {}, 200
  local body = lists.collect(rows, function(k)
    local winner = m.winner and k.id == m.winner.id
    local drawn, right = node(k, winner, winner and k.id ~= 1 and m.confirmed and m.final)
    wide = math.max(wide, right)
    for _, f in ipairs(k.fell) do fell[f.verdict] = true end
    return drawn
  end)
  local legend = chart.verdict_series(fell)
  table.insert(legend, 1, { name = "path of the best", class = "s1" })
  table.insert(legend, 1, { name = "verified kernel", class = "v-ok" })
  local above, bottom = chart.draw_legend(legend, 340, 12)
  return chart.element("heat", 340, bottom, "Colours of the search tree", above),
         chart.element("wide", math.ceil(wide) + 4, ROW * #rows + 6, "Search tree",
                       branches(rows, m.path) .. table.concat(body)), #rows
end

-- The HTML of the section.
function search.tree(m)
  local legend, svg, rows = search.tree_drawing(m)
  if not legend then return nil end
  return legend .. html.figure(svg, html.said("tree", { rows = rows, kernels = m.kernels }),
                               { class = "scroll tree", tabindex = "0" })
end

-- The plane of kernels -------------------------------------------------------------

-- The two features with the largest weights.
local function axis_text(m, weights, share)
  local names = html.lines("words.rho", m)
  local order = lists.sorted({ 1, 2, 3, 4, 5, 6 }, function(j) return -math.abs(weights[j]) end)
  local words = lists.collect(order, function(j, place)
    return place <= 2 and weights[j] ~= 0 and (weights[j] < 0 and "-" or "+") .. names[j]
  end)
  return ("%s (%.0f %% of the variance)"):format(table.concat(words, " "), 100 * share)
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
      return fits(k) and { places[i][1], places[i][2], text = html.said("kernel", k) }
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
  return html.figure(c:svg(), html.said("clusters", { shown = #kernels, kernels = m.kernels }))
end

return search
