-- llm/words.lua - what is known of a machine and of a kernel, as text for a model.
-- Only what was found out on this machine is said: no table of hardware is kept.
local reply = require "kernelband.llm.reply"

local words = {}

local function push(out, form, ...) out[#out + 1] = form:format(...) end

local function bytes(n)
  for _, unit in ipairs { { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" } } do
    if n >= unit[1] then return ("%.4g %s"):format(n / unit[1], unit[2]) end
  end
  return ("%d bytes"):format(n)
end

local function rate(v, unit)
  for _, prefix in ipairs { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } } do
    if v >= prefix[1] then return ("%.3g %s%s"):format(v / prefix[1], prefix[2], unit) end
  end
  return ("%.3g %s"):format(v, unit)
end

local function known(v) return type(v) == "number" and v > 0 end

-- The device's describe table; roofline, when it has been measured.
function words.hardware(device)
  if not device then return nil end
  local out = {}
  push(out, "- %s", tostring(device.name))
  if device.compiler and device.compiler ~= "" then
    push(out, "- compiled by %s %s", device.compiler, device.flags or "")
  end
  if known(device.arch) and device.language == "cuda" then
    push(out, "- compute capability %d.%d", device.arch // 10, device.arch % 10)
  end
  if known(device.sm_count) and device.language == "cuda" then
    push(out, "- %d multiprocessors, each with %d threads, %d registers and %s of shared memory",
         device.sm_count, device.sm_threads, device.sm_registers, bytes(device.sm_shared_bytes))
  end
  if known(device.block_shared_bytes) then
    push(out, "- at most %s of shared memory a block", bytes(device.block_shared_bytes))
  end
  if known(device.l2_bytes) then push(out, "- second-level cache: %s", bytes(device.l2_bytes)) end
  local r = device.roofline or {}
  if device.language ~= "cuda" and type(r.isa) == "string" and r.isa ~= "" then
    push(out, "- widest vector instructions: %s", r.isa)
  end
  for _, f in ipairs { { "dram_bytes_per_s", "memory bandwidth", "B/s" },
                       { "l2_bytes_per_s", "second-level bandwidth", "B/s" },
                       { "l1_bytes_per_s", "first-level bandwidth", "B/s" },
                       { "f32_flops_per_s", "fp32", "flop/s" },
                       { "f16_flops_per_s", "fp16 tensor", "flop/s" },
                       { "bf16_flops_per_s", "bf16 tensor", "flop/s" },
                       { "f64_flops_per_s", "fp64", "flop/s" } } do
    if known(r[f[1]]) then push(out, "- %s, measured here: %s", f[2], rate(r[f[1]], f[3])) end
  end
  return table.concat(out, "\n")
end

local on_cpu = { "accesses that hit a cache", "bandwidth of the level its data fit in, used",
                 "peak of the arithmetic of one core, used", "lanes of the vector unit in use",
                 "of four instructions a cycle", "of the vector registers named in inner loops",
                 "of memory accesses are spills to the stack", "of accesses are whole vectors",
                 "of arithmetic is fused multiply-add" }
local on_gpu = { "of second-level accesses hit", "of DRAM bandwidth used",
                 "of the busiest arithmetic pipe used", "of the threads of a warp active",
                 "achieved occupancy", "of 255 registers a thread",
                 "of shared-memory wavefronts caused by bank conflicts",
                 "of the bytes moved are used", "of the cycles the tensor pipes work" }

local pipes = { { "sm", "arithmetic" }, { "dram", "memory" }, { "l2", "cache traffic" } }

-- What holds it back, in one sentence.
local function bound(kernel)
  local top, name
  for _, p in ipairs(pipes) do
    local v = type(kernel.h) == "table" and kernel.h[p[1]]
    local kind = type(kernel.h_kind) == "table" and kernel.h_kind[p[1]]
    if type(v) == "number" and kind ~= "missing" and v > (top or -1) then top, name = v, p[2] end
  end
  if not top then return nil end
  if top < 40 then
    return ("Nothing is near its limit: the busiest, %s, is at %.0f %% of its peak, so time goes "
            .. "to latency, dependencies or overhead."):format(name, top)
  end
  return ("It is held back by %s, which is at %.0f %% of its peak."):format(name, top)
end

local function times(kernel, baseline)
  local out = {}
  if known(kernel.time_ns) then push(out, "It takes %.1f us now.", kernel.time_ns / 1e3) end
  if known(kernel.speedup) and kernel.id ~= 1 then
    push(out, "That is %.2f times as fast as the first version.", kernel.speedup)
  elseif baseline then
    push(out, "It is the first version.")
  end
  return table.concat(out, " ")
end

-- A kernel's profile: time, what binds it, every feature that is known.
function words.profile(kernel, language)
  local out = { times(kernel, kernel.id == 1) }
  local p = type(kernel.profile) == "table" and kernel.profile or {}
  out[#out + 1] = reply.text(reply.at(p, "bottleneck", "text")) or bound(kernel)
  local names = language == "cuda" and on_gpu or on_cpu
  for i, name in ipairs(names) do
    local v, kind = reply.at(kernel.phi, i), reply.at(kernel.phi_kind, i)
    if type(v) == "number" and kind and kind ~= "missing" then
      push(out, "- %.0f %% %s (%s)", 100 * v, name, kind)
    end
  end
  local stalls = reply.at(p, "stalls")
  for i, s in ipairs(type(stalls) == "table" and stalls or {}) do
    if i <= 3 then push(out, "- %.0f %% of stalls: %s", 100 * s.share, s.reason) end
  end
  local spilled = reply.at(p, "spills", "local_bytes")
  if known(spilled) then push(out, "- %d bytes a thread are spilled", spilled) end
  return table.concat(out, "\n")
end

local most_told <const> = 12

-- What was tried on this kernel before, the newest last.
function words.history(history)
  if not history or #history == 0 then return nil end
  local out = {}
  for i = math.max(1, #history - most_told + 1), #history do
    local p = history[i]
    local what = p.verdict == "ok" and p.speedup
      and ("worked, %.2f times as fast as the first version"):format(p.speedup)
      or ("%s: %s"):format(p.verdict, reply.excerpt(tostring(p.reason or ""), 200))
    push(out, "- %s: %s", p.strategy, what)
  end
  return table.concat(out, "\n")
end

return words
