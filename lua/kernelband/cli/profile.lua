-- kernelband profile TASK SOURCE: what is known about how one kernel runs.
local cjson    = require "cjson"
local eval     = require "kernelband.cli.eval"
local in_words = require "kernelband.report.features"
local options  = require "kernelband.cli.options"
local progress = require "kernelband.search.progress"
local text     = require "kernelband.base.text"

local percent = text.percent

-- The first column to the left, the others to the right.
local function columns(rows) return text.table(rows, { right = true, rule = true }) end

local function roofs(out)
  local rows = { { "roof", "of peak", "kind" } }
  local p = out.profile
  if p and p.roofs then
    for _, r in ipairs(p.roofs) do rows[#rows + 1] = { r.name, percent(r.share), r.kind } end
    return columns(rows)
  end
  local names = { sm = "arithmetic", dram = "memory its data fit in", l2 = "L1 loads" }
  for _, key in ipairs { "sm", "dram", "l2" } do
    local h = out.evidence.h[key]
    rows[#rows + 1] = { names[key], percent(h and h / 100), out.evidence.h_kind[key] }
  end
  return columns(rows)
end

local function features(out)
  local rows = { { "feature", "share", "kind" } }
  local e = out.evidence
  for i, name in ipairs(out.profile and in_words.gpu or in_words.cpu) do
    local known = e.phi_kind[i] ~= "missing"
    rows[#rows + 1] = { name, percent(known and e.phi[i] or nil), e.phi_kind[i] }
  end
  return columns(rows)
end

local function occupancy(p)
  local o = p.occupancy
  local rows = { { "limit", "blocks an SM" } }
  for _, l in ipairs(o.limits) do
    rows[#rows + 1] = { l.name .. (l.name == o.limiter and " (limits)" or ""),
                        ("%d"):format(l.blocks) }
  end
  local waves = o.waves and ("; %d blocks are %.1f waves of the GPU"):format(o.blocks, o.waves)
  return ("occupancy %s of a possible %s%s\n%s"):format(percent(o.achieved), percent(o.possible),
    waves or "", #rows > 1 and columns(rows) or "")
end

-- "spills 16 bytes a thread (120 loads, 40 stores)"
local function spills(p)
  local s = p.spills or {}
  if not s.local_bytes then return "" end
  if s.local_bytes == 0 then return "spills none\n" end
  local counted = s.loads and (" (%d loads, %d stores)"):format(s.loads, s.stores or 0) or ""
  return ("spills %d bytes a thread%s\n"):format(s.local_bytes, counted)
end

local function traffic(p)
  local t = p.traffic
  if not (t and t.dram_bytes) then return "" end
  return ("DRAM %.3g MB moved, %.2f of the compulsory %.3g MB\n"):format(
         t.dram_bytes / 1e6, t.ratio, t.compulsory_bytes / 1e6)
end

local function stalls(p)
  if not p.stalls then return nil end
  local rows = { { "warps wait", "of stalls" } }
  for _, s in ipairs(p.stalls) do rows[#rows + 1] = { s.reason, percent(s.share) } end
  return columns(rows)
end

local function counters(values)
  local rows = { { "counter", "value" } }
  for _, name in ipairs(text.keys(values or {})) do
    if type(values[name]) == "number" then
      rows[#rows + 1] = { name, ("%.6g"):format(values[name]) }
    end
  end
  return #rows > 1 and columns(rows) or nil
end

-- What binds it, in a sentence.
local function bottleneck(out)
  local p, first = out.profile, out.shapes[1]
  if p and p.bottleneck then return p.bottleneck.text end
  if not first.roof then return "unknown: there are no peaks to compare with" end
  return ("%s: %s of the measured peak"):format(first.roof, percent(first.share_of_peak))
end

local function text_of(out, machine)
  local p, parts = out.profile, {}
  local function add(part) if part and part ~= "" then parts[#parts + 1] = part end end
  add(progress.table(out, "candidate") .. progress.peak(machine))
  add(("bottleneck, %s: %s\n"):format(out.shapes[1].label, bottleneck(out)))
  add(roofs(out))
  if p then
    add(occupancy(p) .. spills(p) .. traffic(p))
    add(stalls(p))
  end
  add(features(out))
  add(counters(p and p.counters or out.counters)
      or "no hardware counters" .. (p and p.why and ": " .. p.why or " here") .. "\n")
  return table.concat(parts, "\n")
end

return options.verb { "profile",
  summary = "show counters, bottleneck and limits of one source",
  args = "TASK SOURCE", options = { options.json, options.device }, text_of = text_of,
  run = function(opt, rest)
    local t, file, out, machine = eval.judge("profile", rest, { device = opt.device,
                                                                profile = true })
    if not out then return 130 end
    if opt.json then
      out.profile, out.evidence = out.profile or cjson.null, out.evidence or cjson.null
      eval.print_json(t, file, out)
    elseif out.verdict ~= "ok" then
      eval.print_failure(out)
    else
      io.write(text_of(out, machine))
    end
    return out.verdict == "ok" and 0 or 1
  end,
}
