-- report/exchanges.lua - a run's questions to models and their answers, with the outcome and the
-- cost of each, and the cost of each per cent gained. What a provider does not report is
-- unknown, not 0.
local html  = require "kernelband.report.html"
local lists = require "kernelband.base.lists"
local text  = require "kernelband.base.text"

local exchanges = {}

local MOST_BYTES = 20000                -- of one text

local tag = html.tag

local function unknown(v, fn) return v and fn(v) or "unknown" end

local function outcome(e)
  if e.error then return "failed: " .. e.error:sub(1, 80) end
  if not e.verdict then return e.repaired and "went to repair" or "-" end
  return { html = html.verdict(e.verdict).html .. (e.repaired and ", went to repair" or ""),
           title = e.reason }
end

-- The lines that all questions begin with; to within 64 bytes is near enough.
local function common(list)
  local questions = lists.collect(list, "question")
  local shared = questions[#questions] or ""
  for _, question in ipairs(questions) do
    while question:sub(1, #shared) ~= shared do
      shared = shared:sub(1, #shared > 64 and -65 or -2)
    end
  end
  return shared:match "^.*\n" or ""
end

local function pre(said)
  said = said or ""
  return html.words("pre", said:sub(1, MOST_BYTES) .. (#said > MOST_BYTES
    and ("\n.. %s bytes more"):format(html.count(#said - MOST_BYTES)) or ""))
end

-- The costs of the run, in all and for each per cent gained.
local function costs(m, sums)
  local gained = 100 * ((m.final.speedup or 1) - 1)
  local function line(name, v, show, show_each)
    return { name, unknown(v, show),
             gained > 0 and unknown(v and v / gained, show_each or show) or "-" }
  end
  return html.table({ "", "in all", "for each per cent gained" }, {
      line("dollars", sums.usd, html.usd, function(v) return ("$%.6g"):format(v) end),
      line("tokens", sums.tokens, html.count),
      line("time of answers", sums.seconds, html.duration) })
    .. html.p(html.said("asked", lists.with(sums, { gained = gained,
      mended = text.plural(sums.mended, "kernel") })))
end

local function exchange(e, shared)
  return html.details(html.said("exchange", e),
    tag("div", { class = "pair" },
      tag("div", nil, html.heading "Question" .. pre(e.question and e.question:sub(#shared + 1)))
      .. tag("div", nil, html.heading "Answer" .. pre(e.answer or e.error))))
end

function exchanges.section(m)
  local list, sums = m.exchanges.list, m.exchanges.sums
  if #list == 0 then return nil end
  local shared = common(list)
  return costs(m, sums)
    .. html.listing("exchange", list, { left = 4, wrap = true, show = { verdict = outcome } })
    .. (sums.n > #list and html.note(html.said("newest", m.exchanges)) or "")
    .. html.details("What every question began with", pre(shared))
    .. table.concat(lists.collect(list, function(e) return exchange(e, shared) end))
end

return exchanges
