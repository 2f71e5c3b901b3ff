-- report/tree.lua - the search tree, a row a kernel: what it was made from, by what,
-- how fast it is, and the verdicts of its pulls that gave no kernel.
local chart = require "kernelband.report.chart"
local html  = require "kernelband.report.html"
local lists = require "kernelband.base.lists"

local tree = {}

local ROW, STEP = 21, 16

local tag = html.tag

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
  local out = { tag("g", nil, chart.tooltip(("kernel %d, %s%s, %s (%s)"):format(k.id,
        k.parent and ("from %d "):format(k.parent) or "", html.maker(k), html.times(k.speedup),
        html.interval(k.speedup_low, k.speedup_high)))
      .. tag("circle", { class = "area v-ok", cx = k.x, cy = k.y, r = 4.5 })
      .. (winner and tag("circle", { class = "line s1", cx = k.x, cy = k.y, r = 7.5 }) or "")
      .. chart.label(k.x + 12, y, name, winner and "h")) }
  for _, f in ipairs(k.fell) do
    out[#out + 1] = tag("g", nil, chart.tooltip(("%d pulls: %s%s"):format(f.n,
        f.verdict, f.reason and ", " .. f.reason or ""))
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
function tree.drawing(m)
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
function tree.section(m)
  local legend, svg, rows = tree.drawing(m)
  if not legend then return nil end
  local note = rows < m.kernels and (" %s of %s kernels: the path of the best and the fastest "
    .. "with all that lead to them."):format(html.count(rows), html.count(m.kernels)) or ""
  return legend .. html.figure(svg, "A row a kernel, below the one it was made from, with its "
    .. "speed-up as the search measured it. Squares count its pulls that gave no kernel, by "
    .. "verdict." .. note, { class = "scroll tree", tabindex = "0" })
end

return tree
