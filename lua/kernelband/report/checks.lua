-- report/checks.lua - the checks that the winner passed, what weakens its figure, what was
-- measured twice, and what kernelband verify found.
local collect = require("kernelband.base.lists").collect
local html = require "kernelband.report.html"

local checks = {}

local function texts(list)
  return collect(type(list) == "table" and list or {}, function(v)
    return type(v) == "string" and v
  end)
end

-- The reasons why a figure is worth less than it could be, each once.
local function weakened(m)
  local out, known = {}, {}
  for _, e in ipairs { m.final, m.evaluation or {}, m.baseline_evaluation or {} } do
    for _, text in ipairs(texts(e.weakened)) do
      if not known[text] then out[#out + 1] = text end
      known[text] = true
    end
  end
  if m.experiment.options.confirm == false then
    out[#out + 1] = "the search was told not to confirm its winner"
  end
  return out
end

local function mutants(m)
  local r = (m.baseline_evaluation or {}).mutants
  if type(r) ~= "table" or not html.finite(r.caught) then return "" end
  local none = texts(r.none)
  return html.p(("Before the search, %d wrong answers made from right ones went through the "
    .. "task's checks, which caught them all%s."):format(r.caught, #none > 0
    and "; those that are no other answer here: " .. table.concat(none, ", ") or ""))
end

local function number(id) return id and ("#%d"):format(id) end

local function verified(m)
  return html.table({ "kernel", "verdict", "verified anew", "speed-up", "95 % interval", "" },
    m.verified, { left = 3, caption = "kernelband verify, the last first", row = function(v)
      local e = v.evaluation or {}
      return { number(v.kernel), html.verdict(v.verdict),
        e.confirmed == true and "confirmed" or "not confirmed", html.times(e.speedup),
        html.interval(e.speedup_low, e.speedup_high),
        { type(e.not_confirmed) == "string" and e.not_confirmed or "", class = "wrap" } }
    end })
end

local function twice(m)
  return html.table({ "evaluation", "kind", "kernel", "why it was measured twice" },
    m.quarantined, { left = 3, caption = "Too good to be believed at once, the last first",
      row = function(q)
        return { ("%d"):format(q.id), q.kind, number(q.kernel), { q.why, class = "wrap" } }
      end })
end

function checks.section(m)
  if not m.winner then return nil end
  local made, less = texts(m.final.checks), weakened(m)
  return (#made > 0 and html.heading "What its winner went through" .. html.list(made)
      or html.note "Which checks were made was not recorded.")
    .. (#less > 0 and html.heading "What makes this worth less" .. html.list(less)
      or #made > 0 and html.p "No check was left out or weakened." or "")
    .. mutants(m) .. twice(m) .. verified(m)
    .. html.origin "checks"
end

return checks
