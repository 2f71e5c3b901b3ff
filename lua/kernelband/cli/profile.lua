-- kernelband profile TASK SOURCE: what is known about how one kernel runs.
local cjson    = require "cjson"
local core     = require "kernelband.core"
local eval     = require "kernelband.cli.eval"
local options  = require "kernelband.cli.options"
local progress = require "kernelband.search.progress"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"

local usage = "kernelband profile TASK SOURCE [--json] [--device cpu|cpu:N|cuda:N]"

-- phi of evidence.lua and of evidence_cuda.lua, in words.
local on_cpu = { "cache hits", "bandwidth of the level its data fit in", "flops of one core",
                 "SIMD lanes in use", "instructions a cycle, of 4", "vector registers, of 32",
                 "spills among memory accesses", "contiguous vector accesses",
                 "multiply-adds among flops" }
local on_gpu = { "L2 hits", "DRAM bandwidth", "SM, its busiest pipe", "active threads, of 32",
                 "occupancy", "registers, of 255", "bank conflicts in shared memory",
                 "bytes used of those moved", "tensor pipe" }

local function percent(x) return x and ("%.0f %%"):format(100 * x) or "-" end

-- Rows of cells as lines: the first column to the left, the others to the right.
local function columns(rows)
  local width, out = {}, {}
  for _, r in ipairs(rows) do
    for i, cell in ipairs(r) do width[i] = math.max(width[i] or 0, #cell) end
  end
  for n, r in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(r) do
      cells[i] = ((i == 1 and "%-" or "%") .. width[i] .. "s"):format(cell)
    end
    out[#out + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
    if n == 1 then out[#out + 1] = ("-"):rep(#out[1]) end
  end
  return table.concat(out, "\n") .. "\n"
end

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
  for i, name in ipairs(out.profile and on_gpu or on_cpu) do
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
  local text = ("occupancy %s of a possible %s"):format(percent(o.achieved), percent(o.possible))
  if o.waves then
    text = text .. ("; %d blocks are %.1f waves of the GPU"):format(o.blocks, o.waves)
  end
  return text .. "\n" .. (#rows > 1 and columns(rows) or "")
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
  local names, rows = {}, { { "counter", "value" } }
  for name, value in pairs(values or {}) do
    if type(value) == "number" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    rows[#rows + 1] = { name, ("%.6g"):format(values[name]) }
  end
  return #names > 0 and columns(rows) or nil
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
  local function add(text) if text and text ~= "" then parts[#parts + 1] = text end end
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

local opts = {
  { "json", doc = "print one JSON object" },
  { "device", "D", one_of = { "cpu", "cuda:0" }, doc = "cpu, cpu:N or cuda:N" },
}

return {
  summary = "counters, bottleneck and limits of one source",
  usage = usage, options = opts, text_of = text_of,
  help = "What is measured, derived or missing is marked so. Without hardware counters it tells\n"
         .. "what the object, the launch and the clock say. Exit status: 0 when the verdict is\n"
         .. "ok, 1 for any other. --json prints one object.",
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 2, most = 2 })
    local t = task.load(rest[1])
    local source, why = core.system.read_file(rest[2])
    if not source then schema.raise("kernelband profile: %s", why) end
    local out, machine = eval.evaluate(t, source, { device = opt.device, profile = true },
                                       rest[2])
    if not out then return 130 end
    if opt.json then
      out.profile, out.evidence = out.profile or cjson.null, out.evidence or cjson.null
      eval.print_json(t, rest[2], out)
    elseif out.verdict ~= "ok" then
      print(("%s: %s"):format(out.verdict, out.reason))
      if out.log and out.log ~= out.reason then io.stderr:write(out.log, "\n") end
    else
      io.write(text_of(out, machine))
    end
    return out.verdict == "ok" and 0 or 1
  end,
}
