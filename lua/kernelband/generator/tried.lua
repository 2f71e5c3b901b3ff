-- generator/tried.lua - what a search keeps of each pull so that a model can be told of it: what
-- its kernel measured, what it changed, what that brought against its parent. All of it follows
-- from the journal, so a resumed search tells the same. And what a model is told: what was tried,
-- on this kernel and on its relatives, a line each, or why it failed. A pull is told once.
local changes = require "kernelband.base.changes"
local lists   = require "kernelband.base.lists"
local reply   = require "kernelband.llm.reply"
local time    = require "kernelband.base.text".time
local words   = require "kernelband.generator.words"

local tried = {}

local collect, keys, with = lists.collect, lists.keys, lists.with

local most_line <const> = 6             -- steps from the first version
local most_here <const> = 8             -- from this kernel, from its parent, elsewhere
local most_beside <const> = 4
local most_elsewhere <const> = 3
local most_reason <const> = 140
local most_settings <const> = 10
local most_constants <const> = 160      -- bytes of their names, or of their values

-- What is kept ------------------------------------------------------------------------

-- Of an evaluation: what is said of a kernel. nil where there are no times by shape.
function tried.measured(evaluation)
  local shapes, evidence = evaluation.shapes, evaluation.evidence or {}
  if type(shapes) ~= "table" or not shapes[1] or not shapes[1].time_ns then return nil end
  local timed = collect(shapes, function(s) return (s.role or "timed") == "timed" and s end)
  return { hot = evidence.hot, remarks = evidence.remarks, shapes = timed }
end

-- How many times as fast as its parent: { ratio, low, high }. Side by side where the
-- two were timed so; else by their gains over the baseline, whose intervals' logarithms add
-- in quadrature.
function tried.gain(parent, child, evaluation)
  local pair, ratio = evaluation.against, child.speedup / parent.speedup
  if pair and pair.kernel == parent.id and pair.speedup then
    return { ratio = pair.speedup, low = pair.low, high = pair.high }
  end
  local function off(edge, other)       -- the logarithm of the way to an end of the interval
    return math.sqrt(math.log(child[edge] / child.speedup) ^ 2
                     + math.log(parent[other] / parent.speedup) ^ 2)
  end
  if evaluation.screened then return { ratio = ratio } end
  return { ratio = ratio, low = ratio * math.exp(-off("speedup_low", "speedup_high")),
           high = ratio * math.exp(off("speedup_high", "speedup_low")) }
end

-- Settings of open constants that a pull tried: { params, time_ns | verdict }, in order; nil
-- when there was but one.
local function tunings(attempts)
  local _, first = lists.find(attempts, function(a) return a.kind == "tune" end)
  return first and collect(attempts, function(a, i)
    local e = i >= first - 1 and a.evaluation
    return e and { params = a.candidate.params, verdict = e.verdict,
                   time_ns = e.verdict == "ok" and e.time_ns or nil }
  end)
end

-- The row of a pull that has landed, beside what it has already.
function tried.row(row, p)
  local last = p.kept or p.attempts[#p.attempts]
  for _, a in ipairs(p.attempts) do row.repaired = row.repaired or a.kind == "repair" end
  if last then
    row.change = changes.of(p.parent.source, last.candidate.source, p.parent.params,
                            last.candidate.params, last.evaluation.declared ~= nil)
  end
  if p.child then row.gain = tried.gain(p.parent, p.child, p.evaluation) end
  row.tuned = tunings(p.attempts)
end

-- What is told ------------------------------------------------------------------------

local function quoted(text)
  return '"' .. reply.excerpt(tostring(text or ""), most_reason):gsub('"', "'") .. '"'
end

local function cell(list) return changes.code(table.concat(list, " "), most_constants) end

-- The open constants that a pull measured: their names, then the values of each setting with its
-- time.
local function constants(tuned) return keys(tuned[1].params or {}) end

local function settings(tuned)
  return table.concat(collect(tuned, function(t, i)
    local values = collect(constants(tuned), function(name)
      return tostring((t.params or {})[name])
    end)
    return i <= most_settings
           and cell(values) .. " " .. (t.time_ns and time(t.time_ns) or t.verdict)
  end), ", ")
end

local function gained(g)
  if not g then return "ok" end
  local how = (g.low or g.ratio) > 1 and "faster:" or (g.high or g.ratio) < 1 and "slower:"
              or "no difference shown:"
  return ("%s %.2fx its parent%s"):format(how, g.ratio,
    g.low and words.interval(g.low, g.high) or " (one look)")
end

local said = { not_applicable = "answered NOT APPLICABLE", no_candidate = "no kernel in the answer",
  build_failed = "does not compile", launch_failed = "cannot be launched", wrong = "wrong",
  cheated = "refused", crashed = "crashed", timeout = "too slow to be judged" }

-- The newest `most` of rows that were not told yet, in their order; of those whose field has
-- that value.
local function newest(rows, most, told, field, value)
  local new = collect(rows, function(row)
    return not told[row] and (not field or row[field] == value) and row
  end)
  return table.move(new, math.max(1, #new - most + 1), #new, 1, {})
end

-- The steps from the first version to a kernel, the last ones.
local function lineage(kernel, made)
  local out, row = {}, made[kernel.id]
  while row and #out < most_line do
    table.insert(out, 1, row)
    row = made[row.parent]
  end
  return out
end

-- about: kernel, strategy, best, history (pulls on this kernel), rows (all), made (the row of
-- the pull that gave a kernel). A section: rows, their title, whether they are of many parents.
function tried.values(about)
  local told, sections, made = {}, {}, about.made or {}
  local kernel, rows = about.kernel, about.rows or {}
  local function section(title, of, anywhere)
    if #of > 0 then sections[#sections + 1] = with(of, { title = title, anywhere = anywhere }) end
    for _, row in ipairs(of) do told[row] = true end
  end
  section("How this kernel came to be:", lineage(kernel, made), true)
  section("From this kernel:", newest(about.history or {}, most_here, told))
  section(("From its parent, kernel %d:"):format(kernel.parent or 0),
          newest(kernel.parent and rows or {}, most_beside, told, "parent", kernel.parent))
  section("In this direction before:",
          newest(rows, most_elsewhere, told, "strategy", about.strategy.name), true)
  local best = about.best and made[about.best.id]
  section("The fastest so far:", best and not told[best] and { best } or {}, true)
  return { sections = sections, gained = gained, quoted = quoted, settings = settings,
           names = function(tuned) return cell(constants(tuned)) end,
           failed = function(verdict) return said[verdict] or verdict end }
end

return tried
