-- report/search.lua - how the search went: best so far, verdicts, strategies and
-- clusters, the kernels' plane. Each function returns the HTML of one section,
-- nil when the run has nothing to show there.
local chart  = require "kernelband.report.chart"
local format = require "kernelband.report.format"
local model  = require "kernelband.report.model"
local pca    = require "kernelband.report.pca"

local search = {}

local fails = { table.unpack(chart.verdicts, 2) }

-- Points of the best so far: { x, speedup }, { x, low, high } ..
local function best_of(m, key, last)
  local line, band = { { 0, 1 } }, { { 0, 1, 1 } }
  for _, p in ipairs(m.curve) do
    line[#line + 1] = { p[key], p.speedup }
    band[#band + 1] = { p[key], p.speedup_low, p.speedup_high }
  end
  local l, b = line[#line], band[#band]
  if last and last > l[1] then
    line[#line + 1], band[#band + 1] = { last, l[2] }, { last, b[2], b[3] }
  end
  return line, band
end

local function spread_of(m)
  local low, high = 1, 1
  for _, d in ipairs(m.dots) do
    if d.speedup then low, high = math.min(low, d.speedup), math.max(high, d.speedup) end
  end
  for _, p in ipairs(m.curve) do high = math.max(high, p.speedup_high) end
  return low, high
end

local function drawn_curve(m, key, label, last, with_dots)
  local unit = 1
  if key == "at_s" then label, unit = format.span(last) end
  local low, high = spread_of(m)
  local log = high / low > 6
  local c = chart.new { title = "Best so far against " .. label, x = { label = label, min = 0,
      integer = key == "landed" }, height = 240,
    y = { label = "speed-up over the baseline" .. (log and ", logarithmic" or ""), log = log } }
  local line, band = best_of(m, key, last)
  for _, list in ipairs { line, band } do
    for _, p in ipairs(list) do p[1] = p[1] and p[1] / unit end
  end
  c:band(band, { series = 1, step = true })
  if with_dots then
    local fine, failed = {}, {}
    local floor = log and low / 1.12 or math.max(0, low - 0.06 * (high - low))
    for _, d in ipairs(m.dots) do
      if d.speedup then
        fine[#fine + 1] = { d[key], d.speedup, ("pull %d, %s: kernel %d, %s"):format(d.n,
                            d.strategy, d.id, format.times(d.speedup)) }
      else
        failed[d.verdict] = failed[d.verdict] or {}
        table.insert(failed[d.verdict], { d[key], floor,
                     ("pull %d, %s: %s"):format(d.n, d.strategy, d.verdict) })
      end
    end
    c:points(fine, { class = "v-ok", radius = 2, name = "verified kernel" })
    for _, v in ipairs(fails) do
      if failed[v] then c:points(failed[v], { class = "v-" .. v, radius = 2, name = v }) end
    end
  end
  c:line(line, { series = 1, step = true, name = "best so far, 95 % interval" })
  c:rule("y", 1, "baseline")
  return c:svg()
end

local function curve(...) return format.figure(drawn_curve(...)) end

-- Best so far against pulls, as SVG.
function search.curve(m) return drawn_curve(m, "landed", "pulls", m.pulls, true) end

function search.progress(m)
  if m.pulls == 0 then return format.p "No pull has landed yet." end
  local out = { '<div class="grid">', curve(m, "landed", "pulls", m.pulls, true),
                curve(m, "at_s", "time", m.elapsed_s) }
  if m.usd and m.usd > 0 then out[#out + 1] = curve(m, "usd", "US dollars", m.usd) end
  out[#out + 1] = "</div>"
  if m.stride > 1 then
    out[#out + 1] = format.note(("Dots: every %dth of %s pulls; the line and its band are "
      .. "of all."):format(m.stride, format.count(m.pulls)))
  end
  local rows, priced = {}, m.usd and m.usd > 0 or nil
  for i = math.max(1, #m.curve - 11), #m.curve do
    local p = m.curve[i]
    rows[#rows + 1] = { ("#%d"):format(p.id), p.strategy, ("%d"):format(p.landed),
      format.duration(p.at_s), format.times(p.speedup),
      format.interval(p.speedup_low, p.speedup_high), priced and format.usd(p.usd) }
  end
  if #rows > 0 then
    out[#out + 1] = format.table({ "kernel", "strategy", "pull", "after", "speed-up",
      "95 % interval", priced and "dollars" or nil }, rows,
      { left = { true, true }, caption = #m.curve > 12 and ("The last 12 of %d improvements")
        :format(#m.curve) or "Improvements" })
  end
  out[#out + 1] = format.origin("Pulls in the order they landed; the best is the kernel with "
    .. "the highest lower end of its interval, as in the search. Time is wall time since "
    .. "the start (at_s), pauses left out; dollars are summed over pulls, and the curve is "
    .. "absent where no price was recorded.", { [[SELECT p.landed, p.at_s, p.usd, k.id,
    k.speedup, k.speedup_low, k.speedup_high FROM pulls p LEFT JOIN kernels k ON k.id = p.child
    ORDER BY p.landed]] })
  return table.concat(out)
end

function search.verdicts(m)
  if m.pulls == 0 then return nil end
  local series, bars = {}, {}
  for _, v in ipairs(chart.verdicts) do
    if m.verdicts[v] then series[#series + 1] = { name = v, class = "v-" .. v } end
  end
  for i, bin in ipairs(m.bins) do
    local parts, from = {}, (i - 1) * m.bins.size + 1
    for j, s in ipairs(series) do parts[j] = bin[s.name] or 0 end
    local to = math.min(m.pulls, from + m.bins.size - 1)
    bars[i] = { name = ("%d"):format(from), parts = parts,
                title = from == to and ("pull %d"):format(from)
                        or ("pulls %d to %d"):format(from, to) }
  end
  local out = { '<div class="grid">', format.figure(chart.bars {
    title = "Verdicts of successive pulls", height = 210, bars = bars, series = series,
    label = "first pull of each group, in the order they landed",
    y = { label = m.bins.size > 1
      and ("pulls, in groups of %d"):format(m.bins.size) or "pulls", integer = true } }) }
  local rows = {}
  for _, v in ipairs(chart.verdicts) do
    if m.verdicts[v] then
      rows[#rows + 1] = { { html = format.verdict(v) }, format.count(m.verdicts[v]),
                          format.percent(m.verdicts[v] / m.pulls) }
    end
  end
  out[#out + 1] = format.table({ "verdict", "pulls", "share" }, rows) .. "</div>"
  if #m.reasons > 0 then
    local said = {}
    for i, r in ipairs(m.reasons) do
      said[i] = { { html = format.verdict(r.verdict) }, { chart.cut(r.reason or "", 160),
                  class = "wrap", title = r.reason }, format.count(r.n),
                  ("%d"):format(r.first) }
    end
    out[#out + 1] = format.table({ "verdict", "reason", "pulls", "first" }, said,
      { left = { true, true }, caption = "What went wrong most often" })
  end
  out[#out + 1] = format.origin("Table pulls, columns verdict and reason.",
    { "SELECT verdict, reason, count(*) FROM pulls GROUP BY 1, 2 ORDER BY 3 DESC" })
  return table.concat(out)
end

-- A policy that has the parameter masked takes a share of the strategy's value; others
-- do not choose it.
local function scaled(m) return type(m.params.masked) == "number" and m.params.masked or nil end

local function hatching(m)
  local what = "the policy's hardware mask keeps the strategy from"
  if scaled(m) then
    what = ("the policy counts %g of the strategy's value, as the hardware is busy, for")
           :format(scaled(m))
  end
  return (" Hatched: %s at least half of the cluster's kernels."):format(what)
end

local function heat(m)
  local columns, cells, most = {}, {}, 1e-9
  for i, c in ipairs(m.clusters) do columns[i] = "cluster " .. ("%d"):format(c) end
  for _, row in pairs(m.cells) do
    for _, cell in pairs(row) do most = math.max(most, math.abs(cell.mean)) end
  end
  local hatched = false
  for i, name in ipairs(m.strategies) do
    cells[i] = {}
    for j, c in ipairs(m.clusters) do
      local cell = m.cells[name] and m.cells[name][j]
      local masked = model.masked(m, name, c)
      local full = masked and masked >= 0.5
      hatched = hatched or full
      cells[i][j] = { hatched = full, value = cell and cell.mean / most,
        lines = cell and { ("%.3f"):format(cell.mean), ("%s pull%s"):format(
          format.count(cell.n), cell.n == 1 and "" or "s") } or { "", "0 pulls" },
        title = ("%s in cluster %d: %s%s"):format(name, c, cell
          and ("%d pulls, %d gave a kernel, mean reward %.4f"):format(cell.n, cell.ok, cell.mean)
          or "no pull", masked and masked > 0
          and (", %s for %.0f %% of its kernels"):format(scaled(m)
            and "scaled down" or "masked", 100 * masked) or "") }
    end
  end
  return chart.heat { title = "Pulls and mean reward by strategy and cluster",
    rows = m.strategies, columns = columns, cells = cells, cell_width = 74 }, hatched
end

function search.strategies(m)
  if m.pulls == 0 then return nil end
  local out = { '<div class="grid">' }
  if #m.clusters > 0 then
    local svg, hatched = heat(m)
    out[#out + 1] = format.figure(svg, "Mean reward and pulls of each cell; blue is above "
      .. "zero, orange below, stronger is further from it." .. (hatched and hatching(m) or "")
      .. (m.more_clusters and (" The 12 clusters with the most pulls; %d more are not drawn.")
                              :format(m.more_clusters) or ""))
  end
  local rows = {}
  for i, name in ipairs(m.strategies) do
    local arm = m.arms[name] or { n = 0, reward = 0, verdicts = {} }
    rows[i] = { name, model.target(m, name) or "-", format.count(arm.n),
      format.count(arm.verdicts.ok or 0), arm.n > 0 and format.percent((arm.verdicts.ok or 0)
      / arm.n) or "-", arm.n > 0 and ("%.4f"):format(arm.reward / arm.n) or "-" }
  end
  out[#out + 1] = format.table({ "strategy", "target", "pulls", "kernels", "valid",
    "mean reward" }, rows, { left = { true, true }, sort = true }) .. "</div>"
  out[#out + 1] = format.origin("A pull counts in the cluster its parent was in when it was "
    .. "chosen. The mask is computed again, from the recorded utilisation of the kernels, the "
    .. "policy's theta_sat and presses, and the target of each strategy.",
    { "SELECT strategy, cluster, count(*), count(child), avg(reward) FROM pulls GROUP BY 1, 2" })
  return table.concat(out)
end

local feature_names = { "log time", "log footprint", "intensity", "block x (lanes)",
                        "block y (unrolling)", "occupancy" }

local function axis_text(weights, share)
  local order, out = {}, {}
  for j in pairs(weights) do order[#order + 1] = j end
  table.sort(order, function(a, b)
    local x, y = math.abs(weights[a]), math.abs(weights[b])
    if x ~= y then return x > y end
    return a < b
  end)
  for i = 1, math.min(2, #order) do
    local j = order[i]
    out[i] = (weights[j] < 0 and "-" or "+") .. feature_names[j]
  end
  return ("%s (%.0f %% of the variance)"):format(table.concat(out, " "), 100 * share)
end

local function usable(rho)
  if type(rho) ~= "table" or #rho ~= 6 then return false end
  for _, v in ipairs(rho) do if not format.finite(v) then return false end end
  return true
end

function search.clusters(m)
  local kernels, points = {}, {}
  for _, k in ipairs(m.sample) do
    if usable(k.rho) then
      kernels[#kernels + 1], points[#points + 1] = k, k.rho
    end
  end
  local places, shares, weights = pca.plane(points, 6)
  if not places then return nil end
  local c = chart.new { title = "Kernels by behaviour", height = 320,
    x = { label = axis_text(weights[1], shares[1]) },
    y = { label = axis_text(weights[2], shares[2]) } }
  local groups, at, none = {}, {}, {}
  for i, cl in ipairs(m.clusters) do groups[i], at[cl] = {}, i end
  local spot
  for i, k in ipairs(kernels) do
    local p = { places[i][1], places[i][2], ("kernel %d%s, %s%s"):format(k.id,
      k.strategy and " by " .. k.strategy or ", the baseline", format.times(k.speedup),
      k.cluster and (", cluster %d"):format(k.cluster) or "") }
    local g = k.cluster and at[k.cluster] and groups[at[k.cluster]] or none
    g[#g + 1] = p
    if m.winner and k.id == m.winner.id then spot = p end
  end
  c:points(none, { series = 8, radius = 2.5, name = #none > 0 and "never a parent" or nil })
  for i, g in ipairs(groups) do
    if #g > 0 then
      c:points(g, { series = (i - 1) % 7 + 1, radius = 4,
                    name = ("cluster %d"):format(m.clusters[i]) })
    end
  end
  if spot then
    c:points({ spot }, { class = "sf", mark = "ring", radius = 8, name = "the winner" })
  end
  return '<div class="grid">' .. format.figure(c:svg(),
      ("%s of %s kernels on the two principal axes of the six behaviour features, "
      .. "standardised."):format(format.count(#kernels), format.count(m.kernels)))
    .. "</div>" .. format.origin("Features rho of the evaluations (json, evidence.rho); a "
    .. "kernel's cluster is that recorded when it was last chosen as a parent.",
    { [[SELECT kernel, json_extract(json, '$.evidence.rho') FROM evaluations
      WHERE kernel IS NOT NULL]] })
end

return search
