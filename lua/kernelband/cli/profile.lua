-- kernelband profile TASK SOURCE: what is known about how one kernel runs.
local lists    = require "kernelband.base.lists"
local eval     = require "kernelband.cli.eval"
local json     = require "kernelband.base.json"
local in_words = require "kernelband.report.features"
local progress = require "kernelband.search.progress"
local fill     = require("kernelband.base.template").fill
local text     = require "kernelband.base.text"

local collect, percent = lists.collect, text.percent

-- Rows below a head; the first column to the left, the others to the right.
local function columns(head, rows)
  return text.table({ head, table.unpack(rows) }, { right = true, rule = true }):sub(1, -2)
end

local names = { sm = "arithmetic", dram = "memory its data fit in", l2 = "L1 loads" }

local function roofs(gpu, e)
  local of_cpu = collect({ "sm", "dram", "l2" }, function(key)
    return { name = names[key], share = e.h[key] and e.h[key] / 100, kind = e.h_kind[key] }
  end)
  return collect(gpu and gpu.roofs or of_cpu, function(r)
    return { r.name, percent(r.share), r.kind }
  end)
end

-- What binds it, in a sentence.
local function bottleneck(gpu, shape)
  if gpu and gpu.bottleneck then return gpu.bottleneck.text end
  if not shape.roof then return "unknown: there are no peaks to compare with" end
  return ("%s: %s of the measured peak"):format(shape.roof, percent(shape.share_of_peak))
end

local function text_of(out, machine)
  local gpu, e, first = out.profile, out.evidence, out.shapes[1]
  local counters = gpu and gpu.counters or out.counters or {}
  return fill("cli/judged.profile", { columns = columns, percent = percent, gpu = gpu,
    speedups = (progress.table(out, "candidate") .. progress.peak(machine)):sub(1, -2),
    label = first.label, bottleneck = bottleneck(gpu, first), roofs = roofs(gpu, e),
    limits = gpu and collect(gpu.occupancy.limits, function(l)
      local limits = l.name == gpu.occupancy.limiter and " (limits)" or ""
      return { l.name .. limits, ("%d"):format(l.blocks) }
    end),
    stalls = gpu and collect(gpu.stalls or {}, function(s)
      return { s.reason, percent(s.share) }
    end),
    features = collect(gpu and in_words.gpu or in_words.cpu, function(name, i)
      return { name, percent(e.phi_kind[i] ~= "missing" and e.phi[i] or nil), e.phi_kind[i] }
    end),
    counters = collect(lists.keys(counters), function(name)
      return type(counters[name]) == "number" and { name, ("%.6g"):format(counters[name]) }
    end), why = gpu and gpu.why }) .. "\n"
end

return { "profile", args = "TASK SOURCE", options = { "json", "device" }, how = { profile = true },
  nulls = { profile = json.null, evidence = json.null }, text_of = text_of, run = eval.run,
}
