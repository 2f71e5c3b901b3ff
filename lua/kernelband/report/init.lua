-- report - pages of runs.
--
--   report.html { "runs/a" }               one run, with everything there is; a list of what
--                                          was told of damaged files comes with it
--   report.html { "runs/a", "runs/b" }     several, side by side
--   report.svg "runs/a"                    best so far and the search tree, one picture
--   report.sections(m)                     of one model, for the live page
local chart  = require "kernelband.report.chart"
local format = require "kernelband.report.format"
local kernel = require "kernelband.report.kernel"
local model  = require "kernelband.report.model"
local page   = require "kernelband.report.page"
local search = require "kernelband.report.search"

local report = {}

local parts = {
  { "summary", "Summary", kernel.summary },
  { "checks", "What was checked",
    function(m) return require("kernelband.report.checks").section(m) end },
  { "progress", "Best so far", search.progress },
  { "verdicts", "Verdicts", search.verdicts },
  { "strategies", "Strategies and clusters", search.strategies },
  { "tree", "Search tree", function(m) return require("kernelband.report.tree").section(m) end },
  { "clusters", "Kernels by behaviour", search.clusters },
  { "roofline", "Roofline", kernel.roofline },
  { "profile", "Profile before and after", kernel.profile },
  { "source", "Source of the winner",
    function(m) return require("kernelband.report.source").section(m) end },
  { "exchanges", "Questions and answers",
    function(m) return require("kernelband.report.exchanges").section(m) end },
  { "origin", "Provenance", function(m) return require("kernelband.report.origin").section(m) end },
}

-- The sections there can be: { id, title }.
function report.parts() return parts end

-- { id, title, html } of each part that has something to show; all: of the others
-- too, so that a served page has a place for what comes later.
function report.sections(m, all)
  local out = {}
  for _, part in ipairs(parts) do
    local html = part[3](m)
    if not html and all then html = format.note "Nothing to show yet." end
    if html then out[#out + 1] = { id = part[1], title = part[2], html = html } end
  end
  return out
end

function report.title(m)
  if not m.winner or m.winner.id == 1 then
    return ("%s: %s pulls"):format(m.task, format.count(m.pulls))
  end
  local low = format.finite(m.final.speedup_low)
  if not low or low <= 1 then return ("%s: no speed-up shown"):format(m.task) end
  return ("%s: %s speed-up"):format(m.task, format.times(m.final.speedup))
end

function report.lead(m)
  return (m.damage and format.note(m.damage) or "") .. ('<p class="q">%s</p>'):format(chart.escape(
    ("Run %s, policy %s, generator %s, seed %d, %s; started %s."):format(m.name, m.policy,
    m.generator, m.seed, m.state, m.experiment.started or "?")))
end

function report.html(folders)
  local models, damage = {}, {}
  for i, folder in ipairs(folders) do
    models[i] = model.load(folder)
    damage[#damage + 1] = models[i].damage
  end
  if #models > 1 then return require("kernelband.report.many").html(models), damage end
  local m = models[1]
  return page.html { title = report.title(m), lead = report.lead(m), foot = page.foot(),
                     sections = report.sections(m) }, damage
end

function report.svg(folder)
  local m = model.load(folder)
  return require "kernelband.report.picture"(m), { m.damage }
end

return report
