-- report/checks.lua - why the winner's figure may be believed, and how far: what
-- was checked, whatever weakened that, what was measured twice, who looked again.
local format = require "kernelband.report.format"

local checks = {}

local function texts(list)
  local out = {}
  for _, v in ipairs(type(list) == "table" and list or {}) do
    if type(v) == "string" then out[#out + 1] = v end
  end
  return out
end

local function list_of(lines)
  local out = { "<ul>" }
  for _, text in ipairs(lines) do out[#out + 1] = "<li>" .. format.text(text) .. "</li>" end
  return table.concat(out) .. "</ul>"
end

-- What tells that a figure is worth less than it could be, each once.
local function weakened(m)
  local out, known = {}, {}
  for _, e in ipairs { m.final or {}, m.evaluation or {}, m.baseline_evaluation or {} } do
    for _, text in ipairs(texts(e.weakened)) do
      if not known[text] then
        known[text] = true
        out[#out + 1] = text
      end
    end
  end
  if m.experiment.options.confirm == false then
    out[#out + 1] = "the search was told not to confirm its winner"
  end
  return out
end

local function mutants(m)
  local r = (m.baseline_evaluation or {}).mutants
  if type(r) ~= "table" or not format.finite(r.caught) then return "" end
  local none = texts(r.none)
  return format.p(("Before the search, %d wrong answers made from right ones went through the "
    .. "task's checks, which caught them all%s."):format(r.caught, #none > 0
    and "; those that are no other answer here: " .. table.concat(none, ", ") or ""))
end

local function verified(m)
  local rows = {}
  for i, v in ipairs(m.verified) do
    rows[i] = { ("#%d"):format(v.kernel or 0), { html = format.verdict(v.verdict) },
      v.confirmed and "confirmed" or "not confirmed", format.times(v.speedup),
      format.interval(v.low, v.high), { v.reason or "", class = "wrap" } }
  end
  if #rows == 0 then return "" end
  return format.table({ "kernel", "verdict", "verified anew", "speed-up", "95 % interval", "" },
    rows, { left = { true, true, true, false, false, true },
            caption = "kernelband verify, the last first" })
end

local function twice(m)
  local rows = {}
  for i, q in ipairs(m.quarantined) do
    rows[i] = { ("%d"):format(q.id), tostring(q.kind), q.kernel and ("#%d"):format(q.kernel) or "-",
                { tostring(q.why), class = "wrap" } }
  end
  if #rows == 0 then return "" end
  return format.table({ "evaluation", "kind", "kernel", "why it was measured twice" }, rows,
    { left = { true, true, true, true },
      caption = "Too good to be believed at once, the last first" })
end

function checks.section(m)
  if not m.winner then return nil end
  local made, less = texts((m.final or {}).checks), weakened(m)
  return table.concat {
    #made > 0 and "<h3>What its winner went through</h3>" .. list_of(made)
      or format.note "Which checks were made was not recorded.",
    #less > 0 and "<h3>What makes this worth less</h3>" .. list_of(less)
      or #made > 0 and format.p "No check was left out or weakened." or "",
    mutants(m), twice(m), verified(m),
    format.origin("Fields checks, weakened and quarantined of evaluations; mutants of the "
      .. "baseline's. A kernel that fails a check has no speed-up at all.",
      { "SELECT kernel, json_extract(json, '$.checks'), json_extract(json, '$.weakened'), "
        .. "json_extract(json, '$.quarantined') FROM evaluations WHERE verdict = 'ok'" }) }
end

return checks
