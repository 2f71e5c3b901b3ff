-- report/tree.lua - the search tree, a row a kernel: what it was made from, by what,
-- how fast it is, and the verdicts of its pulls that gave no kernel.
local chart  = require "kernelband.report.chart"
local format = require "kernelband.report.format"

local tree = {}

local ROW, STEP = 21, 16

local escape = chart.escape

-- Kernels in the order of the rows, each with its row and depth in the drawing.
local function rows_of(list)
  local out = {}
  local function walk(k, depth)
    k.row, k.level = #out, depth
    out[#out + 1] = k
    for _, child in ipairs(k.children) do walk(child, depth + 1) end
  end
  local seen = {}
  for _, k in ipairs(list) do
    for _, child in ipairs(k.children) do seen[child] = true end
  end
  for _, k in ipairs(list) do
    if not seen[k] then walk(k, 0) end
  end
  return out
end

local function place(k) return 8 + STEP * k.level, ROW * k.row + 12 end

local function branches(rows, on_path, out)
  local plain, strong = {}, {}
  for _, k in ipairs(rows) do
    local x, y = place(k)
    for _, child in ipairs(k.children) do
      local cx, cy = place(child)
      local line = ("M%d %dV%dH%d"):format(x, y, cy, cx)
      local list = on_path[k.id] and on_path[child.id] and strong or plain
      list[#list + 1] = line
    end
  end
  out[#out + 1] = ('<path class="ax" stroke-opacity=".45" d="%s"/>'):format(table.concat(plain))
  out[#out + 1] = ('<path class="ln s1" d="%s"/>'):format(table.concat(strong))
end

local function label(k)
  local name = k.strategy and chart.cut(k.strategy, 24) or "baseline"
  return ("#%d %s %s"):format(k.id, name, format.times(k.speedup))
end

-- Returns where the row ends.
local function node(k, winner, out)
  local x, y = place(k)
  local text = label(k)
  out[#out + 1] = ('<g><title>%s</title><circle class="ar v-ok" cx="%d" cy="%d" r="4.5"/>')
    :format(escape(("kernel %d, %s, %s (%s)"):format(k.id, k.parent
      and ("from %d by %s"):format(k.parent, k.strategy or "?") or "the baseline",
      format.times(k.speedup),
      format.interval(k.speedup_low, k.speedup_high))), x, y)
  if winner then
    out[#out + 1] = ('<circle class="ln s1" cx="%d" cy="%d" r="7.5"/>'):format(x, y)
  end
  out[#out + 1] = ('<text%s x="%d" y="%d">%s</text></g>'):format(winner and ' class="h"' or "",
    x + 12, y + 4, escape(text))
  x = x + 16 + chart.text_width(text) * (winner and 1.08 or 1)
  for _, f in ipairs(k.fell) do
    out[#out + 1] = ('<g><title>%s</title><rect class="ar v-%s" x="%d" y="%d" width="9" '
      .. 'height="9" rx="2"/><text class="q" x="%d" y="%d">%d</text></g>'):format(
      escape(("%d pulls: %s%s"):format(f.n, f.verdict, f.reason and ", " .. f.reason or "")),
      escape(f.verdict), x // 1, y - 5, x // 1 + 12, y + 4, f.n)
    x = x + 16 + chart.text_width(tostring(f.n)) + 4
  end
  if k.hidden > 0 then
    local more = ("+%d kernels"):format(k.hidden)
    out[#out + 1] = ('<text class="q" x="%d" y="%d">%s</text>'):format(x // 1 + 2, y + 4, more)
    x = x + chart.text_width(more) + 6
  end
  return x
end

-- The legend and the tree, as SVG; nil where there is no kernel.
function tree.drawing(m)
  if #m.tree == 0 then return nil end
  local rows, on_path = rows_of(m.tree), {}
  for _, k in ipairs(m.path or {}) do on_path[k.id] = true end
  local body, wide, fell = {}, 200, {}
  branches(rows, on_path, body)
  for _, k in ipairs(rows) do
    wide = math.max(wide, node(k, m.winner and k.id == m.winner.id, body))
    for _, f in ipairs(k.fell) do fell[f.verdict] = true end
  end
  local legend = { { name = "verified kernel", class = "v-ok" },
                   { name = "path of the best", class = "s1" } }
  for _, v in ipairs(chart.verdicts) do
    if fell[v] then legend[#legend + 1] = { name = v, class = "v-" .. v } end
  end
  local above = {}
  local bottom = chart.draw_legend(legend, 0, 340, 12, above)
  local key = chart.open("heat", 340, bottom, "Colours of the search tree") .. table.concat(above)
              .. "</svg>"
  return key, chart.open("wide", math.ceil(wide) + 4, ROW * #rows + 6, "Search tree")
              .. table.concat(body) .. "</svg>", #rows
end

-- The HTML of the section.
function tree.section(m)
  local key, svg, rows = tree.drawing(m)
  if not key then return nil end
  local note = rows < m.kernels and (" %s of %s kernels: the path of the best and the "
    .. "fastest with all that lead to them."):format(format.count(rows),
    format.count(m.kernels)) or ""
  return key .. '<figure><div class="scroll tree" tabindex="0">' .. svg .. "</div><figcaption>"
    .. escape("A row a kernel, below the one it was made from. Squares count its pulls that "
              .. "gave no kernel, by verdict." .. note) .. "</figcaption></figure>"
    .. format.origin("Tables kernels (parent, strategy, speedup) and pulls (parent, verdict).",
      { "SELECT id, parent, strategy, speedup, speedup_low, speedup_high FROM kernels",
        "SELECT parent, verdict, count(*) FROM pulls WHERE child IS NULL GROUP BY 1, 2" })
end

return tree
