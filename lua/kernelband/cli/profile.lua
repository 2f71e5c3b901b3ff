-- kernelband profile TASK SOURCE: what is known about how one kernel runs.
local lists    = require "kernelband.base.lists"
local eval     = require "kernelband.cli.eval"
local json     = require "kernelband.base.json"
local in_words = require "kernelband.report.features"
local progress = require "kernelband.search.progress"
local text     = require "kernelband.base.text"

local percent = text.percent

-- A row for each item of a list, below a head; the first column to the left, the others to the
-- right. "" where there is no row.
local function listing(head, list, row_of)
  local rows = lists.collect(list, row_of)
  if #rows == 0 then return "" end
  table.insert(rows, 1, head)
  return text.table(rows, { right = true, rule = true })
end

local function roofs(out)
  local e, names = out.evidence, { sm = "arithmetic", dram = "memory its data fit in",
                                   l2 = "L1 loads" }
  local of_cpu = lists.collect({ "sm", "dram", "l2" }, function(key)
    return { name = names[key], share = e.h[key] and e.h[key] / 100, kind = e.h_kind[key] }
  end)
  return listing({ "roof", "of peak", "kind" }, out.profile and out.profile.roofs or of_cpu,
                 function(r) return { r.name, percent(r.share), r.kind } end)
end

local function features(out)
  local e, names = out.evidence, out.profile and in_words.gpu or in_words.cpu
  return listing({ "feature", "share", "kind" }, names, function(name, i)
    return { name, percent(e.phi_kind[i] ~= "missing" and e.phi[i] or nil), e.phi_kind[i] }
  end)
end

local function occupancy(o)
  local waves = o.waves and ("; %d blocks are %.1f waves of the GPU"):format(o.blocks, o.waves)
  return ("occupancy %s of a possible %s%s\n%s"):format(percent(o.achieved), percent(o.possible),
    waves or "", listing({ "limit", "blocks an SM" }, o.limits, function(l)
      return { l.name .. (l.name == o.limiter and " (limits)" or ""), ("%d"):format(l.blocks) }
    end))
end

-- "spills 16 bytes a thread (120 loads, 40 stores)"
local function spills(s)
  if not (s and s.local_bytes) then return "" end
  if s.local_bytes == 0 then return "spills none\n" end
  local counted = s.loads and (" (%d loads, %d stores)"):format(s.loads, s.stores or 0) or ""
  return ("spills %d bytes a thread%s\n"):format(s.local_bytes, counted)
end

local function traffic(t)
  return t and t.dram_bytes and ("DRAM %.3g MB moved, %.2f of the compulsory %.3g MB\n"):format(
    t.dram_bytes / 1e6, t.ratio, t.compulsory_bytes / 1e6) or ""
end

local function stalls(list)
  return listing({ "warps wait", "of stalls" }, list or {}, function(s)
    return { s.reason, percent(s.share) }
  end)
end

local function counters(p, values)
  local shown = listing({ "counter", "value" }, lists.keys(values or {}), function(name)
    return type(values[name]) == "number" and { name, ("%.6g"):format(values[name]) }
  end)
  if shown ~= "" then return shown end
  return ("no hardware counters%s\n"):format(p and p.why and ": " .. p.why or " here")
end

-- What binds it, in a sentence.
local function bottleneck(out)
  local p, first = out.profile, out.shapes[1]
  if p and p.bottleneck then return p.bottleneck.text end
  if not first.roof then return "unknown: there are no peaks to compare with" end
  return ("%s: %s of the measured peak"):format(first.roof, percent(first.share_of_peak))
end

local function text_of(out, machine)
  local p = out.profile
  local parts = {
    progress.table(out, "candidate") .. progress.peak(machine),
    ("bottleneck, %s: %s\n"):format(out.shapes[1].label, bottleneck(out)), roofs(out),
    p and occupancy(p.occupancy) .. spills(p.spills) .. traffic(p.traffic) or "",
    p and stalls(p.stalls) or "", features(out), counters(p, p and p.counters or out.counters),
  }
  return table.concat(lists.collect(parts, function(part) return part ~= "" and part end), "\n")
end

return { "profile", args = "TASK SOURCE", options = { "json", "device" }, how = { profile = true },
  nulls = { profile = json.null, evidence = json.null }, text_of = text_of, run = eval.run,
}
