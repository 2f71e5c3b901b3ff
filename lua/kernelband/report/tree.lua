-- report/tree.lua - the search tree, a row a kernel: what it was made from, by what,
-- how fast it is, and the verdicts of its pulls that gave no kernel.
local chart = require "kernelband.report.chart"
local html  = require "kernelband.report.html"

local tree = {}

local ROW, STEP = 21, 16

local tag, escape = html.tag, html.escape

-- Kernels in the order of the rows, each with its place in the drawing.
local function rows_of(list)
  local out, seen = {}, {}
  local function walk(k, depth)
    k.x, k.y = 8 + STEP * depth, ROW * #out + 12
    out[#out + 1] = k
    for _, child in ipairs(k.children) do walk(child, depth + 1) end
  end
  for _, k in ipairs(list) do
    for _, child in ipairs(k.children) do seen[child] = true end
  end
  for _, k in ipairs(list) do
    if not seen[k] then walk(k, 0) end
  end
  return out
end

local function branches(rows, on_path)
  local plain, strong = {}, {}
  for _, k in ipairs(rows) do
    for _, child in ipairs(k.children) do
      local list = on_path[k.id] and on_path[child.id] and strong or plain
      list[#list + 1] = ("M%d %dV%dH%d"):format(k.x, k.y, child.y, child.x)
    end
  end
  return tag("path", { class = "axis", stroke_opacity = ".45", d = table.concat(plain) })
         .. tag("path", { class = "line s1", d = table.concat(strong) })
end

-- A row as SVG, and where it ends. final: the winner's confirmed figures, of others nil.
local function node(k, winner, final)
  local text = ("#%d %s %s%s"):format(k.id, k.strategy and html.cut(k.strategy, 24) or "baseline",
    html.times(final and final.speedup or k.speedup), final and ", confirmed" or "")
  local x, out = k.x + 16 + chart.text_width(text) * (winner and 1.08 or 1), {}
  for i, f in ipairs(k.fell) do
    out[i] = tag("g", nil, tag("title", nil, escape(("%d pulls: %s%s"):format(f.n, f.verdict,
        f.reason and ", " .. f.reason or "")))
      .. tag("rect", { class = "area v-" .. f.verdict, x = x, y = k.y - 5, width = 9, height = 9,
                       rx = 2 })
      .. tag("text", { class = "q", x = x + 12, y = k.y + 4 }, tostring(f.n)))
    x = x + 20 + chart.text_width(tostring(f.n))
  end
  if k.hidden > 0 then
    local more = ("+%d kernels"):format(k.hidden)
    out[#out + 1] = tag("text", { class = "q", x = x + 2, y = k.y + 4 }, more)
    x = x + chart.text_width(more) + 6
  end
  return tag("g", nil, tag("title", nil, escape(("kernel %d, %s, %s (%s)"):format(k.id, k.parent
        and ("from %d by %s"):format(k.parent, k.strategy or "?") or "the baseline",
        html.times(k.speedup), html.interval(k.speedup_low, k.speedup_high))))
      .. tag("circle", { class = "area v-ok", cx = k.x, cy = k.y, r = 4.5 })
      .. (winner and tag("circle", { class = "line s1", cx = k.x, cy = k.y, r = 7.5 }) or "")
      .. tag("text", { class = winner and "h", x = k.x + 12, y = k.y + 4 }, escape(text)))
    .. table.concat(out), x
end

-- The legend and the tree, as SVG, and how many kernels are in it; nil where there is none.
function tree.drawing(m)
  if #m.tree == 0 then return nil end
  local rows, on_path, fell, wide = rows_of(m.tree), {}, {}, 200
  for _, k in ipairs(m.path or {}) do on_path[k.id] = true end
  local body = { branches(rows, on_path) }
  for _, k in ipairs(rows) do
    local winner = m.winner and k.id == m.winner.id
    local right
    body[#body + 1], right = node(k, winner, winner and k.id ~= 1 and m.confirmed and m.final)
    wide = math.max(wide, right)
    for _, f in ipairs(k.fell) do fell[f.verdict] = true end
  end
  local legend = chart.verdict_series(fell)
  table.insert(legend, 1, { name = "path of the best", class = "s1" })
  table.insert(legend, 1, { name = "verified kernel", class = "v-ok" })
  local above, bottom = chart.draw_legend(legend, 0, 340, 12)
  return chart.element("heat", 340, bottom, "Colours of the search tree", above),
         chart.element("wide", math.ceil(wide) + 4, ROW * #rows + 6, "Search tree",
                       table.concat(body)), #rows
end

-- The HTML of the section.
function tree.section(m)
  local key, svg, rows = tree.drawing(m)
  if not key then return nil end
  local note = rows < m.kernels and (" %s of %s kernels: the path of the best and the fastest "
    .. "with all that lead to them."):format(html.count(rows), html.count(m.kernels)) or ""
  return key .. tag("figure", nil, tag("div", { class = "scroll tree", tabindex = "0" }, svg)
      .. tag("figcaption", nil, escape("A row a kernel, below the one it was made from, with its "
        .. "speed-up as the search measured it. Squares count its pulls that gave no kernel, by "
        .. "verdict." .. note)))
    .. html.origin "tree"
end

return tree
