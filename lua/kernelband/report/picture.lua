-- report/picture.lua - a run in one SVG that stands alone: best so far beside its search tree.
local chart  = require "kernelband.report.chart"
local search = require "kernelband.report.search"
local tree   = require "kernelband.report.tree"

local MARGIN, GAP = 12, 24

-- A drawing put at (x, y) of another; returns it, its width and its height.
local function placed(svg, x, y)
  local wide, high = svg:match ' width="([%d.]+)"', svg:match ' height="([%d.]+)"'
  svg = svg:gsub("^<svg ", ('<svg x="%d" y="%d" '):format(x, y))
  return svg, tonumber(wide), tonumber(high)
end

-- The SVG of a run's model (report/model.lua).
return function(m)
  local legend, kernels = tree.drawing(m)
  local curve, right, bottom = placed(search.curve(m), MARGIN, MARGIN)
  local parts, y = { curve }, MARGIN
  local left, most = right + MARGIN + GAP, 0
  for _, svg in ipairs { legend, kernels } do
    local wide, high
    parts[#parts + 1], wide, high = placed(svg, left, y)
    most, y = math.max(most, wide), y + high
  end
  return chart.element("wide", left + most + MARGIN, math.max(bottom + MARGIN, y) + MARGIN,
                       "A search: " .. m.task, table.concat(parts), true) .. "\n"
end
