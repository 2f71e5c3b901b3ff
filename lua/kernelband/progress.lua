-- progress.lua - what a search shows while it runs: on a terminal one line,
-- rewritten; elsewhere one plain line a pull. All of it on stderr, so that
-- stdout stays the script's.

local core = require "kernelband.core"

local progress = {}

local REDRAW_NS = 100 * 1000 * 1000

local function clock(seconds)
  local s = math.max(0, math.floor(seconds))
  if s < 3600 then return ("%02d:%02d"):format(s // 60, s % 60) end
  return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

local groups = { "ok", "no_candidate", "build_failed", "launch_failed",
                 "wrong", "cheated", "crashed", "timeout" }

local function counts(verdicts)
  local out = {}
  for _, name in ipairs(groups) do
    if name == "ok" or verdicts[name] then
      out[#out + 1] = name .. " " .. (verdicts[name] or 0)
    end
  end
  return table.concat(out, " ")
end

-- s: name, done, steps (nil: no such limit), best, best_id, best_strategy,
-- last (speed-up or nil), verdict, verdicts, elapsed_s, usd. What a narrow
-- terminal has no room for is left out from the right.
function progress.line(s, width)
  local total = s.steps and ("%d"):format(s.steps)
  local at = total and ("[%" .. #total .. "d/%s]"):format(s.done, total)
             or ("[%d]"):format(s.done)
  local from = s.best_id and s.best_id > 1
               and (" (#%d %s)"):format(s.best_id, s.best_strategy) or ""
  local parts = { ("%s %s best %.2fx%s"):format(at, s.name, s.best, from) }
  if s.verdict then
    parts[#parts + 1] = s.last and (" last %.2fx %s"):format(s.last, s.verdict)
                        or " last " .. s.verdict
  end
  parts[#parts + 1] = " | " .. counts(s.verdicts)
  if s.usd and s.usd > 0 then
    parts[#parts + 1] = (" | $%.2f"):format(s.usd)
  end
  local eta = ""
  if s.steps and s.done > 0 then
    eta = " eta " .. clock(s.elapsed_s / s.done * (s.steps - s.done))
  end
  parts[#parts + 1] = " | " .. clock(s.elapsed_s) .. eta
  local line = ""
  for _, part in ipairs(parts) do
    if width and #line + #part > width then break end
    line = line .. part
  end
  if line == "" then line = parts[1]:sub(1, width) end
  return line
end

local function silent()
  local function nothing() end
  return { pull = nothing, tick = nothing, note = nothing, close = nothing }
end

-- write and tty are for tests; both default to stderr.
--   pull(status)   a pull landed        tick(status)   time passed
--   note(text)     a line of its own    close()        ends the status line
function progress.new(options)
  if options.quiet then return silent() end
  local write = options.write or function(text) io.stderr:write(text) end
  local tty = options.tty
  if tty == nil then
    tty = core.system.is_tty(2) and os.getenv "TERM" ~= "dumb"
  end
  local bold = tty and not os.getenv "NO_COLOR"
  local shown, drawn_ns = false, 0
  local p = {}

  local function erase()
    if shown then write "\r\27[K" end
    shown = false
  end

  local function draw(status)
    local columns = options.columns or core.system.columns() or 80
    local line = progress.line(status, columns - 1)
    if bold then
      line = line:gsub("best [%d.]+x", "\27[1m%0\27[0m", 1)
    end
    write("\r\27[K" .. line)
    shown, drawn_ns = true, core.system.now_ns()
  end

  function p.pull(status)
    if tty then draw(status) else write(progress.line(status) .. "\n") end
  end

  function p.tick(status)
    if tty and core.system.now_ns() - drawn_ns > REDRAW_NS then draw(status) end
  end

  function p.note(text)
    erase()
    write(text .. "\n")
  end

  function p.close()
    if shown then write "\n" end
    shown = false
  end

  return p
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
