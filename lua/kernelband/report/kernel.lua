-- report/kernel.lua - what the search found: the figures of the winner, the
-- roofline with the path to it, its profile beside the baseline's, and where all
-- of this was measured and from what.
local chart  = require "kernelband.report.chart"
local format = require "kernelband.report.format"

local kernel = {}

local escape = chart.escape

local states = { running = "running", paused = "paused", done = "finished",
                 interrupted = "interrupted", failed = "failed" }

local function tile(value, label, more)
  return ('<div class="tile"><div class="big">%s</div><div>%s</div><div class="q">%s</div></div>')
    :format(escape(value), escape(label), escape(more or ""))
end

local function label_of(s)
  if type(s.label) == "string" then return s.label end
  local names, out = {}, {}
  for name in pairs(type(s.shape) == "table" and s.shape or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = name .. "=" .. tostring(s.shape[name]) end
  return table.concat(out, " ")
end

local function shapes(m)
  local rows, f = {}, m.final
  for _, s in ipairs(f.shapes) do
    if s.role == "timed" then
      rows[#rows + 1] = { label_of(s), format.time(s.baseline_ns), format.time(s.time_ns),
        format.times(s.speedup), format.interval(s.speedup_low, s.speedup_high),
        s.share_of_peak and format.percent(s.share_of_peak) .. " (" .. tostring(s.roof) .. ")"
        or "-", s.blocks and ("%s %s"):format(format.count(s.blocks), tostring(s.interval)) or "-" }
    end
  end
  if #rows == 0 then return "" end
  rows[#rows + 1] = { { "all, geometric mean", class = "h" }, format.time(f.baseline_ns),
    format.time(f.time_ns), { format.times(f.speedup), class = "h" },
    format.interval(f.speedup_low, f.speedup_high), "-", "-" }
  return format.table({ "shape", "baseline", "winner", "speed-up", "95 % interval", "of peak",
                        "blocks, interval" }, rows)
end

function kernel.summary(m)
  local out = { '<div class="tiles">' }
  if not m.winner then
    return out[1] .. tile(states[m.state] or m.state, "state", "the baseline is not measured yet")
           .. "</div>"
  end
  local f, w, budget = m.final, m.winner, m.experiment.options.budget or {}
  out[#out + 1] = tile(format.times(f.speedup), "speed-up over the baseline",
    w.id == 1 and "nothing faster was found" or ("95 %% interval %s, %s"):format(
    format.interval(f.speedup_low, f.speedup_high), m.confirmed and "confirmed"
    or "not yet confirmed"))
  out[#out + 1] = tile(("%s \u{2192} %s"):format(format.time(f.baseline_ns
    or m.baseline.time_ns), format.time(f.time_ns or w.time_ns)), "baseline to winner",
    ("kernel #%d%s"):format(w.id, w.strategy and ", by " .. w.strategy or ", the baseline"))
  out[#out + 1] = tile(budget.steps and ("%s of %s"):format(format.count(m.pulls),
    format.count(budget.steps)) or format.count(m.pulls), "pulls",
    ("%s gave a kernel that passed every check"):format(format.count(m.ok)))
  out[#out + 1] = tile(format.duration(m.elapsed_s), "search time",
    ("%s of it measuring, %s"):format(format.duration(m.busy_s), states[m.state] or m.state))
  local tokens = m.tokens_in and m.tokens_in + (m.tokens_out or 0) or 0
  if m.usd == nil or m.usd > 0 or tokens > 0 or m.recorded then
    local what = {}
    if m.recorded then
      what[1] = ("%s recorded answers, which cost %s then"):format(
        format.count(m.recorded.answers), m.recorded.usd and format.usd(m.recorded.usd)
        or "nobody knows what")
    end
    if tokens > 0 then
      what[#what + 1] = ("%s tokens in, %s out"):format(format.count(m.tokens_in),
                                                       format.count(m.tokens_out or 0))
    elseif m.usd == nil then
      what[#what + 1] = "the price of some calls is not known"
    end
    out[#out + 1] = tile(format.usd(m.usd), "spent on models", table.concat(what, "; "))
  end
  out[#out + 1] = "</div>" .. shapes(m)
  out[#out + 1] = format.origin(("Table evaluations, row %s (%s of kernel %d); the interval of a "
    .. "shape is that of its paired blocks, candidate and baseline side by side. A winner is "
    .. "evaluated anew, with more blocks, before it is called confirmed."):format(
    f.row and ("%d"):format(f.row) or "?", f.kind or "pull", w.id),
    { f.row and ("SELECT json FROM evaluations WHERE id = %d"):format(f.row)
      or ("SELECT * FROM kernels WHERE id = %d"):format(w.id) })
  return table.concat(out)
end

-- Roofline -----------------------------------------------------------------------

-- Flops per byte and flops per second of a kernel's first shape. The intensity is a
-- share of the bytes that were moved where those were counted.
local function spot(k)
  local rho = k.rho
  if type(rho) ~= "table" then return nil end
  local time, bytes, intensity = format.finite(rho[1]), format.finite(rho[2]), format.finite(rho[3])
  if not (time and bytes and intensity) or intensity <= 0 then return nil end
  local moved = format.finite(k.moved) or math.exp(bytes)
  return intensity, intensity * moved / (math.exp(time) * 1e-9)
end

local function roofs_of(r)
  local list = {}
  local dram = math.max(format.finite(r.dram_bytes_per_s) or 0,
                        format.finite(r.dram_copy_bytes_per_s) or 0)
  for _, x in ipairs { { "L1", format.finite(r.l1_bytes_per_s) },
                       { "L2", format.finite(r.l2_bytes_per_s) }, { "DRAM", dram } } do
    if x[2] and x[2] > 0 then list[#list + 1] = x end
  end
  return list, format.finite(r.f32_flops_per_s)
end

local function draw_roofs(c, r, low, high)
  local levels, peak = roofs_of(r)
  if not peak or peak <= 0 then return end
  for i, level in ipairs(levels) do
    local ridge = peak / level[2]
    local points = { { low, math.min(peak, low * level[2]) } }
    if ridge > low and ridge < high then points[2] = { ridge, peak } end
    points[#points + 1] = { high, math.min(peak, high * level[2]) }
    c:line(points, { series = 8, dashed = i < #levels,
      name = ("%s %s"):format(level[1], format.rate(level[2], "B/s")) })
  end
  c:text(high, peak, ("peak %s"):format(format.rate(peak, "FLOP/s")), { anchor = "end", dy = -5 })
end

function kernel.roofline(m)
  local shown, path = {}, {}
  local by_id = {}
  local low, high, least = math.huge, 0, math.huge
  for _, k in ipairs(m.sample) do
    local x, y = spot(k)
    if x and y > 0 then
      low, high, least = math.min(low, x), math.max(high, x), math.min(least, y)
      by_id[k.id] = { x, y, ("kernel %d: %s, %s flop a byte"):format(k.id,
                      format.rate(y, "FLOP/s"), chart.number(x)) }
      shown[#shown + 1] = by_id[k.id]
    end
  end
  for _, k in ipairs(m.path or {}) do path[#path + 1] = by_id[k.id] end
  if #path == 0 or not m.roofline then return nil end
  local levels, peak = roofs_of(m.roofline)
  local slowest = levels[#levels]
  low, high = math.min(low, slowest and peak and peak / slowest[2] or low) / 4, high * 4
  local c = chart.new { title = "Roofline", height = 320,
    x = { label = "flops a byte moved", log = true, min = low, max = high },
    y = { label = "flops a second", log = true, min = least / 2 } }
  draw_roofs(c, m.roofline, low, high)
  c:points(shown, { series = 8, radius = 2, name = "kernels" })
  c:line(path, { series = 1, name = "path of the best" })
  c:points(path, { series = 1, radius = 3.5 })
  c:points({ path[1] }, { series = 2, radius = 5, name = "baseline" })
  c:points({ path[#path] }, { class = "v-ok", radius = 5, name = "winner" })
  return '<div class="grid">' .. format.figure(c:svg(), "The first timed shape. Roofs were "
    .. "measured on this machine: " .. (m.roofline.isa and "fp32 with "
    .. tostring(m.roofline.isa) or "fp32") .. ".") .. "</div>"
    .. format.origin("Work and compulsory bytes as the task declares them, moved bytes where "
    .. "counters gave them; features rho 1 to 3 of each evaluation. The roofs are the machine's "
    .. "roofline, in result.json or in the experiment's row.")
end

-- Profile ------------------------------------------------------------------------

local on_cpu = { "cache hits", "bandwidth of the level its data fit in", "flops of one core",
  "SIMD lanes in use", "instructions a cycle, of 4", "vector registers, of 32",
  "spills among memory accesses", "contiguous vector accesses", "multiply-adds among flops" }
local on_gpu = { "L2 hits", "DRAM bandwidth", "SM, its busiest pipe", "active threads, of 32",
  "occupancy", "registers, of 255", "bank conflicts in shared memory",
  "bytes used of those moved", "tensor pipe" }

-- Two bars, one above the other.
local function bars(before, after)
  local out = { '<svg class="mini" viewBox="0 0 120 14" width="120" height="14" '
                .. 'aria-hidden="true">' }
  for i, v in ipairs { before or 0, after or 0 } do
    out[#out + 1] = ('<rect class="ar s%d" x="0" y="%d" width="%.1f" height="6"/>'):format(
      i == 1 and 2 or 1, 7 * (i - 1), 120 * math.max(0, math.min(1, v)))
  end
  return table.concat(out) .. "</svg>"
end

local function known(e, i)
  local kinds = type(e.phi_kind) == "table" and e.phi_kind or {}
  if kinds[i] == "missing" then return nil, "missing" end
  return format.finite(e.phi[i]), tostring(kinds[i] or "")
end

local function counters(m)
  local a = (m.baseline_evaluation or {}).profile or {}
  local b = (m.evaluation or {}).profile or {}
  a, b = type(a.counters) == "table" and a.counters or {}, type(b.counters) == "table"
         and b.counters or {}
  local names, rows = {}, {}
  for name, v in pairs(b) do
    if type(name) == "string" and type(v) == "number" then names[#names + 1] = name end
  end
  table.sort(names)
  for i, name in ipairs(names) do
    rows[i] = { name, format.finite(a[name]) and ("%.6g"):format(a[name]) or "-",
                ("%.6g"):format(b[name]) }
  end
  if #rows == 0 then return "" end
  return "<details><summary>Hardware counters</summary>"
         .. format.table({ "counter", "baseline", "winner" }, rows) .. "</details>"
end

local function bound(e)
  local b = type(e) == "table" and type(e.profile) == "table" and e.profile.bottleneck
  return type(b) == "table" and type(b.text) == "string" and b.text or nil
end

function kernel.profile(m)
  local a = (m.baseline_evaluation or {}).evidence
  local b = (m.evaluation or {}).evidence
  if type(a) ~= "table" or type(b) ~= "table" or type(a.phi) ~= "table"
     or type(b.phi) ~= "table" then return nil end
  local gpu = m.evaluation.profile or tostring(m.experiment.options.device or ""):find "cuda"
  local rows = {}
  for i, name in ipairs(gpu and on_gpu or on_cpu) do
    local x, y = known(a, i), known(b, i)
    local _, kind = known(b, i)
    rows[i] = { name, format.percent(x), format.percent(y),
                { html = (x or y) and bars(x, y) or "" }, kind }
  end
  for _, key in ipairs { "sm", "dram", "l2" } do
    local x, y = format.finite((a.h or {})[key]), format.finite((b.h or {})[key])
    if x or y then
      rows[#rows + 1] = { "utilisation of " .. key, format.percent(x and x / 100),
        format.percent(y and y / 100), { html = bars(x and x / 100, y and y / 100) },
        tostring((b.h_kind or {})[key] or "") }
    end
  end
  local before, after = bound(m.baseline_evaluation), bound(m.evaluation)
  return (before and format.p("The baseline is bound by " .. before .. ".") or "")
    .. (after and format.p("The winner is bound by " .. after .. ".") or "")
    .. format.table({ "feature", "baseline", "winner", "", "kind" }, rows,
                    { left = { true, false, false, true, true } })
    .. '<p class="note"><span class="dot s2"></span>baseline '
    .. '<span class="dot s1"></span>winner</p>' .. counters(m)
    .. format.origin("Evidence of the first timed shape (evaluations.json, evidence). Measured: "
    .. "a clock or a counter said so; derived: follows from measurements, from the declared work "
    .. "or from the object; missing: not known here, and ignored by policies.")
end

return kernel
