-- search/progress.lua - what a search shows while it runs and when it ends: on a terminal one line,
-- rewritten in place; elsewhere one plain line a pull, or one JSON object. All of it on stderr, so
-- that stdout stays the script's.

local collect = require("kernelband.base.lists").collect
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"
local text   = require "kernelband.base.text"
local verdict = require "kernelband.evaluate.verdict"

local progress = {}

local REDRAW_NS = 100 * 1000 * 1000
local CLAUSE = 100                      -- characters of a reason on a line that tells more

local modes = { "auto", "always", "never", "json" }
local chosen = "auto"

-- What --progress said, for all searches; nil leaves it as it is.
function progress.mode(word)
  if word then
    if not schema.contains(modes, word) then
      schema.raise("kernelband: --progress: expected auto, always, never or json, got '%s'%s",
                   word, schema.hint(word, modes))
    end
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
local function recorded(s)
  local parts = {}
  if (s.recorded_usd or 0) > 0 then parts[1] = ("$%.2f"):format(s.recorded_usd) end
  if (s.tokens or 0) > 0 then parts[#parts + 1] = text.count(s.tokens) .. " tokens" end
  return ("$%.2f (%s)"):format(s.usd or 0, #parts > 0 and "recorded: " .. table.concat(parts, " ")
                                           or "recorded answers")
end

local function spent(s)
  if s.recorded then return recorded(s) end
  local parts, known = {}, (s.usd or 0) > 0
  if known then
    parts[1] = ("$%.2f%s%s"):format(s.usd, s.usd_unknown and " and unknown prices" or "",
                                    s.usd_budget and (" of %.2f"):format(s.usd_budget) or "")
  elseif s.usd_unknown then
    parts[1] = "price unknown"
  end
  if (s.tokens or 0) > 0 then parts[#parts + 1] = text.count(s.tokens) .. " tokens" end
  return #parts > 0 and table.concat(parts, " ") or nil
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
  return #out > 0 and table.concat(out, ", ") or nil
end

-- s: progress.status(search). live: with what is under way. What a narrow terminal has no room for
-- is left out from the right.
function progress.line(s, width, live)
  local sure = live and s.best_low and ("%.2f to %.2f, "):format(s.best_low, s.best_high) or ""
  local parts = { head(s) .. (s.best_id and s.best_id > 1
    and (" (%s#%d %s)"):format(sure, s.best_id, s.best_strategy) or "") }
  local function add(part) if part then parts[#parts + 1] = " | " .. part end end
  if s.verdict then
    parts[2] = s.last and (" last %.2fx %s"):format(s.last, s.verdict) or " last " .. s.verdict
  end
  if live then
    add(s.paused and "waiting: " .. text.one_line(s.paused)
        or s.confirming and ("confirming kernel #%d"):format(s.confirming))
  end
  add(progress.counts(s.verdicts))
  add(spent(s))
  add(times(s))
  if s.verdict and not s.last and s.reason then
    add(("%s: %s"):format(s.verdict, clause(s.reason)))
  end
  if live then add(doing(s)) end
  local line = ""
  for _, part in ipairs(parts) do
    if width and text.width(line) + text.width(part) > width then break end
    line = line .. part
  end
  return line ~= "" and line or text.cut(parts[1], width)
end

-- All searches of a group in one line.
local function line_of_group(statuses, width)
  local parts, done = {}, 0
  for i = 1, 64 do
    local s = statuses[i]
    if s then
      done = done + s.done
      parts[#parts + 1] = head(s)
    end
  end
  table.insert(parts, 1, text.plural(done, "pull") .. " in all")
  return text.cut(table.concat(parts, " | "), width, "..")
end

-- The end of a search ------------------------------------------------------------------

local function times_of(s)
  return { text.time(s.baseline_ns), text.time(s.time_ns), ("%.2fx"):format(s.speedup),
           s.speedup_low and ("%.2f to %.2f"):format(s.speedup_low, s.speedup_high) or "-",
           text.percent(s.share_of_peak) }
end

-- The final table of a search, as text: a row a timed shape, then the whole.
-- what: the head of the column that is not the baseline's.
function progress.table(result, what)
  local rows = { { "shape", "baseline", what or "best", "speed-up", "95 % interval", "of peak" } }
  local function row(name, s) rows[#rows + 1] = { name, table.unpack(times_of(s)) } end
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
  local folder = r.run and text.quote(r.run)
  if not folder then
    return ("%s: %.2fx%s; give the search an `out` to keep the winner"):format(r.task, r.speedup,
                                                                            sure)
  end
  return ("%s: take %s, %.2fx%s; next: kernelband verify %s, kernelband report %s"):format(r.task,
    text.quote(r.source_path), r.speedup, sure, folder, folder)
end

-- What it says of itself ---------------------------------------------------------------

-- What each pull under way is at: { n, strategy, parent, stage, seconds }.
local function pulls_under_way(s)
  return collect(s.flights, function(p)
    return not p.row and { n = p.n, strategy = p.strategy_name, parent = p.parent.id,
      stage = p.stage or "?", seconds = s.clock.elapsed_s() - p.started_s }
  end)
end

local function workers_of(evaluator)
  if not evaluator.state then return nil end
  local now = core.system.now_ns()
  return collect((evaluator.state()), function(w)
    return { device = w.device, state = w.state,
             seconds = w.since_ns and (now - w.since_ns) / 1e9 or 0 }
  end)
end

-- What a search tells about itself: the table that line draws.
function progress.status(s)
  local budget, rows = s.budget, s.history.rows
  local limits, last, best = budget.limits, rows[#rows], s.pool.best
  return {
    name = s.task.name, done = #rows, steps = limits.steps, minutes = limits.minutes,
    fresh = #rows - #s.journal.order, best = best.speedup, best_low = best.speedup_low,
    best_high = best.speedup_high, best_id = best.id, best_strategy = best.strategy,
    usd = budget.usd, usd_unknown = budget.unknown, recorded = s.generator.recorded,
    recorded_usd = budget.recorded and budget.recorded.usd, usd_budget = limits.usd,
    tokens = budget.tokens.input + budget.tokens.output, verdicts = s.history.verdicts,
    verdict = last and last.verdict, last = last and last.speedup,
    last_strategy = last and last.strategy, last_n = last and last.n,
    reason = last and last.reason, elapsed_s = s.clock.elapsed_s(),
    session_s = s.clock.session_s(), flights = pulls_under_way(s), confirming = s.confirming,
    workers = workers_of(s.evaluator), paused = s.retries.reason,
  }
end

-- The screen ---------------------------------------------------------------------------

-- One line at the foot of a terminal. Its width is asked for each time, so that a terminal may
-- change its size: what was drawn wider now takes more rows.
local function new_screen(options)
  local write, bold, columns = options.write, options.bold, options.columns or core.system.columns
  local shown, screen = nil, { drawn_ns = 0 }   -- shown: characters of the line

  function screen.erase()
    if not shown then return end
    local width = math.max(1, columns())
    local rows = math.max(1, (shown + width - 1) // width)
    write((rows > 1 and ("\r\27[%dA"):format(rows - 1) or "\r") .. "\27[J")
    shown = nil
  end

  -- line_of(width) -> text
  function screen.draw(line_of)
    local line = line_of(math.max(8, columns() - 1))
    screen.erase()
    shown = text.width(line)
    write(bold and line:gsub("best [%d.]+x", "\27[1m%0\27[0m") or line)
    screen.drawn_ns = core.system.now_ns()
  end

  function screen.shown() return shown ~= nil end

  function screen.leave()
    if shown then write "\n" end
    shown = nil
  end

  return screen
end

local function value(status)
  if type(status) == "function" then return status() end
  return status
end

local function nothing() end

local function silent() return setmetatable({}, { __index = function() return nothing end }) end

local function json_lines(write)
  local p = silent()
  function p.pull(status)
    local s = value(status)
    s.event = "pull"
    write(json.encode(s) .. "\n")
  end
  function p.note(words)
    write(json.encode { event = "note", text = words } .. "\n")
  end
  function p.ended(r)
    write(json.encode { event = "end", task = r.task, gain = r.gain, speedup = r.speedup,
      speedup_low = r.speedup_low, speedup_high = r.speedup_high, confirmed = r.confirmed,
      pulls = r.pulls, state = r.state, run = r.run, source_path = r.source_path } .. "\n")
  end
  return p
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

local function plain_lines(write, never)
  local p = silent()
  if not never then
    function p.pull(status) write(progress.line(value(status)) .. "\n") end
  end
  function p.note(words) write(words .. "\n") end
  return p
end

-- On a terminal. line_of(statuses, width) draws all members' last statuses.
local function rewritten(screen, write, line_of)
  local statuses, members = {}, {}
  local function draw()
    screen.draw(function(width) return line_of(statuses, width) end)
  end
  for i = 1, 64 do
    local p = {}
    function p.pull(status)
      statuses[i] = value(status)
      draw()
    end
    function p.tick(status)
      if core.system.now_ns() - screen.drawn_ns > REDRAW_NS then p.pull(status) end
    end
    function p.note(words)
      screen.erase()
      write(words .. "\n")
    end
    p.hide = screen.erase
    function p.close()                  -- the line that stays tells of nothing under way
      local s = screen.shown() and statuses[i]
      if s then
        s.confirming, s.flights, s.workers = nil, nil, nil
        draw()
      end
      screen.leave()
    end
    members[i] = p
  end
  function members.close()
    if next(statuses) then draw() end
    screen.leave()
  end
  return members
end

-- write, tty and columns (a function) are for tests; by default stderr and what it is.
--   pull(status)   a pull landed        tick(status)   time passed
--   note(text)     a line of its own    close()        leaves the line as it is
--   ended(result)  the search is over   hide()         takes it away: somebody else writes
-- status: a table, or a function that makes it. Of a group, options.group = true, a
-- list of such objects, one a search.
function progress.new(options)
  options = options or {}
  local mode, group = options.mode or chosen, options.group
  local write = options.write or function(words) io.stderr:write(words) end
  local tty = options.tty
  if tty == nil then
    tty = mode == "always" or core.system.is_tty(2) and os.getenv "TERM" ~= "dumb"
  end
  if options.quiet or mode == "json" or mode == "never" or not tty then
    local one = options.quiet and silent() or mode == "json" and json_lines(write)
                or plain_lines(write, mode == "never")
    if not options.quiet and mode ~= "json" then one.ended = ending(write, group) end
    if not group then return one end
    return setmetatable({ close = one.close }, { __index = function() return one end })
  end
  local screen = new_screen { write = write, columns = options.columns,
    bold = (options.tty or core.system.is_tty(2)) and (os.getenv "NO_COLOR" or "") == "" }
  local members = rewritten(screen, write, group and line_of_group
    or function(statuses, width) return progress.line(statuses[1], width, true) end)
  for _, p in ipairs(members) do
    p.ended = ending(function(words)
      screen.erase()
      write(words)
    end, group)
    if group then p.close = screen.erase end
  end
  return group and members or members[1]
end

return progress
