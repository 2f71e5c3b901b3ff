-- report/kernel.lua - the winner: its figures, the roofline, its profile beside the baseline's.
local collect  = require("kernelband.base.lists").collect
local chart    = require "kernelband.report.chart"
local features = require "kernelband.report.features"
local html     = require "kernelband.report.html"
local text     = require "kernelband.base.text"

local kernel = {}

local finite = html.finite

local function tile(value, label, more)
  return html.tag("div", { class = "tile" }, html.tag("div", { class = "big" }, html.escape(value))
    .. html.tag("div", nil, html.escape(label)) .. html.tag("div", { class = "q" },
                                                          html.escape(more)))
end

local function label_of(s)
  if type(s.label) == "string" then return s.label end
  return text.fields(type(s.shape) == "table" and s.shape or {})
end

local function timed(f)
  return collect(f.shapes, function(s) return s.role == "timed" and s end)
end

local function shapes(m)
  local f = m.final
  local rows = collect(timed(f), function(s)
    return { label_of(s), html.time(s.baseline_ns), html.time(s.time_ns),
      html.times(s.speedup), html.interval(s.speedup_low, s.speedup_high),
      s.share_of_peak and html.percent(s.share_of_peak) .. " (" .. tostring(s.roof) .. ")",
      s.blocks and ("%s %s"):format(html.count(s.blocks), tostring(s.interval)) }
  end)
  if #rows == 0 then return "" end
  rows[#rows + 1] = { { "all, geometric mean", class = "h" }, html.time(f.baseline_ns),
    html.time(f.time_ns), { html.times(f.speedup), class = "h" },
    html.interval(f.speedup_low, f.speedup_high) }
  return html.table({ "shape", "baseline", "winner", "speed-up", "95 % interval", "of peak",
                      "blocks, interval" }, rows)
end

-- Whether the figure is confirmed, and what the search measured where that differs.
local function standing(m)
  local f, w = m.final, m.winner
  if w.id == 1 then return "nothing faster was found" end
  local interval = ("95 %% interval %s, "):format(html.interval(f.speedup_low, f.speedup_high))
  if not m.confirmed then return interval .. "as the search measured it, not confirmed" end
  local seen = html.times(w.speedup)
  return interval .. "confirmed"
         .. (seen ~= html.times(f.speedup) and ("; the search measured " .. seen) or "")
end

local function money(m)
  local tokens = m.tokens_in and m.tokens_in + (m.tokens_out or 0) or 0
  if m.usd and m.usd <= 0 and tokens == 0 and not m.recorded then return "" end
  local what = {}
  if m.recorded then
    what[1] = ("%s recorded answers, %s"):format(html.count(m.recorded.answers), m.recorded.usd
      and ("which cost %s then"):format(html.usd(m.recorded.usd)) or "whose price is not known")
  end
  if tokens > 0 then
    what[#what + 1] = ("%s tokens in, %s out"):format(html.count(m.tokens_in),
                                                      html.count(m.tokens_out or 0))
  elseif m.usd == nil then
    what[#what + 1] = "the price of some calls is not known"
  end
  return tile(html.usd(m.usd), "spent on models", table.concat(what, "; "))
end

function kernel.summary(m)
  local state, f, w = m.state == "done" and "finished" or m.state, m.final, m.winner
  local function tiles(list) return html.tag("div", { class = "tiles" }, list) end
  if not w then return tiles(tile(state, "state", "the baseline is not measured yet")) end
  local steps = (m.experiment.options.budget or {}).steps
  return tiles(tile(html.times(f.speedup), "speed-up over the baseline", standing(m))
    .. tile(("%s \u{2192} %s"):format(html.time(f.baseline_ns or m.baseline.time_ns),
      html.time(f.time_ns or w.time_ns)), "baseline to winner",
      ("kernel #%d, %s"):format(w.id, w.strategy and "by " .. w.strategy or "the baseline"))
    .. tile(html.count(m.pulls) .. (steps and " of " .. html.count(steps) or ""), "pulls",
      ("%s gave a kernel that passed every check"):format(html.count(m.ok)))
    .. tile(html.duration(m.elapsed_s), "search time",
      ("%s of it measuring, %s"):format(html.duration(m.busy_s), state))
    .. money(m)) .. shapes(m)
    .. html.origin("summary", { ROW = f.row and ("%d"):format(f.row) or "?", KERNEL = w.id,
      KIND = f.kind or "pull", SQL = f.row and ("SELECT json FROM evaluations WHERE id = %d")
      :format(f.row) or ("SELECT * FROM kernels WHERE id = %d"):format(w.id) })
end

-- Roofline -----------------------------------------------------------------------

-- Flops per byte and flops per second of a kernel on its first shape. The intensity is a
-- share of the bytes that were moved where those were counted.
local function spot(k)
  local rho = type(k.rho) == "table" and k.rho or {}
  local time, bytes, intensity = finite(rho[1]), finite(rho[2]), finite(rho[3])
  if not (time and bytes and intensity) or intensity <= 0 then return nil end
  local flops = intensity * (finite(k.moved) or math.exp(bytes))
  return { intensity, flops / (math.exp(time) * 1e-9), flops = flops }
end

-- The levels of memory, the slowest last, and the peak of flops.
local function roofs_of(r)
  local list = {}
  for _, x in ipairs { { "L1", finite(r.l1_bytes_per_s) }, { "L2", finite(r.l2_bytes_per_s) },
                       { "DRAM", math.max(finite(r.dram_bytes_per_s) or 0,
                                          finite(r.dram_copy_bytes_per_s) or 0) } } do
    if x[2] and x[2] > 0 then list[#list + 1] = x end
  end
  return list, finite(r.f32_flops_per_s)
end

local function draw_roofs(c, levels, peak, low, high)
  if not peak or peak <= 0 then return end
  for i, level in ipairs(levels) do
    local ridge = peak / level[2]
    local points = { { low, math.min(peak, low * level[2]) } }
    if ridge > low and ridge < high then points[2] = { ridge, peak } end
    points[#points + 1] = { high, math.min(peak, high * level[2]) }
    c:line(points, { series = 8, dashed = i < #levels,
      name = ("%s %s"):format(level[1], html.rate(level[2], "B/s")) })
  end
  c:text(high, peak, ("peak %s"):format(html.rate(peak, "FLOP/s")), { anchor = "end", dy = -5 })
end

-- Of every timed shape, with its label, the baseline and the winner as confirmed. Older evaluations
-- do not say the work of their shapes: the first shape alone then, by its features.
local function shape_spots(m, first, last)
  local out, shapes_of = {}, timed(m.final)
  for _, s in ipairs(shapes_of) do
    local flops, bytes = finite(s.flops), finite(s.bytes)
    local base_ns, time_ns = finite(s.baseline_ns), finite(s.time_ns)
    if flops and flops > 0 and bytes and bytes > 0 and base_ns and time_ns then
      out[#out + 1] = { name = label_of(s), { flops / bytes, flops / base_ns * 1e9 },
                        { flops / bytes, flops / time_ns * 1e9 } }
    end
  end
  if #out > 0 then return out end
  local s = shapes_of[1] or {}
  local base_ns, time_ns = finite(s.baseline_ns), finite(s.time_ns)
  return { { name = s.label and label_of(s) or "first shape",
             base_ns and { first[1], first.flops / base_ns * 1e9 } or first,
             time_ns and { last[1], last.flops / time_ns * 1e9 } or last } }
end

function kernel.roofline(m)
  local shown, by_id = {}, {}
  for _, k in ipairs(m.sample) do
    local p = spot(k)
    if p and p[2] > 0 then
      p[3] = ("kernel %d: %s, %s flop a byte"):format(k.id, html.rate(p[2], "FLOP/s"),
                                                     html.number(p[1]))
      by_id[k.id], shown[#shown + 1] = p, p
    end
  end
  local path = collect(m.path or {}, function(k) return by_id[k.id] end)
  if #path == 0 or not m.roofline then return nil end
  local spots = shape_spots(m, path[1], path[#path])
  local low, high, least, most = math.huge, 0, math.huge, 0
  for _, list in ipairs { shown, table.unpack(spots) } do
    for _, p in ipairs(list) do
      low, high = math.min(low, p[1]), math.max(high, p[1])
      least, most = math.min(least, p[2]), math.max(most, p[2])
    end
  end
  local levels, peak = roofs_of(m.roofline)
  local slowest = levels[#levels]
  low, high = math.min(low, slowest and peak and peak / slowest[2] or low) / 4, high * 4
  local c = chart.new { title = "Roofline", height = 320,
    x = { label = "flops a byte moved", log = true, min = low, max = high },
    y = { label = "flops a second", log = true, min = least / 2,
          max = math.max(most, peak or 0) * 1.8 } }
  draw_roofs(c, levels, peak, low, high)
  c:points(shown, { series = 8, radius = 2, name = "kernels of the search, first shape" })
  c:line(path, { series = 8 })
  for i, s in ipairs(spots) do
    c:line(s, { series = i, name = #spots > 1 and s.name or nil })
    for j, what in ipairs { "baseline", "winner" } do
      c:points({ { s[j][1], s[j][2], ("%s, %s: %s"):format(s.name, what,
                 html.rate(s[j][2], "FLOP/s")) } },
               { series = i, radius = j == 1 and 3.5 or 5.5, ring = j == 1 })
    end
  end
  return html.figure(c:svg(), ("Ring: the baseline; dot: the winner%s. Roofs were measured on "
    .. "this machine: fp32%s."):format(#spots > 1 and ", on every timed shape" or
      ", on the first timed shape", m.roofline.isa and " with " .. tostring(m.roofline.isa) or ""))
    .. html.origin "roofline"
end

-- Profile ------------------------------------------------------------------------

-- Two bars, one above the other.
local function bars(before, after)
  local out = {}
  for i, v in ipairs { before or 0, after or 0 } do
    out[i] = html.tag("span", { class = "bar s" .. 3 - i,
      style = ("width:%.0f%%"):format(100 * math.max(0, math.min(1, v))) }, "")
  end
  return html.tag("span", { class = "bars" }, table.concat(out))
end

local function row(name, before, after, kind)
  return { name, html.percent(before), html.percent(after),
           { html = (before or after) and bars(before, after) or "", class = "left" },
           { kind, class = "left" } }
end

-- A feature by its place in phi, nil where it is missing; and what kind it is.
local function known(e, i)
  local kind = type(e.phi_kind) == "table" and e.phi_kind[i] or ""
  return kind ~= "missing" and finite(e.phi[i]) or nil, tostring(kind)
end

local function counters(m)
  local function of(e)
    local list = ((e or {}).profile or {}).counters
    return type(list) == "table" and list or {}
  end
  local a, b, rows = of(m.baseline_evaluation), of(m.evaluation), {}
  local function figure(v) return finite(v) and ("%.6g"):format(v) end
  for _, name in ipairs(text.keys(b)) do
    if type(b[name]) == "number" then
      rows[#rows + 1] = { name, figure(a[name]), figure(b[name]) }
    end
  end
  return html.details("Hardware counters", html.table({ "counter", "baseline", "winner" }, rows))
end

local function bound(name, e)
  local b = type(e.profile) == "table" and e.profile.bottleneck
  return type(b) == "table" and type(b.text) == "string"
         and html.p(("The %s is bound by %s."):format(name, b.text)) or ""
end

function kernel.profile(m)
  local a, b = (m.baseline_evaluation or {}).evidence, (m.evaluation or {}).evidence
  if type(a) ~= "table" or type(b) ~= "table" or type(a.phi) ~= "table"
     or type(b.phi) ~= "table" then return nil end
  local rows = {}
  for i, name in ipairs(m.gpu and features.gpu or features.cpu) do
    local after, kind = known(b, i)
    rows[i] = row(name, known(a, i), after, kind)
  end
  for _, key in ipairs { "sm", "dram", "l2" } do
    local x, y = finite((a.h or {})[key]), finite((b.h or {})[key])
    if x or y then
      rows[#rows + 1] = row("utilisation of " .. features.resource(m.gpu, key), x and x / 100,
                            y and y / 100, tostring((b.h_kind or {})[key] or ""))
    end
  end
  return bound("baseline", m.baseline_evaluation) .. bound("winner", m.evaluation)
    .. html.table({ "feature", "baseline", "winner", "", "kind" }, rows)
    .. html.tag("p", { class = "note" }, html.dot "s2" .. "baseline " .. html.dot "s1" .. "winner")
    .. counters(m)
    .. html.origin "profile"
end

return kernel
