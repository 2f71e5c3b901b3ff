-- generator/words.lua - what is known of a machine and of a kernel, as text for a model. Every
-- figure was measured here or follows from what was; each stands with its unit and, where
-- it is of one shape, in that shape's line. What is not known is left out.
local lists = require "kernelband.base.lists"
local reply = require "kernelband.llm.reply"
local text  = require "kernelband.base.text"

local words = {}

local function push(out, form, ...) out[#out + 1] = form:format(...) end

local function known(v) return type(v) == "number" and v == v and v > 0 end

words.bytes = text.bytes
local bytes = words.bytes

-- 1.31 M, 103 G: three figures and a prefix; the unit follows.
function words.amount(v, unit)
  for _, prefix in ipairs { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" },
                            { 1e3, "k" } } do
    if v >= prefix[1] then return ("%.3g %s%s"):format(v / prefix[1], prefix[2], unit) end
  end
  return ("%.3g %s"):format(v, unit)
end
local amount = words.amount

function words.time(ns)
  if ns >= 1e7 then return ("%.1f ms"):format(ns / 1e6) end
  if ns >= 1e3 then return ("%.1f us"):format(ns / 1e3) end
  return ("%.0f ns"):format(ns)
end
local time = words.time

-- The machine -----------------------------------------------------------------------

local function rates(r, list)
  local out = lists.collect(list, function(f)
    return known(r[f[1]]) and ("%s %s"):format(f[2], amount(r[f[1]], f[3]))
  end)
  return #out > 0 and table.concat(out, ", ") or nil
end

local function cpu(device, out)
  local r = device.roofline or {}
  local caches = lists.collect({ { "l1d_bytes", "L1d %s" }, { "l2_bytes", "L2 %s" },
                           { "l3_bytes", "L3 %s (shared by cores)" } }, function(c)
    return known(r[c[1]]) and c[2]:format(bytes(r[c[1]] // 1))
  end)
  if #caches > 0 then push(out, "- caches of a core: %s", table.concat(caches, ", ")) end
  if type(r.isa) == "string" and r.isa ~= "" then
    push(out, "- vectors: %s%s", r.isa, known(r.vector_bytes)
         and (", %d bytes, so %d f32 lanes"):format(r.vector_bytes, r.vector_bytes // 4) or "")
  end
  if known(r.clock_hz) then push(out, "- clock of the core as measured: %s",
                                 amount(r.clock_hz, "Hz")) end
end

local function gpu(device, out)
  if known(device.arch) then
    push(out, "- compute capability %d.%d", device.arch // 10,
         device.arch % 10)
  end
  if known(device.sm_count) then
    push(out, "- %d multiprocessors, each with %d threads, %d registers and %s of shared memory",
         device.sm_count, device.sm_threads, device.sm_registers, bytes(device.sm_shared_bytes))
  end
  if known(device.block_shared_bytes) then
    push(out, "- at most %s of shared memory a block", bytes(device.block_shared_bytes))
  end
  if known(device.l2_bytes) then push(out, "- L2 cache: %s", bytes(device.l2_bytes)) end
  if known(device.memory_bytes) then push(out, "- memory: %s", bytes(device.memory_bytes)) end
end

-- The device's describe table; roofline, when it has been measured.
function words.hardware(device)
  if not device then return nil end
  local out, r = {}, device.roofline or {}
  local one_core = device.language == "c"
  if device.name then
    push(out, "- %s%s", device.cpu and one_core and device.cpu .. ", one core: " or "",
         tostring(device.name))
  end
  if device.compiler and device.compiler ~= "" then
    push(out, "- compiler: %s %s", device.compiler, device.flags or "")
  end
  if one_core then cpu(device, out) elseif device.language == "cuda" then gpu(device, out) end
  local compute = rates(r, { { "f32_flops_per_s", "f32", "flop/s" },
    { "f64_flops_per_s", "f64", "flop/s" }, { "f16_flops_per_s", "f16 tensor", "flop/s" },
    { "bf16_flops_per_s", "bf16 tensor", "flop/s" } })
  local memory = rates(r, { { "l1_bytes_per_s", "L1", "B/s" }, { "l2_bytes_per_s", "L2", "B/s" },
    { "dram_bytes_per_s", "memory read", "B/s" },
    { "dram_copy_bytes_per_s", "memory copy", "B/s" } })
  if compute then push(out, "- peaks measured: %s", compute) end
  if memory then push(out, "- bandwidths measured: %s", memory) end
  return #out > 0 and table.concat(out, "\n") or nil
end

-- A kernel's times ------------------------------------------------------------------

local busy <const> = 60                 -- percent of a roof: that is what binds

-- The roof over a shape's bytes, as evidence.roofs has it.
local function level(device, work)
  local r = device and device.roofline or {}
  if device and device.language == "c" and work then
    if work.bytes <= (r.l1d_bytes or 0) then return "L1" end
    if work.bytes <= (r.l2_bytes or 0) then return "L2" end
  end
  return "memory"
end

local function bound(compute, bandwidth, where)
  if not compute or not bandwidth then return nil end
  local name, top = "arithmetic", compute
  local past = "fewer operations than the task counts, or a peak measured beside other work"
  if bandwidth > compute then
    name, top, past = where .. " bandwidth", bandwidth, "part of it comes from a nearer cache"
  end
  if top > 100 then return ("past the %s roof: %s"):format(name, past) end
  if top >= busy then return "bound by " .. name end
  return "bound by neither"
end

local function interval(low, high)
  return low and high and (" (%.2f to %.2f)"):format(low, high) or ""
end
words.interval = interval

-- A line a timed shape. about: task, device.
function words.shapes(measured, first, about)
  local out = {}
  for _, s in ipairs(measured.shapes) do
    local line = ("- %s: %s"):format(s.label or "?", time(s.time_ns))
    if not first and s.speedup then
      line = line .. (", %.2fx the first version%s"):format(s.speedup, interval(s.low, s.high))
    end
    if s.compute_share and s.bandwidth_share then
      local ok, work = pcall(about.task.work, s.shape)
      local where = level(about.device, ok and work)
      local compute, bandwidth = 100 * s.compute_share, 100 * s.bandwidth_share
      line = line .. ("; %.1f %% of peak arithmetic, %.1f %% of %s bandwidth: %s"):format(
             compute, bandwidth, where, bound(compute, bandwidth, where))
    end
    out[#out + 1] = line
  end
  return table.concat(out, "\n")
end

-- What stands out in a profile --------------------------------------------------------

local most_findings <const> = 3
local worth_telling <const> = 0.15

local function feature(kernel, i)
  local v, kind = reply.at(kernel.phi, i), reply.at(kernel.phi_kind, i)
  if type(v) ~= "number" or v ~= v or not kind or kind == "missing" then return nil end
  return v, kind
end

-- A list of findings, how bad (0 to 1) and in words each, and what adds one.
local function findings()
  local list = {}
  return list, function(bad, form, ...)
    if bad > worth_telling then list[#list + 1] = { bad, form:format(...) } end
  end
end

local function on_cpu(kernel, measured, about)
  local list, add = findings()
  local r = about.device and about.device.roofline or {}
  local lanes, width = feature(kernel, 4), known(r.vector_bytes) and r.vector_bytes // 4 or 16
  if lanes then
    add(1 - 16 * lanes / width, "arithmetic of the inner loops fills %.1f of %d f32 lanes",
        16 * lanes, width)
  end
  local hot = measured and measured.hot
  if hot and hot.calls and hot.calls[1] then
    add(0.95, "the costliest inner loop calls %s each turn", table.concat(
      lists.collect(hot.calls, function(s) return "`" .. reply.excerpt(s, 40) .. "`" end), ", "))
  end
  -- A feature, its share when all is well and how bad the lack of all of it is; the figure is so
  -- many times the share, or the lack of it.
  for _, f in ipairs {
    { 7, 0, 1, 100, "%.0f %% of the inner loops' memory accesses go to the stack" },
    { 8, 1, 0.9, 100, "%.0f %% of the inner loops' memory accesses are whole contiguous vectors" },
    { 5, 1, 1, 4, "%.2f instructions a cycle (counted)" },
    { 1, 1, 2, 100, "%.1f %% of cache references miss (counted)", lack = true },
    { 9, 1, 0.5, 100, "%.0f %% of arithmetic instructions are fused multiply-adds" } } do
    local v = feature(kernel, f[1])
    if v then add(f[3] * math.abs(f[2] - v), f[5], f[4] * (f.lack and 1 - v or v)) end
  end
  return list
end

local waits = { long_scoreboard = "global or local memory", short_scoreboard = "shared memory",
  barrier = "barriers", math_pipe_throttle = "arithmetic pipes", wait = "fixed latencies",
  mio_throttle = "the shared-memory queue", lg_throttle = "the global-memory queue",
  not_selected = "their turn (enough warps are ready)", no_instruction = "instructions" }

local function on_gpu(kernel)
  local list, add = findings()
  local p = reply.list(kernel.profile)
  local o = reply.list(p.occupancy)
  if known(o.waves) and o.waves < 1 then
    add(1 - o.waves, "%d blocks fill %.0f %% of the GPU", o.blocks, 100 * o.waves)
  end
  if known(o.possible) and o.limiter then
    add(0.8 * (1 - o.possible), "occupancy is held to %.0f %% by %s", 100 * o.possible, o.limiter)
  end
  local stall = reply.at(p, "stalls", 1)
  if stall then
    add(stall.share, "warps wait for %s in %.0f %% of stalls", waits[stall.reason] or stall.reason,
        100 * stall.share)
  end
  local spilled = reply.at(p, "spills", "local_bytes")
  if known(spilled) then add(0.9, "%d bytes a thread are spilled to local memory", spilled) end
  local traffic = reply.at(p, "traffic", "ratio")
  if known(traffic) then
    add(1 - 1 / math.max(traffic, 1), "it moves %.2f times its compulsory bytes", traffic)
  end
  for _, f in ipairs { { 8, 1, "%.0f %% of the bytes moved are used" },
                       { 4, 1, "%.0f %% of a warp's threads are active" },
                       { 7, 0, "%.0f %% of shared-memory wavefronts come from bank conflicts" } } do
    local v, kind = feature(kernel, f[1])
    if v and kind == "measured" then add(math.abs(f[2] - v), f[3], 100 * v) end
  end
  return list
end

-- The largest findings, the worst first, as a list of sentences.
function words.findings(kernel, measured, about)
  local list = about.language == "cuda" and on_gpu(kernel) or about.language == "c"
               and on_cpu(kernel, measured, about) or {}
  return lists.collect(lists.sorted(list, function(f) return -f[1] end), function(f, i)
    return i <= most_findings and f[2]
  end)
end

return words
