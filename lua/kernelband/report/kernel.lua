-- report/kernel.lua - the winner: its figures, the checks that it passed and what weakens them, the
-- roofline, its profile beside the baseline's, its source.
local lists    = require "kernelband.base.lists"
local chart    = require "kernelband.report.chart"
local clean    = require "kernelband.report.clean"
local diff     = require "kernelband.base.diff"
local features = require "kernelband.report.features"
local html     = require "kernelband.report.html"
local text     = require "kernelband.base.text"

local kernel = {}

local collect, escape, tag, words = lists.collect, html.escape, html.tag, html.words

-- Summary ------------------------------------------------------------------------

-- A row a shape, then the whole.
local function shapes(f)
  local list = lists.with(f.timed, { [#f.timed + 1] = #f.timed > 0 and f or nil })
  return html.table({ "shape", "baseline", "winner", "speed-up", "95 % interval", "of peak",
    "blocks, interval" }, list, { row = function(s)
      local whole, class = s == f and "all, geometric mean", s == f and "h" or nil
      return { { whole or s.label, class = class }, html.time(s.baseline_ns), html.time(s.time_ns),
        { html.times(s.speedup), class = class }, html.interval(s.speedup_low, s.speedup_high),
        s.share_of_peak and ("%s (%s)"):format(html.percent(s.share_of_peak), s.roof),
        s.blocks and ("%s %s"):format(html.count(s.blocks), s.interval) }
    end })
end

function kernel.summary(m)
  local values = lists.with(m, { spent = html.lines("words.spent", m) })
  local lines, tiles = html.lines("words.tiles", values), {}
  for i = 1, #lines, 3 do
    tiles[#tiles + 1] = tag("div", { class = "tile" }, words("div", lines[i], "big")
                            .. words("div", lines[i + 1]) .. words("div", lines[i + 2], "q"))
  end
  return tag("div", { class = "tiles" }, table.concat(tiles)) .. shapes(m.final)
end

-- What was checked ---------------------------------------------------------------

-- The reasons why a figure is worth less than it could be, each once.
local function weakened(m)
  local unconfirmed = "the search was told not to confirm its winner"
  return lists.distinct(lists.joined { m.final.weakened, m.evaluation.weakened,
    m.baseline_evaluation.weakened, { m.options.confirm == false and unconfirmed or nil } })
end

function kernel.checks(m)
  local made, less, tried = m.final.checks, weakened(m), m.baseline_evaluation.mutants
  local verified = collect(m.verified, function(v) return lists.with(clean.evaluation(v), v) end)
  return (#made > 0 and html.heading "What its winner went through" .. html.list(made)
      or html.note "Which checks were made was not recorded.")
    .. (#less > 0 and html.heading "What makes this worth less" .. html.list(less)
      or #made > 0 and html.p "No check was left out or weakened." or "")
    .. (tried.caught and html.p(html.said("mutants", tried)) or "")
    .. html.listing("twice", m.quarantined, { left = 3, wrap = true,
      caption = "Too good to be believed at once, the last first" })
    .. html.listing("verified", verified, { left = 3, wrap = true,
      caption = "kernelband verify, the last first" })
end

-- Roofline -----------------------------------------------------------------------

-- A place in the roofline: flops per byte, flops per second, and what it says.
local function spot(flops, bytes, ns, name)
  if not (flops and bytes and ns and flops > 0 and bytes > 0 and ns > 0) then return nil end
  local rate = flops / ns * 1e9
  return { flops / bytes, rate, text = ("%s: %s"):format(name, html.rate(rate, "FLOP/s")),
           flops = flops, bytes = bytes }
end

-- Of a kernel of the search, on its first shape. Its intensity is a share of the bytes that were
-- moved where those were counted.
local function spot_of(k)
  local log_ns, log_bytes, intensity = k.rho[1], k.rho[2], k.rho[3]
  if not (log_ns and log_bytes and intensity) then return nil end
  local bytes = html.finite(k.moved) or math.exp(log_bytes)
  local p = spot(intensity * bytes, bytes, math.exp(log_ns), ("kernel %d"):format(k.id))
  if p then p.text = ("%s, %s flop a byte"):format(p.text, html.number(p[1])) end
  return p
end

-- The levels of memory with their bytes a second, the slowest last.
local function levels_of(r)
  return collect({ { "L1", r.l1_bytes_per_s or 0 }, { "L2", r.l2_bytes_per_s or 0 },
                   { "DRAM", math.max(r.dram_bytes_per_s or 0, r.dram_copy_bytes_per_s or 0) } },
                 function(level) return level[2] > 0 and level end)
end

local function draw_roofs(c, levels, peak)
  local low, high = c.x.min, c.x.max
  for i, level in ipairs(levels) do
    local points = collect({ low, peak / level[2], high }, function(x)
      return x >= low and x <= high and { x, math.min(peak, x * level[2]) }
    end)
    c:line(points, { series = 8, dashed = i < #levels,
      name = ("%s %s"):format(level[1], html.rate(level[2], "B/s")) })
  end
  c:text(high, peak, ("peak %s"):format(html.rate(peak, "FLOP/s")))
end

function kernel.roofline(m)
  local by_id, levels = {}, levels_of(m.roofline)
  local shown = collect(m.sample, function(k)
    by_id[k.id] = spot_of(k)
    return by_id[k.id]
  end)
  local spots = collect(m.final.timed, function(s, i)
    local name, work = s.label or "?", s.flops and s or i == 1 and by_id[1] or {}
    local before = spot(work.flops, work.bytes, s.baseline_ns, name .. ", baseline")
    local after = spot(work.flops, work.bytes, s.time_ns, name .. ", winner")
    return before and after and { before, after, name = name }
  end)
  local peak = m.roofline.f32_flops_per_s
  if not peak or #levels == 0 or #spots == 0 then return nil end
  local all = lists.joined { shown, table.unpack(spots) }
  local at, rates = collect(all, 1), collect(all, 2)
  local c = chart.new { title = "Roofline", height = 320,
    x = { label = "flops a byte moved", log = true,
          min = math.min(peak / levels[#levels][2], table.unpack(at)) / 4,
          max = math.max(table.unpack(at)) * 4 },
    y = { label = "flops a second", log = true, min = math.min(table.unpack(rates)) / 2,
          max = math.max(peak, table.unpack(rates)) * 1.8 } }
  draw_roofs(c, levels, peak)
  c:points(shown, { series = 8, radius = 2, name = "kernels of the search, first shape" })
  c:line(collect(m.path, function(k) return by_id[k.id] end), { series = 8 })
  for i, s in ipairs(spots) do
    c:line(s, { series = i, name = #spots > 1 and s.name or nil })
    c:points({ s[1] }, { series = i, radius = 3.5, ring = true })
    c:points({ s[2] }, { series = i, radius = 5.5 })
  end
  return html.figure(c:svg(), html.said("roofline", { spots = spots, isa = m.roofline.isa }))
end

-- Profile ------------------------------------------------------------------------

-- Two bars, one above the other.
local function bars(before, after)
  local out = {}
  for i, v in ipairs { before or 0, after or 0 } do
    out[i] = tag("span", { class = "bar s" .. 3 - i,
      style = ("width:%.0f%%"):format(100 * math.max(0, math.min(1, v))) }, "")
  end
  return tag("span", { class = "bars" }, table.concat(out))
end

local function row(name, before, after, kind)
  return { name, html.percent(before), html.percent(after),
           { html = (before or after) and bars(before, after) or "", class = "left" },
           { kind or "", class = "left" } }
end

local function counters(before, after)
  local function figure(v) return v and ("%.6g"):format(v) end
  return html.details("Hardware counters", html.table({ "counter", "baseline", "winner" },
    collect(lists.keys(after), function(name)
      return { name, figure(before[name]), figure(after[name]) }
    end)))
end

function kernel.profile(m)
  local before, after = m.baseline_evaluation, m.evaluation
  local a, b = before.evidence, after.evidence
  if not (next(a.phi) and next(b.phi)) then return nil end
  local function known(e, i) return e.phi_kind[i] ~= "missing" and e.phi[i] or nil end
  local rows = collect(m.gpu and features.gpu or features.cpu, function(name, i)
    return row(name, known(a, i), known(b, i), b.phi_kind[i])
  end)
  for _, key in ipairs { "sm", "dram", "l2" } do
    local x, y = a.h[key], b.h[key]
    rows[#rows + 1] = (x or y) and row("utilisation of " .. features.resource(m.gpu, key),
                                       x and x / 100, y and y / 100, b.h_kind[key]) or nil
  end
  local bound = html.lines("words.bound", { before = before.profile.bottleneck.text,
                                            after = after.profile.bottleneck.text })
  return table.concat(collect(bound, function(line) return html.p(line) end))
    .. html.table({ "feature", "baseline", "winner", "", "kind" }, rows)
    .. tag("p", { class = "note" }, html.dot "s2" .. "baseline " .. html.dot "s1" .. "winner")
    .. counters(before.profile.counters, after.profile.counters)
end

-- Source -------------------------------------------------------------------------
--
-- Whole, and as a diff to its parent and to the baseline.

local SHOWN_BYTES <const>, CONTEXT <const> = 400000, 3

local keywords = lists.places(lists.words(html.said "keywords"))

-- One line of C, coloured a little; a line that is odd is only escaped.
local function colour(line)
  if #line > 400 or line:find "[%z\1-\8\11-\31\127-\255]" then return escape(line) end
  if line:find "^%s*#" then return words("i", line) end
  local at, comment = line:find("//", 1, true), nil
  if at and not line:sub(1, at):find '"' then line, comment = line:sub(1, at - 1), line:sub(at) end
  return escape(line):gsub("[%w_&#]+", function(word)
    return keywords[word] and "<b>" .. word .. "</b>" or nil
  end) .. (comment and words("i", comment) or "")
end

-- A row of a listing: the HTML of what stands before the line, and of the line.
local function listed(class, before, line)
  return tag("tr", { class = class }, before .. tag("td", nil, line))
end

local function cell(n) return tag("td", { class = "n" }, n and ("%d"):format(n) or "") end

local function code(rows)
  return tag("div", { class = "scroll code" }, tag("table", { class = "src" }, table.concat(rows)))
end

local class = { ["+"] = "plus", ["-"] = "minus", [" "] = "same" }

-- The lines that changed with those around them.
local function changes(list)
  local near = {}
  for i, e in ipairs(list) do
    for j = i - CONTEXT, e[1] == " " and -CONTEXT or i + CONTEXT do near[j] = true end
  end
  return code(collect(list, function(e, i)
    if near[i] then
      return listed(class[e[1]], cell(e[3]) .. cell(e[4]), e[1] .. " " .. colour(e[2]))
    end
    return (i == 1 or near[i - 1])
           and listed("gap", tag("td", { class = "n", colspan = "2" }, ""), "\u{22EF}")
  end))
end

local function compared(title, old, new)
  local list = diff.lines(old.source, new.source)
  local plus, minus = diff.count(list)
  return html.details(("%s: %d lines added, %d removed"):format(title, plus, minus),
                      plus + minus == 0 and html.p "The two are the same." or changes(list))
end

function kernel.source(m)
  local w, parent = m.winner, m.path[#m.path - 1]
  if #w.source > SHOWN_BYTES or #m.baseline.source > SHOWN_BYTES then
    return html.p(html.said("too_long", w))
  end
  return html.details(("Kernel #%d, %s"):format(w.id, html.maker(w.strategy)),
      code(collect(text.lines(w.source), function(line, i)
        return listed(nil, cell(i), colour(line))
      end)), true)
    .. (parent and compared(("Against its parent #%d"):format(parent.id), parent, w) or "")
    .. (w.id ~= 1 and not (parent and parent.id == 1)
        and compared("Against the baseline", m.baseline, w) or "")
    .. (w.params and html.details("Parameters of the generator", words("pre", w.params)) or "")
end

return kernel
