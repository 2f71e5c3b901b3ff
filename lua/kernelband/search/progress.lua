-- search/progress.lua - what a search shows while it runs: on a terminal a block of lines,
-- rewritten; elsewhere one plain line a pull, or one JSON object. All of it on
-- stderr, so that stdout stays the script's.

local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"

local progress = {}

local REDRAW_NS = 100 * 1000 * 1000
local MOST_LINES = 8                    -- of a group of searches
local CLAUSE = 100                      -- bytes of a reason on a line that tells more

local modes = { "auto", "always", "never", "json" }
local chosen = "auto"

-- What --progress said, for all searches; nil leaves it as it is.
function progress.mode(word)
  if word then
    local known
    for _, m in ipairs(modes) do known = known or m == word end
    if not known then
      schema.raise("kernelband: --progress: expected auto, always, never or json, got '%s'%s",
                   word, schema.hint(word, modes))
    end
    chosen = word
  end
  return chosen
end

-- Words ------------------------------------------------------------------------------

local function clock(seconds)
  local s = math.max(0, math.floor(seconds))
  if s < 3600 then return ("%02d:%02d"):format(s // 60, s % 60) end
  return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

local groups = { "ok", "no_candidate", "not_applicable", "build_failed", "launch_failed", "wrong",
                 "cheated", "crashed", "timeout" }

-- "ok 53 launch_failed 7".
function progress.counts(verdicts)
  local out = {}
  for _, name in ipairs(groups) do
    if name == "ok" or verdicts[name] then
      out[#out + 1] = name .. " " .. (verdicts[name] or 0)
    end
  end
  return table.concat(out, " ")
end

local function at(s)
  local total = s.steps and ("%d"):format(s.steps)
  return total and ("[%" .. #total .. "d/%s]"):format(s.done, total)
         or ("[%d]"):format(s.done)
end

local function many(n)
  if n < 1000 then return ("%d"):format(n) end
  if n < 1e6 then return ("%.0fk"):format(n / 1e3) end
  return ("%.1fM"):format(n / 1e6)
end

-- What recorded answers once cost is not spent now.
local function recorded(s)
  local parts = {}
  if (s.recorded_usd or 0) > 0 then parts[1] = ("$%.2f"):format(s.recorded_usd) end
  if (s.tokens or 0) > 0 then parts[#parts + 1] = many(s.tokens) .. " tokens" end
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
  if (s.tokens or 0) > 0 then parts[#parts + 1] = many(s.tokens) .. " tokens" end
  return #parts > 0 and table.concat(parts, " ") or nil
end

local function times(s)
  local eta
  if s.steps and s.done > 0 then eta = s.elapsed_s / s.done * (s.steps - s.done) end
  if s.minutes then eta = math.min(eta or math.huge, s.minutes * 60 - s.elapsed_s) end
  return clock(s.elapsed_s) .. (eta and " eta " .. clock(eta) or "")
end

-- Not in the midst of a character.
local function cut(line, width)
  if #line <= width then return line end
  return (line:sub(1, width):gsub("[\xC0-\xFF][\x80-\xBF]*$", ""))
end

-- Text of others in one line of ours: no control character reaches the terminal.
local function plain(text) return (tostring(text):gsub("[%c\127]+", " ")) end

-- The first clause of a reason, for a line that tells more.
local function clause(reason)
  local text = plain(tostring(reason):match "^%s*([^\n;]*)")
  return #text > CLAUSE and cut(text, CLAUSE) .. ".." or text
end

-- s: status.of(search). What a narrow terminal has no room for is left out from
-- the right.
function progress.line(s, width)
  local from = s.best_id and s.best_id > 1
               and (" (#%d %s)"):format(s.best_id, s.best_strategy) or ""
  local parts = { ("%s %s best %.2fx%s"):format(at(s), s.name, s.best, from) }
  if s.verdict then
    parts[#parts + 1] = s.last and (" last %.2fx %s"):format(s.last, s.verdict)
                        or " last " .. s.verdict
  end
  parts[#parts + 1] = " | " .. progress.counts(s.verdicts)
  local money = spent(s)
  if money then parts[#parts + 1] = " | " .. money end
  parts[#parts + 1] = " | " .. times(s)
  if s.verdict and not s.last and s.reason then
    parts[#parts + 1] = (" | %s: %s"):format(s.verdict, clause(s.reason))
  end
  local line = ""
  for _, part in ipairs(parts) do
    if width and #line + #part > width then break end
    line = line .. part
  end
  if line == "" then line = parts[1]:sub(1, width) end
  return line
end

local function last_pull(s)
  if not s.verdict then return "no pull has landed yet" end
  local head = ("last #%d %s "):format(s.last_n or s.done, s.last_strategy or "?")
  if s.last then return head .. ("%.2fx %s"):format(s.last, s.verdict) end
  return head .. s.verdict .. (s.reason and ": " .. plain(s.reason) or "")
end

local function doing(s)
  local out = {}
  for i, w in ipairs(s.workers or {}) do
    out[i] = ("%s %s %.0f s"):format(w.device, w.state, w.seconds)
  end
  return #out > 0 and "workers: " .. table.concat(out, ", ") or nil
end

local function flying(s)
  local out = {}
  for i, f in ipairs(s.flights or {}) do
    out[i] = ("#%d %s %s %.0f s"):format(f.n, f.strategy, f.stage, f.seconds)
  end
  return #out > 0 and "under way: " .. table.concat(out, ", ") or nil
end

-- The lines of a terminal's block, none wider than width.
function progress.block(s, width)
  local interval = s.best_low and s.best_id and s.best_id > 1
    and (" (%.2f to %.2f, #%d %s)"):format(s.best_low, s.best_high, s.best_id, s.best_strategy)
    or ""
  local lines = { ("%s %s best %.2fx%s"):format(at(s), s.name, s.best, interval), last_pull(s) }
  local money = spent(s)
  lines[3] = progress.counts(s.verdicts) .. (money and " | " .. money or "") .. " | " .. times(s)
  if s.paused then lines[#lines + 1] = "waiting: " .. plain(s.paused) end
  lines[#lines + 1] = s.confirming and ("confirming kernel #%d"):format(s.confirming) or flying(s)
  lines[#lines + 1] = doing(s)
  for i, line in ipairs(lines) do lines[i] = cut(line, width) end
  return lines
end

-- The screen ---------------------------------------------------------------------------

-- A block of lines at the foot of a terminal. Its width is asked for each time, so
-- that a terminal may change its size: what was drawn wider now takes more rows.
local function new_screen(options)
  local write, bold = options.write, options.bold
  local shown, screen = {}, { drawn_ns = 0 }

  local columns = options.columns or core.system.columns

  function screen.erase()
    if #shown == 0 then return end
    local width, rows = math.max(1, columns()), 0
    for _, n in ipairs(shown) do rows = rows + math.max(1, (n + width - 1) // width) end
    write((rows > 1 and ("\r\27[%dA"):format(rows - 1) or "\r") .. "\27[J")
    shown = {}
  end

  -- lines_of(width) -> list of lines
  function screen.draw(lines_of)
    local lines = lines_of(math.max(8, columns() - 1))
    screen.erase()
    for i, line in ipairs(lines) do
      shown[i] = #line
      if bold then line = line:gsub("best [%d.]+x", "\27[1m%0\27[0m", 1) end
      write((i > 1 and "\n" or "") .. line)
    end
    screen.drawn_ns = core.system.now_ns()
  end

  function screen.leave()
    if #shown > 0 then write "\n" end
    shown = {}
  end

  return screen
end

local function value(status)
  if type(status) == "function" then return status() end
  return status
end

local function silent()
  local function nothing() end
  return { pull = nothing, tick = nothing, note = nothing, close = nothing, hide = nothing }
end

local function json_lines(write)
  local p = silent()
  function p.pull(status)
    local s = value(status)
    s.event = "pull"
    write(json.encode(s) .. "\n")
  end
  function p.note(text)
    write(json.encode { event = "note", text = text } .. "\n")
  end
  return p
end

local function plain_lines(write, never)
  local p = silent()
  if not never then
    function p.pull(status) write(progress.line(value(status)) .. "\n") end
  end
  function p.note(text) write(text .. "\n") end
  return p
end

-- On a terminal. lines_of(statuses, width) draws all members' last statuses.
local function blocks(screen, write, lines_of)
  local statuses, members = {}, {}
  local function draw()
    screen.draw(function(width) return lines_of(statuses, width) end)
  end
  local function late() return core.system.now_ns() - screen.drawn_ns > REDRAW_NS end
  for i = 1, 64 do
    local p = {}
    function p.pull(status)
      statuses[i] = value(status)
      draw()
    end
    function p.tick(status)
      if late() then p.pull(status) end
    end
    function p.note(text)
      screen.erase()
      write(text .. "\n")
    end
    p.hide, p.close = screen.erase, screen.leave
    members[i] = p
  end
  function members.close()
    if next(statuses) then draw() end
    screen.leave()
  end
  return members
end

-- One line a search; the searches that do not fit are counted.
local function lines_of_group(statuses, width)
  local out, done, more = {}, 0, 0
  for i = 1, 64 do
    local s = statuses[i]
    if s then
      done = done + s.done
      if #out < MOST_LINES then out[#out + 1] = progress.line(s, width) else more = more + 1 end
    end
  end
  out[#out + 1] = cut(("%d pulls in all%s"):format(done,
    more > 0 and (", %d searches more"):format(more) or ""), width)
  return out
end

-- write, tty and columns (a function) are for tests; by default stderr and what it is.
--   pull(status)   a pull landed        tick(status)   time passed
--   note(text)     a line of its own    close()        leaves the block as it is
--   hide()         takes it away: somebody else is about to write
-- status: a table, or a function that makes it. Of a group, options.group = true, a
-- list of such objects, one a search.
function progress.new(options)
  options = options or {}
  local mode = options.mode or chosen
  local write = options.write or function(text) io.stderr:write(text) end
  local tty = options.tty
  if tty == nil then
    tty = mode == "always" or core.system.is_tty(2) and os.getenv "TERM" ~= "dumb"
  end
  local one
  if options.quiet then one = silent()
  elseif mode == "json" then one = json_lines(write)
  elseif mode == "never" or not tty then one = plain_lines(write, mode == "never") end
  if one then
    if not options.group then return one end
    return setmetatable({ close = one.close }, { __index = function() return one end })
  end
  local color = os.getenv "NO_COLOR"
  local screen = new_screen { write = write, columns = options.columns,
                              bold = not (color and color ~= "") }
  local members = blocks(screen, write, options.group and lines_of_group
    or function(statuses, width) return progress.block(statuses[1], width) end)
  if not options.group then return members[1] end
  for _, p in ipairs(members) do p.close = screen.erase end
  return members
end

local function time(ns)
  if not ns then return "-" end
  if ns < 1e3 then return ("%.0f ns"):format(ns) end
  if ns < 1e6 then return ("%.2f us"):format(ns / 1e3) end
  if ns < 1e9 then return ("%.2f ms"):format(ns / 1e6) end
  return ("%.2f s"):format(ns / 1e9)
end

-- As the worker writes it, in the task's own order; else by name.
local function shape_name(s)
  if s.label then return s.label end
  local names, out = {}, {}
  for name in pairs(s.shape) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = ("%s=%.14g"):format(name, s.shape[name]) end
  return table.concat(out, " ")
end

-- The final table of a search, as text: a row a timed shape, then the whole.
-- what: the head of the column that is not the baseline's.
function progress.table(result, what)
  local rows = { { "shape", "baseline", what or "best", "speed-up", "95 % interval",
                   "of peak" } }
  local function row(name, s)
    rows[#rows + 1] = {
      name, time(s.baseline_ns), time(s.time_ns),
      ("%.2fx"):format(s.speedup),
      s.speedup_low and ("%.2f to %.2f"):format(s.speedup_low, s.speedup_high)
        or "-",
      s.share_of_peak and ("%.0f %%"):format(100 * s.share_of_peak) or "-" }
  end
  for _, s in ipairs(result.shapes or {}) do
    if s.role == "timed" then row(shape_name(s), s) end
  end
  row("all", result)
  local width, out = {}, {}
  for _, r in ipairs(rows) do
    for i, cell in ipairs(r) do width[i] = math.max(width[i] or 0, #cell) end
  end
  for n, r in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(r) do
      cells[i] = (i == 1 and "%-" .. width[i] .. "s" or "%" .. width[i] .. "s")
        :format(cell)
    end
    out[#out + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
    if n == 1 then out[#out + 1] = ("-"):rep(#out[1]) end
  end
  return table.concat(out, "\n") .. "\n"
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

return progress
