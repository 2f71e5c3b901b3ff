-- report/checks.lua - the checks that the winner passed, what weakens its figure, what was
-- measured twice, and what kernelband verify found.
local clean = require "kernelband.report.clean"
local html  = require "kernelband.report.html"
local lists = require "kernelband.base.lists"

local checks = {}

-- The reasons why a figure is worth less than it could be, each once.
local function weakened(m)
  local out = {}
  for _, e in ipairs { m.final, m.evaluation, m.baseline_evaluation } do
    table.move(e.weakened, 1, #e.weakened, #out + 1, out)
  end
  if m.options.confirm == false then
    out[#out + 1] = "the search was told not to confirm its winner"
  end
  return lists.distinct(out)
end

local function mutants(tried)
  if not tried.caught then return "" end
  return html.p(("Before the search, %d wrong answers made from right ones went through the "
    .. "task's checks, which caught them all%s."):format(tried.caught, #tried.none > 0
    and "; those that are no other answer here: " .. table.concat(tried.none, ", ") or ""))
end

local function number(id) return id and ("#%d"):format(id) end

local function verified(m)
  return html.table({ "kernel", "verdict", "verified anew", "speed-up", "95 % interval", "" },
    m.verified, { left = 3, caption = "kernelband verify, the last first", row = function(v)
      local e = clean.evaluation(v)
      return { number(v.kernel), html.verdict(v.verdict),
        e.confirmed and "confirmed" or "not confirmed", html.times(e.speedup),
        html.interval(e.speedup_low, e.speedup_high), { e.not_confirmed or "", class = "wrap" } }
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
  local made, less = m.final.checks, weakened(m)
  return (#made > 0 and html.heading "What its winner went through" .. html.list(made)
      or html.note "Which checks were made was not recorded.")
    .. (#less > 0 and html.heading "What makes this worth less" .. html.list(less)
      or #made > 0 and html.p "No check was left out or weakened." or "")
    .. mutants(m.baseline_evaluation.mutants) .. twice(m) .. verified(m)
end

return checks
