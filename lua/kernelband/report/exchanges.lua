-- report/exchanges.lua - a run's questions to models and their answers: side by side with what
-- came of each, what it took, and what each per cent gained has cost. What a provider did not
-- tell is unknown, not 0.
local changes = require "kernelband.base.changes"
local chart   = require "kernelband.report.chart"
local format  = require "kernelband.report.format"
local json    = require "kernelband.base.json"
local told    = require "kernelband.generator.told"

local exchanges = {}

local MOST = 60                         -- shown whole, the newest
local MOST_BYTES = 20000                -- of one text

local escape = chart.escape

-- What a call's child changed, and what that brought against its parent.
local function compare(e, rows)
  local child = rows("SELECT * FROM kernels WHERE id = ?", e.child)[1]
  local parent = rows("SELECT * FROM kernels WHERE id = ?", e.parent)[1]
  local found = rows("SELECT json FROM evaluations WHERE kernel = ? ORDER BY id", e.child)[1]
  local ok, evaluation = pcall(json.decode, found and found.json or "")
  if not child or not parent then return end
  e.change = changes.of(parent.source, child.source)
  e.gain = ok and type(evaluation) == "table" and told.gain(parent, child, evaluation) or nil
end

-- rows(sql, ..): of the journal. The attempts of a pull are told apart by their order.
function exchanges.collect(rows)
  local list = rows([[SELECT c.id, c.pull, c.kind, c.total_s, c.tokens_in, c.tokens_out, c.usd,
      c.error, c.finish, p.verdict, p.reason, p.strategy, p.parent, p.child,
      CAST(a.bytes AS TEXT) AS question, CAST(b.bytes AS TEXT) AS answer,
      row_number() OVER (PARTITION BY c.pull ORDER BY c.id) AS nth,
      count(*) OVER (PARTITION BY c.pull) AS of
    FROM calls c LEFT JOIN pulls p ON p.n = c.pull LEFT JOIN blobs a ON a.hash = c.request
    LEFT JOIN blobs b ON b.hash = c.answer ORDER BY c.id DESC LIMIT ?]], MOST)
  for _, e in ipairs(list) do
    if e.child then compare(e, rows) end
  end
  local sums = rows([[SELECT count(*) AS n, sum(total_s) AS seconds, count(total_s) AS timed,
    sum(tokens_in) + sum(tokens_out) AS tokens, count(tokens_out) AS counted, sum(usd) AS usd,
    count(usd) AS priced, sum(error IS NOT NULL) AS failed FROM calls]])[1] or { n = 0 }
  return { list = list, sums = sums }
end

local kinds = { propose = "question", repair = "repair", first = "first points" }

local function unknown(v, fn) return v == nil and "unknown" or fn(v) end

local function against(e)
  local g = e.gain
  if not g then return "-" end
  return ("%s of #%d"):format(format.times(g.ratio), e.parent)
         .. (g.low and " (" .. format.interval(g.low, g.high) .. ")" or "")
end

local function row(e)
  local more = e.kind == "propose" and (e.of or 1) > 1 and e.nth < e.of
  local came = more and "went to repair"
               or e.error and "failed: " .. tostring(e.error):sub(1, 80)
  return { e.pull and ("%d"):format(e.pull) or "-", kinds[e.kind] or tostring(e.kind),
    e.strategy or "-", came or { html = e.verdict and format.verdict(e.verdict) or "-" },
    more and "-" or against(e), unknown(e.total_s, format.duration),
    unknown(e.tokens_in, format.count), unknown(e.tokens_out, format.count), format.usd(e.usd),
    e.change and not more and (e.change:gsub("`", "")) or "-" }
end

-- How many bytes all questions begin with.
local function common(list)
  local first, n = nil, nil
  for _, e in ipairs(list) do
    local text = e.question
    if text and not first then first, n = text, #text end
    while text and n > 0 and text:sub(1, n) ~= first:sub(1, n) do
      n = n > 64 and n - 64 or n - 1    -- by lines is near enough
    end
  end
  local at = n and first:sub(1, n):find "\n[^\n]*$"
  return at or 0, first
end

local function pre(text)
  text = text or ""
  local cut = #text > MOST_BYTES
  return "<pre>" .. escape(chart.utf8(text:sub(1, MOST_BYTES)))
         .. (cut and escape(("\n.. %s bytes more"):format(format.count(#text - MOST_BYTES))) or "")
         .. "</pre>"
end

-- The whole of the run: what a per cent gained has cost.
local function costs(m, sums)
  local gained = m.final and format.finite(m.final.speedup) and 100 * (m.final.speedup - 1)
  local usd = sums.priced == sums.n - (sums.failed or 0) and sums.usd or nil
  local tokens = sums.counted == sums.n - (sums.failed or 0) and sums.tokens or nil
  local seconds = sums.timed == sums.n and sums.seconds or nil
  local function each(v, fn) return gained and gained > 0 and v and fn(v / gained) or "unknown" end
  local rows = {
    { "dollars", unknown(usd, format.usd), gained and gained > 0 and each(usd, function(v)
      return ("$%.6g"):format(v) end) or "-" },
    { "tokens", unknown(tokens, format.count), gained and gained > 0
      and each(tokens, format.count) or "-" },
    { "time of answers", unknown(seconds, format.duration), gained and gained > 0
      and each(seconds, format.duration) or "-" } }
  return format.table({ "", "in all", "for each per cent gained" }, rows)
         .. (gained and format.p(("%s calls, %.1f %% gained over the baseline."):format(
             format.count(sums.n), math.max(gained, 0))) or "")
end

function exchanges.section(m)
  local found = m.exchanges
  if not found or #found.list == 0 then return nil end
  local body, texts = {}, {}
  local shared, first = common(found.list)
  for i = #found.list, 1, -1 do
    local e = found.list[i]
    body[#body + 1] = row(e)
    texts[#texts + 1] = ('<details><summary>%s</summary><div class="pair"><div><h3>Question</h3>%s'
      .. "</div><div><h3>Answer</h3>%s</div></div></details>"):format(
      escape(("Pull %s, %s: %s%s"):format(e.pull or "?", kinds[e.kind] or "?", e.verdict or "?",
      e.reason and ", " .. e.reason:sub(1, 120) or "")),
      pre(e.question and e.question:sub(shared + 1)), pre(e.answer or e.error))
  end
  return costs(m, found.sums)
    .. format.table({ "pull", "kind", "direction", "verdict", "against its parent", "took",
        "tokens in", "out", "dollars", "what the child changed" }, body,
        { left = { true, true, true, true, [10] = true } })
    .. (found.sums.n > #found.list and format.note(("The newest %d of %s calls."):format(
        #found.list, format.count(found.sums.n))) or "")
    .. "<details><summary>What every question began with</summary>"
    .. pre(first and first:sub(1, shared)) .. "</details>" .. table.concat(texts)
    .. format.origin("Tables calls, blobs and pulls: a question and its answer are kept as they "
      .. "were sent.", { "SELECT pull, kind, total_s, tokens_in, tokens_out, usd FROM calls" })
end

return exchanges
