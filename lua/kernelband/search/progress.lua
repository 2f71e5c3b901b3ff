-- search/progress.lua - what a search shows while it runs and when it ends: on a terminal one line,
-- rewritten in place; elsewhere one plain line a pull, or one JSON object. All of it on stderr, so
-- that stdout stays the script's.

local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
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

-- "[12/48] matmul best 18.40x".
local function head(s)
  local total = s.steps and ("%d"):format(s.steps)
  local at = total and ("[%" .. #total .. "d/%s]"):format(s.done, total) or ("[%d]"):format(s.done)
  return ("%s %s best %.2fx"):format(at, s.name, s.best)
end

-- What recorded answers once cost is not spent now.
local function spent(s)
  local usd = s.usd or 0
  local tokens = (s.tokens or 0) > 0 and " " .. text.count(s.tokens) .. " tokens" or ""
  if s.recorded then
    local once = ((s.recorded_usd or 0) > 0 and (" $%.2f"):format(s.recorded_usd) or "") .. tokens
    return ("$%.2f (%s)"):format(usd, once ~= "" and "recorded:" .. once or "recorded answers")
  end
  local paid = usd > 0 and ("$%.2f%s%s"):format(usd, s.usd_unknown and " and unknown prices" or "",
                                    s.usd_budget and (" of %.2f"):format(s.usd_budget) or "")
  return ((paid or s.usd_unknown and "price unknown" or "") .. tokens):gsub("^ ", "")
end

local function times(s)
  local eta
  if s.steps and s.done > 0 then eta = s.elapsed_s / s.done * (s.steps - s.done) end
  if s.minutes then eta = math.min(eta or math.huge, s.minutes * 60 - s.elapsed_s) end
  return text.clock(s.elapsed_s) .. (eta and " eta " .. text.clock(eta) or "")
end

-- The first clause of a reason, for a line that tells more.
local function clause(reason)
  return text.cut(text.one_line(tostring(reason):match "^%s*([^\n;]*)"), CLAUSE, "..")
end

-- What is under way, on a terminal only: it changes faster than pulls end.
local function doing(s)
  local out = collect(s.flights or {}, function(f)
    return ("#%d %s %s %.0f s"):format(f.n, f.strategy, f.stage, f.seconds)
  end)
  for _, w in ipairs(s.workers or {}) do
    out[#out + 1] = ("%s %s %.0f s"):format(w.device, w.state, w.seconds)
  end
  return table.concat(out, ", ")
end

-- s: progress.status(search). live: with what is under way. What a narrow terminal has no room for
-- is left out from the right.
function progress.line(s, width, live)
  local sure = live and s.best_low and ("%.2f to %.2f, "):format(s.best_low, s.best_high) or ""
  local line, parts = head(s) .. (s.best_id and s.best_id > 1
    and (" (%s#%d %s)"):format(sure, s.best_id, s.best_strategy) or ""), {}
  local function add(part) if part and part ~= "" then parts[#parts + 1] = " | " .. part end end
  if s.verdict then
    parts[1] = s.last and (" last %.2fx %s"):format(s.last, s.verdict) or " last " .. s.verdict
  end
  add(live and (s.paused and "waiting: " .. text.one_line(s.paused)
                or s.confirming and ("confirming kernel #%d"):format(s.confirming)))
  add(progress.counts(s.verdicts))
  add((spent(s)))
  add(times(s))
  add(s.verdict and not s.last and s.reason and ("%s: %s"):format(s.verdict, clause(s.reason)))
  add(live and doing(s))
  if width and text.width(line) > width then return text.cut(line, width) end
  for _, part in ipairs(parts) do
    if width and text.width(line) + text.width(part) > width then break end
    line = line .. part
  end
  return line
end

-- All searches of a group in one line.
local function line_of_group(statuses, width)
  local parts, done = {}, 0
  for _, i in ipairs(lists.sorted(lists.keys(statuses), tonumber)) do
    local s = statuses[i]
    done, parts[#parts + 1] = done + s.done, head(s)
  end
  return text.cut(text.plural(done, "pull") .. " in all | " .. table.concat(parts, " | "), width,
                  "..")
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
  local r = machine and machine.roofline
  if not r then return "" end
  local tensor = (r.bf16_flops_per_s or 0) > 0
    and (", %.0f bf16 by mma.sync"):format(r.bf16_flops_per_s / 1e9) or ""
  return ("peaks measured on %s: %.0f GFLOP/s fp32%s (%s), memory %.0f GB/s\n"):format(
    machine.name, r.f32_flops_per_s / 1e9, tensor, r.isa,
    math.max(r.dram_bytes_per_s, r.dram_copy_bytes_per_s) / 1e9)
end

-- What to do with the winner, in a line; nil where nothing was gained.
function progress.winner(r)
  if not r.gain then return nil end
  local sure = r.speedup_low and (" (%.2f to %.2f%s)"):format(r.speedup_low, r.speedup_high,
                                                        r.confirmed and ", confirmed" or "") or ""
  if not r.run then
    return ("%s: %.2fx%s; give the search an `out` to keep the winner"):format(r.task, r.speedup,
                                                                            sure)
  end
  local folder = text.quote(r.run)
  return ("%s: take %s, %.2fx%s; next: kernelband verify %s, kernelband report %s"):format(r.task,
    text.quote(r.source_path), r.speedup, sure, folder, folder)
end

-- What it says of itself ---------------------------------------------------------------

local function workers_of(evaluator)
  local now = core.system.now_ns()
  return evaluator.state and collect((evaluator.state()), function(w)
    return { device = w.device, state = w.state,
             seconds = w.since_ns and (now - w.since_ns) / 1e9 or 0 }
  end) or nil
end

-- What a search tells about itself: the table that line draws.
function progress.status(s)
  local budget, rows, best = s.budget, s.history.rows, s.pool.best
  local limits, last, elapsed_s = budget.limits, rows[#rows] or {}, s.journal.elapsed_s()
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
    end), confirming = s.confirming, workers = workers_of(s.evaluator), paused = s.retries.reason,
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
    local p = { hide = erase, ended = ending(above, group) }
    function p.pull(status)
      statuses[i] = status()
      draw()
    end
    function p.tick(status)
      if core.system.now_ns() - drawn_ns > REDRAW_NS then p.pull(status) end
    end
    function p.note(words) above(words .. "\n") end
    p.close = group and erase or leave
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
