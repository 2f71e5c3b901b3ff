-- report - pages of runs.
--
--   report.html { "runs/a" }               one run, with everything there is; a list of what
--                                          was told of damaged files comes with it
--   report.html { "runs/a", "runs/b" }     several, side by side
--   report.svg "runs/a"                    best so far and the search tree, one picture
--   report.view(m)                         what html.page takes of one model, for the live page
local chart     = require "kernelband.report.chart"
local exchanges = require "kernelband.report.exchanges"
local html      = require "kernelband.report.html"
local kernel    = require "kernelband.report.kernel"
local lists     = require "kernelband.base.lists"
local many      = require "kernelband.report.many"
local model     = require "kernelband.report.model"
local origin    = require "kernelband.report.origin"
local search    = require "kernelband.report.search"

local report = {}

local parts = {
  { "summary", "Summary", kernel.summary, needs = "winner" },
  { "checks", "What was checked", kernel.checks, needs = "winner" },
  { "progress", "Best so far", search.progress, needs = "pulled" },
  { "verdicts", "Verdicts", search.verdicts, needs = "pulled" },
  { "strategies", "Strategies and clusters", search.strategies, needs = "pulled" },
  { "tree", "Search tree", search.tree },
  { "clusters", "Kernels by behaviour", search.clusters },
  { "roofline", "Roofline", kernel.roofline },
  { "profile", "Profile before and after", kernel.profile },
  { "source", "Source of the winner", kernel.source, needs = "winner" },
  { "exchanges", "Questions and answers", exchanges.section },
  { "origin", "Provenance", origin.section },
}

-- What html.page takes, of one model. all: see html.sections; m: nil before there is a run.
function report.view(m, all)
  local sections = html.sections(parts, m, all)
  if not m then return { title = "", lead = "", sections = sections } end
  return { title = html.said("title", m), lead = html.p(html.said("lead", m), "q"),
           sections = sections }
end

function report.html(folders)
  local models = lists.collect(folders, function(folder) return model.load(folder) end)
  local damage = lists.collect(models, "damage")
  local view = #models > 1 and many.view(models) or report.view(models[1])
  view.lead = table.concat(lists.collect(damage, html.note)) .. view.lead
  return html.page(view), damage
end

-- The picture of a run ----------------------------------------------------------------

local MARGIN, GAP = 12, 24

function report.svg(folder)
  local m, drawings, most, lowest = model.load(folder), {}, 0, 0
  -- Puts a drawing at (x, y) of the picture; returns where it ends.
  local function put(svg, x, y)
    local right, bottom = x + svg:match ' width="([%d.]+)"', y + svg:match ' height="([%d.]+)"'
    drawings[#drawings + 1] = svg:gsub("^<svg ", ('<svg x="%d" y="%d" '):format(x, y))
    most, lowest = math.max(most, right), math.max(lowest, bottom)
    return right, bottom
  end
  local left = put(search.curve(m, "landed"), MARGIN, MARGIN) + GAP
  local legend, kernels = search.tree_drawing(m)
  if legend then put(kernels, left, select(2, put(legend, left, MARGIN))) end
  return chart.element("wide", most + MARGIN, lowest + MARGIN, "A search: " .. m.task,
                       table.concat(drawings), true) .. "\n", { m.damage }
end

return report
