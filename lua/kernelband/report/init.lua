-- report - pages of runs.
--
--   report.html { "runs/a" }               one run, with everything there is; a list of what
--                                          was told of damaged files comes with it
--   report.html { "runs/a", "runs/b" }     several, side by side
--   report.svg "runs/a"                    best so far and the search tree, one picture
--   report.sections(m)                     of one model, for the live page
local collect   = require("kernelband.base.lists").collect
local chart     = require "kernelband.report.chart"
local checks    = require "kernelband.report.checks"
local exchanges = require "kernelband.report.exchanges"
local html      = require "kernelband.report.html"
local kernel    = require "kernelband.report.kernel"
local model     = require "kernelband.report.model"
local origin    = require "kernelband.report.origin"
local page      = require "kernelband.report.page"
local search    = require "kernelband.report.search"
local source    = require "kernelband.report.source"
local tree      = require "kernelband.report.tree"

local report = {}

-- The sections there can be: id, title, and the HTML of a model, nil where it has nothing to show.
report.parts = {
  { "summary", "Summary", kernel.summary },
  { "checks", "What was checked", checks.section },
  { "progress", "Best so far", search.progress },
  { "verdicts", "Verdicts", search.verdicts },
  { "strategies", "Strategies and clusters", search.strategies },
  { "tree", "Search tree", tree.section },
  { "clusters", "Kernels by behaviour", search.clusters },
  { "roofline", "Roofline", kernel.roofline },
  { "profile", "Profile before and after", kernel.profile },
  { "source", "Source of the winner", source.section },
  { "exchanges", "Questions and answers", exchanges.section },
  { "origin", "Provenance", origin.section },
}

-- { id, title, html } of each part that has something to show; all: of the others
-- too, so that a served page has a place for what comes later. m: nil before there is a run.
function report.sections(m, all)
  return collect(report.parts, function(part)
    local text = m and part[3](m) or all and html.note "Nothing to show yet."
    return text and { id = part[1], title = part[2], html = text }
  end)
end

function report.title(m)
  if not m.winner or m.winner.id == 1 then
    return ("%s: %s pulls"):format(m.task, html.count(m.pulls))
  end
  local low = html.finite(m.final.speedup_low)
  if not low or low <= 1 then return ("%s: no speed-up shown"):format(m.task) end
  return ("%s: %s speed-up"):format(m.task, html.times(m.final.speedup))
end

function report.lead(m)
  return (m.damage and html.note(m.damage) or "")
    .. html.p(("Run %s, policy %s, generator %s, seed %d, %s; started %s."):format(m.name,
              m.policy, m.generator_name, m.seed, m.state, m.experiment.started or "?"), "q")
end

function report.html(folders)
  local models, damage = {}, {}
  for i, folder in ipairs(folders) do
    models[i] = model.load(folder)
    damage[#damage + 1] = models[i].damage
  end
  if #models > 1 then return require("kernelband.report.many").html(models), damage end
  local m = models[1]
  return page.html { title = report.title(m), lead = report.lead(m),
                     sections = report.sections(m) }, damage
end

-- The picture of a run ----------------------------------------------------------------

local MARGIN, GAP = 12, 24

-- A drawing put at (x, y) of another; returns it, its width and its height.
local function placed(svg, x, y)
  local wide, high = svg:match ' width="([%d.]+)"', svg:match ' height="([%d.]+)"'
  svg = svg:gsub("^<svg ", ('<svg x="%d" y="%d" '):format(x, y))
  return svg, tonumber(wide), tonumber(high)
end

function report.svg(folder)
  local m = model.load(folder)
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
                       "A search: " .. m.task, table.concat(parts), true) .. "\n", { m.damage }
end

return report
