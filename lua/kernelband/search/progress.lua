-- search/progress.lua - what a search shows while it runs and when it ends: on a terminal one line,
-- rewritten in place; elsewhere one plain line a pull, or one JSON object. All of it on stderr, so
-- that stdout stays the script's.

local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local fill   = require("kernelband.base.template").fill
local schema = require "kernelband.base.schema"
local text   = require "kernelband.base.text"
local verdict = require "kernelband.evaluate.verdict"
local collect = lists.collect

local progress = {}

local REDRAW_NS = 100 * 1000 * 1000
local CLAUSE = 100                      -- characters of a reason on a line that tells more

local modes = { "auto", "always", "never", "json" }
local chosen = "auto"

-- What --progress said, for all searches; nil leaves it as it is.
function progress.mode(word)
  if word then
    schema.must(lists.contains(modes, word), "kernelband: --progress: expected auto, always, "
      .. "never or json, got '%s'%s", word, schema.hint(word, modes))
    chosen = word
  end
  return chosen
end

-- Words ------------------------------------------------------------------------------

-- "ok 53 launch_failed 7".
function progress.counts(verdicts)
  return table.concat(collect(verdict.names, function(name)
    return (name == "ok" or verdicts[name]) and name .. " " .. (verdicts[name] or 0)
  end), " ")
end

local function digits(v, n) return ("%." .. n .. "f"):format(v) end

-- A piece of progress.in about s (a search, a result); more: what else it names. And its parts.
local function piece(name, s, more, between)
  local parts, names = {}, lists.with({ s = s, text = text, digits = digits }, more)
  fill("search/progress." .. name, names, function(part) parts[#parts + 1] = part end)
  return table.concat(parts, between), parts
end

-- "[12/48] matmul best 18.40x".
local function head(s) return (piece("head", s)) end

-- Seconds until pulls or minutes are used up; false where that cannot be told.
local function eta_of(s)
  local eta = s.steps and s.done > 0 and s.elapsed_s / s.done * (s.steps - s.done)
  return s.minutes and math.min(eta or math.huge, s.minutes * 60 - s.elapsed_s) or eta or false
end

-- The first clause of a reason, for a line that tells more.
local function clause(reason)
  return text.cut(text.one_line(tostring(reason):match "^%s*([^\n;]*)"), CLAUSE, "..")
end

-- s: progress.status(search). live: with what is under way, as that changes faster than pulls end.
-- What a narrow terminal has no room for is left out from the right.
function progress.line(s, width, live)
  width = width or math.huge
  local _, parts = piece("line", s, {
    live = live or false, head = head, counts = progress.counts(s.verdicts), eta = eta_of(s),
    spent = piece("spent", s), clause = clause(s.reason), doing = piece("doing", s, nil, ", "),
  })
  local line = text.cut(parts[1], width)
  for i = 2, #parts do
    if text.width(line) + text.width(parts[i]) > width then break end
    line = line .. parts[i]
  end
  return line
end

-- All searches of a group in one line.
local function line_of_group(statuses, width)
  local searches, done = lists.collect(lists.sorted(lists.keys(statuses), tonumber), function(i)
    return statuses[i]
  end), 0
  for _, s in ipairs(searches) do done = done + s.done end
  return text.cut(piece("group", searches, { done = done, head = head }), width, "..")
end

-- The end of a search ------------------------------------------------------------------

-- The final table of a search, as text: a row a timed shape, then the whole.
-- what: the head of the column that is not the baseline's.
function progress.table(result, what)
  local rows = { { "shape", "baseline", what or "best", "speed-up", "95 % interval", "of peak" } }
  local function row(name, s)
    rows[#rows + 1] = { name, text.time(s.baseline_ns), text.time(s.time_ns),
      ("%.2fx"):format(s.speedup),
      s.speedup_low and ("%.2f to %.2f"):format(s.speedup_low, s.speedup_high) or "-",
      text.percent(s.share_of_peak) }
  end
  for _, s in ipairs(result.shapes or {}) do     -- labels have the task's own order
    if s.role == "timed" then row(s.label or text.fields(s.shape), s) end
  end
  row("all", result)
  return text.table(rows, { right = true, rule = true })
end

-- One line on what "of peak" is a share of; "" when nothing was measured.
function progress.peak(machine)
  if not (machine and machine.roofline) then return "" end
  local function giga(v) return digits(v / 1e9, 0) end
  return piece("peak", machine, { peak = machine.roofline, giga = giga }) .. "\n"
end

-- What to do with the winner, in a line; nil where nothing was gained.
function progress.winner(result) return result.gain and piece("winner", result) or nil end

-- What it says of itself ---------------------------------------------------------------

-- What a search tells about itself: the table that line draws.
function progress.status(s)
  local budget, rows, best = s.budget, s.history.rows, s.pool.best
  local limits, last, elapsed_s = budget.limits, rows[#rows] or {}, s.journal.elapsed_s()
  local workers, now_ns = s.evaluator.state and s.evaluator.state(), core.system.now_ns()
  return {
    name = s.task.name, done = #rows, steps = limits.steps, minutes = limits.minutes,
    fresh = #rows - #s.journal.order, best = best.speedup, best_low = best.speedup_low,
    best_high = best.speedup_high, best_id = best.id, best_strategy = best.strategy,
    usd = budget.usd, usd_unknown = budget.unknown, recorded = s.generator.recorded,
    recorded_usd = budget.recorded and budget.recorded.usd, usd_budget = limits.usd,
    tokens = budget.tokens.input + budget.tokens.output, verdicts = s.history.verdicts,
    verdict = last.verdict, last = last.speedup, last_strategy = last.strategy, last_n = last.n,
    reason = last.reason, elapsed_s = elapsed_s, session_s = elapsed_s - s.journal.before_s,
    flights = collect(s.flights, function(p)
      return not p.row and { n = p.n, strategy = p.strategy_name, parent = p.parent.id,
        stage = p.stage or "?", seconds = elapsed_s - p.started_s }
    end),
    workers = workers and collect(workers, function(w)
      return { device = w.device, state = w.state,
               seconds = w.since_ns and (now_ns - w.since_ns) / 1e9 or 0 }
    end), confirming = s.confirming, paused = s.retries.reason,
  }
end

-- Views --------------------------------------------------------------------------------

-- A view is told
--   pull(status)   a pull landed        tick(status)   time passed
--   note(text)     a line of its own    close()        leaves the line as it is
--   ended(result)  the search is over   hide()         takes it away: somebody else writes
-- status(): what a search tells about itself. What it has no function for does nothing.
local silent = { __index = function() return function() end end }

local function json_lines(write)
  local function say(event, s)
    s.event = event
    write(json.encode(s) .. "\n")
  end
  return {
    pull = function(status) say("pull", status()) end,
    note = function(words) say("note", { text = words }) end,
    ended = function(r)
      say("end", { task = r.task, gain = r.gain, speedup = r.speedup, speedup_low = r.speedup_low,
        speedup_high = r.speedup_high, confirmed = r.confirmed, pulls = r.pulls, state = r.state,
        run = r.run, source_path = r.source_path })
    end,
  }
end

-- The table, unless there are several searches, and what to do with the winner.
local function ending(write, group)
  return function(result)
    local winner = progress.winner(result)
    if not winner then return end
    if not group and result.shapes and result.shapes[1] then
      write("\n" .. progress.table(result) .. progress.peak(result.machine) .. "\n")
    end
    write(winner .. "\n")
  end
end

local function plain_lines(write, group, never)
  return {
    pull = not never and function(status) write(progress.line(status()) .. "\n") end or nil,
    note = function(words) write(words .. "\n") end,
    ended = ending(write, group),
  }
end

-- One line at the foot of a terminal, rewritten: a view of each search that shares it, and
-- close(). Its width is asked for each time, so that a terminal may change its size: what was
-- drawn wider now takes more rows.
local function on_terminal(write, group, bold, columns)
  local statuses, shown, drawn_ns = {}, nil, 0  -- shown: characters of the line
  local function erase()
    if not shown then return end
    local rows = math.max(1, (shown - 1) // math.max(1, columns()) + 1)
    write((rows > 1 and ("\r\27[%dA"):format(rows - 1) or "\r") .. "\27[J")
    shown = nil
  end
  local function draw()
    local width = math.max(8, columns() - 1)
    local line = group and line_of_group(statuses, width) or progress.line(statuses[1], width, true)
    erase()
    write(bold and line:gsub("best [%d.]+x", "\27[1m%0\27[0m") or line)
    shown, drawn_ns = text.width(line), core.system.now_ns()
  end
  local function above(words)
    erase()
    write(words)
  end
  -- The line that stays tells of nothing under way.
  local function leave()
    for _, s in pairs(statuses) do s.confirming, s.flights, s.workers = nil, nil, nil end
    if shown or group and next(statuses) then
      draw()
      write "\n"
    end
    shown = nil
  end
  local function member(i)
    local p = { hide = erase, ended = ending(above, group), close = group and erase or leave }
    function p.pull(status)
      statuses[i] = status()
      draw()
    end
    function p.tick(status)
      if core.system.now_ns() - drawn_ns > REDRAW_NS then p.pull(status) end
    end
    function p.note(words) above(words .. "\n") end
    return p
  end
  return member, leave
end

-- The view of a search; with options.group those of several, member(i), and their close(). write,
-- tty and columns (a function) are for tests; by default stderr and what it is.
function progress.new(options)
  local mode, tty, group = options.mode or chosen, options.tty, options.group
  local write = options.write or function(words) io.stderr:write(words) end
  if tty == nil then
    tty = mode == "always" or core.system.is_tty(2) and os.getenv "TERM" ~= "dumb"
  end
  local member, close
  if options.quiet or mode == "json" or mode == "never" or not tty then
    local one = setmetatable(options.quiet and {} or mode == "json" and json_lines(write)
                             or plain_lines(write, group, mode == "never"), silent)
    member, close = function() return one end, one.close
  else
    local bold = (options.tty or core.system.is_tty(2)) and (os.getenv "NO_COLOR" or "") == ""
    member, close = on_terminal(write, group, bold, options.columns or core.system.columns)
  end
  return group and { member = member, close = close } or member(1)
end

return progress
