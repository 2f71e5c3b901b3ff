-- Every number of a question has an origin: 200 questions and more of made-up searches are
-- taken from run.db, and each digit outside of source, assembly and quotations is worked out
-- again from run.db and the machine.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local json = require "kernelband.base.json"
local questions = require "questions"
local tasks = require "kernelband.task"

-- What a model might answer: by turns better and worse kernels, failures, refusals.
local function answers(name, parameters, seed)
  local r = core.rng(seed)
  return function(_, n)
    local pick, body = r:below(10), ("SPEED %.3f"):format(1 + 3 * r:uniform())
    if pick == 0 then return "NOT APPLICABLE: 3 loops, and 2 of them read nothing twice." end
    if pick == 1 then return "I would rather not, 4 times." end
    if pick == 2 then body = "BROKEN " .. n end
    if pick == 3 then body = "WRONG " .. n end
    local open = pick == 4 and "// kb: tune BLOCK 8 16 32\n" or ""
    local more = {}
    for i = 1, r:below(30) do more[i] = ("    int v%d_%d;\n"):format(n, i) end
    return ("```c\n%svoid %s(%s)\n{\n%s    %s; // %d\n}\n```\n"):format(open, name, parameters,
           table.concat(more), body, n)
  end
end

local function cuda_answers(name, seed)
  local r = core.rng(seed)
  return function(_, n)
    return ("```cuda\n// kb: launch %s grid=(1) block=(32) args=()\n__global__ void %s(int v%d)\n"
      .. "{\n    SPEED %.2f;\n}\n```\n"):format(name, name, n, 1 + 2 * r:uniform())
  end
end

-- Text that is somebody else's: fences, code in lines, what stands in double quotes.
local function own(text)
  local out, fence = {}, nil
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local mark = line:match "^(```+)"
    if fence then
      if mark and #mark >= #fence and line == mark then fence = nil end
    elseif mark then
      fence = mark
    else
      out[#out + 1] = line:gsub("`[^`]*`", "``")
    end
  end
  return out
end

-- How far a sum by atomics may be off on a GPU, by timed shape: each term is flushed once.
local function by_atomics(task)
  local out, same = {}, true
  for i, s in ipairs(task.shapes.timed) do
    out[i] = ("%.3g"):format(tasks.terms(task, "reduction", s) * 2 ^ -126)
    same = same and out[i] == out[1]
  end
  return same and out[1] or table.concat(out, ", ") .. " at the timed shapes in their order"
end

-- Formats, written down here once more.
local function amount(v, unit)
  for _, p in ipairs { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } } do
    if v >= p[1] then return ("%.3g %s%s"):format(v / p[1], p[2], unit) end
  end
  return ("%.3g %s"):format(v, unit)
end
local function size(n)
  for _, u in ipairs { { 2 ^ 30, "GiB" }, { 2 ^ 20, "MiB" }, { 1024, "KiB" } } do
    if n >= u[1] then return ("%.4g %s"):format(n / u[1], u[2]) end
  end
  return ("%d bytes"):format(n)
end
local function duration(ns)
  return ns >= 1e6 and ("%.2f ms"):format(ns / 1e6) or ns >= 1e3 and ("%.2f us"):format(ns / 1e3)
         or ("%.0f ns"):format(ns)
end
-- The lines that a question of this run may hold whatever its pull, as a set.
local function fixed_lines(task, machine, baseline, language)
  local set = {}
  local function say(form, ...)
    set[select("#", ...) > 0 and form:format(...) or form] = true
  end
  local r = machine.roofline
  if language == "c" then
    say("- %s, one core: %s", machine.cpu, machine.name)
    say("- caches of a core: L1d %s, L2 %s, L3 %s (shared by cores)", size(r.l1d_bytes),
        size(r.l2_bytes), size(r.l3_bytes))
    say("- vectors: %s, %d bytes, so %d f32 lanes", r.isa, r.vector_bytes, r.vector_bytes // 4)
    say("- clock of the core as measured: %s", amount(r.clock_hz, "Hz"))
    say("- peaks measured: f32 %s, f64 %s", amount(r.f32_flops_per_s, "flop/s"),
        amount(r.f64_flops_per_s, "flop/s"))
    say("- bandwidths measured: L1 %s, L2 %s, memory read %s, memory copy %s",
        amount(r.l1_bytes_per_s, "B/s"), amount(r.l2_bytes_per_s, "B/s"),
        amount(r.dram_bytes_per_s, "B/s"), amount(r.dram_copy_bytes_per_s, "B/s"))
  else
    say("- %s", machine.name)
    say("- compute capability %d.%d", machine.arch // 10, machine.arch % 10)
    say("- %d multiprocessors, each with %d threads, %d registers and %s of shared memory",
        machine.sm_count, machine.sm_threads, machine.sm_registers, size(machine.sm_shared_bytes))
    say("- at most %s of shared memory a block", size(machine.block_shared_bytes))
    say("- L2 cache: %s", size(machine.l2_bytes))
    say("- memory: %s", size(machine.memory_bytes))
    say("- peaks measured: f32 %s", amount(r.f32_flops_per_s, "flop/s"))
    say("- bandwidths measured: memory read %s, memory copy %s",
        amount(r.dram_bytes_per_s, "B/s"), amount(r.dram_copy_bytes_per_s, "B/s"))
  end
  say("- compiler: %s %s", machine.compiler, machine.flags)
  say("%s: %s", task.name, task.summary)
  local ctype = language == "c" and { f32 = "float", i32 = "int32_t", i64 = "int64_t",
      f64 = "double", u8 = "uint8_t" } or { f32 = "float", i32 = "int", i64 = "long long" }
  local list = {}
  for i, a in ipairs(task.args) do
    list[i] = a.mode == "scalar" and ("%s %s"):format(ctype[a.dtype], a.name)
      or ("%s%s *%s"):format(a.mode == "in" and "const " or "", ctype[a.dtype], a.name)
    if a.dims then
      local dims = {}
      for k, d in ipairs(a.dims) do dims[k] = tostring(d) end
      say("- %s: %s, %s, [%s]", a.name, a.dtype, a.mode, table.concat(dims, "]["))
    end
  end
  say("Arguments, in this order: (%s)", table.concat(list, ", "))
  local terms, limits, same = {}, {}, true
  for i, s in ipairs(task.shapes.timed) do
    local cells, work = {}, task.work(s)
    for k, name in ipairs(task.shape_names) do cells[k] = ("%s=%d"):format(name, s[name]) end
    say("- timed: %s: %s, at least %s moved", table.concat(cells, " "), amount(work.flops, "flop"),
        amount(work.bytes, "B"))
    local k = tasks.terms(task, "reduction", s)
    terms[i], limits[i] = ("%.0f"):format(k), ("%.2g"):format(
      baseline.rooms[1 + i].base_share[1] * math.max(8, math.sqrt(k)))
    same = same and terms[i] == terms[1]
  end
  local all = same and terms[1]
              or table.concat(terms, ", ") .. " at the timed shapes in their order"
  local scaled = not task.exact and (task.scale == "absolute" or not task.scale and task.reduction)
  say("  K, terms summed into an element: %s. s: %s. On ties, integers, denormal%s inputs K "
    .. "stands in place of 8 sqrt(K).", all, scaled and "r of absolute inputs" or "|r|",
    scaled and "" or ", spikes, wide, lognormal")
  say("- RMS error over RMS of the answer, at the timed shapes in their order: at most %s "
    .. "(max(8, sqrt(K)) times the first version's).", table.concat(limits, ", "))
  say("- Every element c of f32, r the float64 reference: |c - r| <= 4 u |r| + min(8 sqrt(K), K) "
    .. "u s + t, u = %.3g (f32), t = %.3g.", 2 ^ -24, 2 ^ -126)
  if language == "cuda" then
    say("  For a kernel with atomic additions, which flush denormal numbers to 0, t = %s.",
        by_atomics(task))
  end
  say("- Timed on %s.", table.concat(baseline.timed_kinds, ", "))
  return set
end

-- Rules of the house, which are numbers by themselves. A line of them is told here again.
local house = {}
for line in ([[
make it faster. Your answer is compiled, checked against a reference in float64, on shapes you do
- Sizes are arbitrary, from 1 up. Never read or write outside the arrays; inputs are read-only.
- Sizes are arbitrary, from 1 up; guard every access. Outputs hold garbage when the launch begins.
- The source is C (gnu11) with GNU extensions; headers of the C library and the compiler's
- Leave open the constants you are not sure of, at most 8, each on a line in place of its
  #define with up to 16 integers up to 2^40, the likeliest first; a dozen settings are tried:
  // kb: tune BLOCK 64 32 128
// kb: scratch partial f32[rows*8]
]]):gmatch "[^\n]+" do house[line] = true end

local function strategy_lines(language)
  local set = {}
  for _, s in ipairs(kb.strategies("strategies/" .. language)) do
    for line in s.prompt:gmatch "[^\n]+" do set[line] = true end
  end
  return set
end

-- The lines about one kernel, from its row and its evaluation.
local function kernel_lines(db, task, machine, language, id)
  local set = {}
  local function say(form, ...) set[form:format(...)] = true end
  local k = db:rows("SELECT * FROM kernels WHERE id = ?", id)[1]
  local e = json.decode(db:rows("SELECT json FROM evaluations WHERE kernel = ? ORDER BY id", id)[1]
                        .json)
  say(k.parent and "# Kernel %d, made from kernel %d in direction ``"
      or "# Kernel %d, the first version", id, k.parent)
  for _, s in ipairs(e.shapes) do
    local work, where = task.work(s.shape), "memory"
    if language == "c" then
      local r = machine.roofline
      where = work.bytes <= r.l1d_bytes and "L1" or work.bytes <= r.l2_bytes and "L2" or "memory"
    end
    local top = math.max(s.compute_share, s.bandwidth_share)
    local name = s.bandwidth_share > s.compute_share and where .. " bandwidth" or "arithmetic"
    local bound = top > 1 and "past the " .. name .. " roof: " .. (name == "arithmetic"
        and "fewer operations than the task counts, or a peak measured beside other work"
        or "part of it comes from a nearer cache")
      or top >= 0.6 and "bound by " .. name or "bound by neither"
    say("- %s: %s%s; %.1f %% of peak arithmetic, %.1f %% of %s bandwidth: %s", s.label,
        duration(s.time_ns), id > 1 and (", %.2fx the first version (%.2f to %.2f)"):format(
          s.speedup, s.speedup_low, s.speedup_high) or "", 100 * s.compute_share,
        100 * s.bandwidth_share, where, bound)
  end
  say("- geometric mean: %.2fx the first version (%.2f to %.2f)", k.speedup, k.speedup_low,
      k.speedup_high)
  local ev, p = e.evidence, e.profile or {}
  local phi = ev.phi
  if ev.hot then
    say(language == "cuda" and "The deepest inner loop, the longest if there are several, as "
        .. "SASS (no samples), %d of its %d instructions:" or "The inner loop a turn of which "
        .. "costs most by instruction counts (no samples), %d of its %d instructions:",
        ev.hot.shown, ev.hot.instructions)
  end
  if language == "c" then
    say("- arithmetic of the inner loops fills %.1f of %d f32 lanes", 16 * phi[4],
        machine.roofline.vector_bytes // 4)
    say("- %.0f %% of the inner loops' memory accesses go to the stack", 100 * phi[7])
    say("- %.0f %% of the inner loops' memory accesses are whole contiguous vectors", 100 * phi[8])
    say("- %.2f instructions a cycle (counted)", 4 * phi[5])
    say("- %.1f %% of cache references miss (counted)", 100 * (1 - phi[1]))
    say("- %.0f %% of arithmetic instructions are fused multiply-adds", 100 * phi[9])
  else
    say("- %d blocks fill %.0f %% of the GPU", p.occupancy.blocks, 100 * p.occupancy.waves)
    say("- occupancy is held to %.0f %% by registers", 100 * p.occupancy.possible)
    say("- warps wait for global or local memory in %.0f %% of stalls", 100 * p.stalls[1].share)
    say("- %d bytes a thread are spilled to local memory", p.spills.local_bytes)
    say("- it moves %.2f times its compulsory bytes", p.traffic.ratio)
    say("- %.0f %% of the bytes moved are used", 100 * phi[8])
    say("- %.0f %% of a warp's threads are active", 100 * phi[4])
    say("- %.0f %% of shared-memory wavefronts come from bank conflicts", 100 * phi[7])
  end
  return set, k
end

local function line_count(a, b)
  local diff = require "kernelband.base.diff"
  return diff.count(diff.lines(a, b))
end

-- What a child's pull brought against its parent, as run.db has it.
local function gain_words(db, row)
  local e = json.decode(db:rows("SELECT json FROM evaluations WHERE kernel = ?", row.child)[1].json)
  local function kernel(id) return db:rows("SELECT * FROM kernels WHERE id = ?", id)[1] end
  local child, parent = kernel(row.child), kernel(row.parent)
  local ratio, low, high = child.speedup / parent.speedup, nil, nil
  if e.against and e.against.kernel == row.parent then
    ratio, low, high = e.against.speedup, e.against.low, e.against.high
  elseif not e.screened then
    local function far(a, b) return math.log(a / b) ^ 2 end
    low = ratio * math.exp(-math.sqrt(far(child.speedup, child.speedup_low)
                                      + far(parent.speedup, parent.speedup_high)))
    high = ratio * math.exp(math.sqrt(far(child.speedup, child.speedup_high)
                                      + far(parent.speedup, parent.speedup_low)))
  end
  local how = (low or ratio) > 1 and "faster: " or (high or ratio) < 1 and "slower: "
              or "no difference shown: "
  return how .. ("%.2fx its parent"):format(ratio) .. (low and (" (%.2f to %.2f)"):format(low, high)
         or " (one look)")
end

-- A line of what was tried, without the names in it, worked out again.
local function tried_line(db, n, where)
  local row = db:rows("SELECT * FROM pulls WHERE n = ?", n)[1]
  local tries = db:rows("SELECT * FROM evaluations WHERE pull = ? ORDER BY id", n)
  local parent = db:rows("SELECT source FROM kernels WHERE id = ?", row.parent)[1].source
  local out = ("- pull %d%s, ``: "):format(n, where and " on kernel " .. row.parent or "")
  local source, tuned, repaired
  for i, e in ipairs(tries) do
    if e.kind ~= "tune" then source = e.source end
    tuned, repaired = tuned or e.kind == "tune" and i - 1, repaired or e.kind == "repair"
  end
  if row.child then
    source = db:rows("SELECT source FROM kernels WHERE id = ?", row.child)[1].source
  end
  if source then out = out .. ("+%d -%d lines"):format(line_count(parent, source)) end
  local settings = {}
  for i = tuned or #tries + 1, #tries do
    local e = json.decode(tries[i].json)
    settings[#settings + 1] = "`` " .. (e.verdict == "ok" and duration(e.time_ns) or e.verdict)
  end
  return { head = out, source = source, reason = row.reason, settings = #settings > 0
    and "  open constants ``, mean time: " .. table.concat(settings, ", "),
    tail = row.child and gain_words(db, row) .. (repaired and " (after a repair)" or "")
           .. ", kernel " .. row.child or nil }
end

local reply = require "kernelband.llm.reply"

-- nil when a line of what was tried is what run.db says.
local function check_tried(db, line, pull)
  local n = tonumber(line:match "^%- pull (%d+)")
  local where = line:find "^%- pull %d+ on kernel" ~= nil
  if not n or n >= pull then return "a pull that has not landed" end
  local want = tried_line(db, n, where)
  if line:sub(1, #want.head) ~= want.head then return "expected " .. want.head end
  if want.tail then
    return line:sub(-#want.tail) ~= want.tail and "expected " .. want.tail or nil
  end
  local quote = line:match '"(.*)"$'
  local reason = reply.excerpt(want.reason or "", 140):gsub('"', "'"):gsub("`[^`]*`", "``")
  return quote ~= reason and 'expected "' .. reason .. '"' or nil
end

local function own_speedup(db, id)
  return db:rows("SELECT speedup FROM kernels WHERE id = ?", id)[1].speedup
end

-- Every number of one question; raises at the first whose origin is not known.
local function check(db, call, at)
  local n, seen = 0, nil
  for _, line in ipairs(own(call.text)) do
    if line:find "%d" then
      n = n + 1
      local why
      if at.fixed[line] or house[line] or at.strategies[line] then
        why = nil
      elseif line:find "^%- pull " then
        why = check_tried(db, line, call.pull)
        seen = tonumber(line:match "%d+")
      elseif line:find "^  open constants" then
        why = line ~= tried_line(db, seen).settings and "other settings" or nil
      elseif line:find "^From its parent, kernel" then
        local k = db:rows("SELECT parent FROM kernels WHERE id = ?", call.kernel)[1]
        why = line ~= ("From its parent, kernel %d:"):format(k.parent) and "another parent" or nil
      elseif line:find "^%- the fastest so far is kernel" then
        local id = tonumber(line:match "kernel (%d+)")
        local k = db:rows("SELECT * FROM kernels WHERE id = ?", id)[1]
        why = (not k or (k.pull or 0) >= call.pull or line ~= ("- the fastest so far is kernel %d: "
          .. "%.2fx the first version (%.2f to %.2f)%s"):format(id, k.speedup, k.speedup_low,
          k.speedup_high, k.speedup <= own_speedup(db, call.kernel) and "; side by side it was "
          .. "faster" or "")) and "another kernel" or nil
      elseif line:find "^%- Inputs, by secret seeds" then
        why = line ~= at.inputs and "other inputs" or nil
      elseif line:find "^// kb: launch" then
        why = not line:find("grid=(cdiv(rows,256)) block=(256) shared=0", 1, true) and "plan" or nil
      else
        local kernel = at.kernels[call.kernel]
          or kernel_lines(db, at.task, at.machine, at.language, call.kernel)
        at.kernels[call.kernel] = kernel
        why = not kernel[line] and "of unknown origin" or nil
      end
      if why then error(("pull %d: %s: %s"):format(call.pull, line, why), 0) end
    end
  end
  return n
end

local legend = "- Inputs, by secret seeds, are normal (z); wide (z * 10^u, u from -3 to 3); "
  .. "uniform (0 to 1); lognormal (exp(1.5 z)); spikes (z, one in 1000 is 100 z); ties (runs "
  .. "of equal values); integers (-8 to 8); denormal (zeros and denormals among z); z is a "
  .. "standard normal."

-- Bytes of a question beside the kernel's source and the assembly.
local function weight(text)
  local n, at = #text, text:find("\n# Kernel", 1, true)
  for _, mark in ipairs { "```c[uda]*\n", "```asm\n" } do
    local first = text:find(mark, at)
    local last = first and text:find("\n```\n", first, true)
    if last then n = n - (last - first) end
  end
  return n
end

local seen, largest = 0, {}

local function examine(name, language, steps, seed, model)
  local out = t.folder() .. "/run"
  local r, asked = questions.search { task = name, language = language, steps = steps, seed = seed,
                                      out = out, answer = model }
  t.equal(r.pulls, steps)
  local db = core.store(out .. "/run.db", "read")
  local machine = questions.machines[language]
  local task = tasks.for_language(kb.task("examples/tasks/" .. name), language)
  local baseline = json.decode(
    db:rows("SELECT json FROM evaluations WHERE kind = 'baseline'")[1].json)
  local at = { task = task, machine = machine, language = language, kernels = {}, inputs = legend,
               fixed = fixed_lines(task, machine, baseline, language),
               strategies = strategy_lines(language) }
  local calls = db:rows [[SELECT c.pull, c.kind, p.parent AS kernel, b.bytes AS text FROM calls c
    JOIN pulls p ON p.n = c.pull JOIN blobs b ON b.hash = c.request ORDER BY c.id]]
  t.equal(#calls, #asked)
  local prefix = asked[1].system .. "\n\n" .. asked[1].stable
  for i, call in ipairs(calls) do
    t.equal(call.text, asked[i].text)
    t.equal(call.text:sub(1, #prefix), prefix)
    if call.kind == "propose" then
      local numbers = check(db, call, at)
      assert(numbers > 20, numbers)
      seen = seen + 1
      local key = name .. " " .. language
      if call.pull <= 30 then largest[key] = math.max(weight(call.text), largest[key] or 0) end
    end
  end
  db:close()
end

local float = "const float *x, float *y, int rows, int cols"
for i, case in ipairs { { "softmax", "c", 60, answers("softmax", float, 1) },
                        { "stencil2d", "c", 60, answers("stencil2d", "float *y", 2) },
                        { "matmul", "c", 50, answers("matmul", "const float *a, float *c", 3) },
                        { "softmax", "cuda", 40, cuda_answers("softmax", 4) } } do
  t.test(("every number of the questions about %s in %s has an origin"):format(case[1], case[2]),
         function() examine(case[1], case[2], case[3], i, case[4]) end)
end

t.test("there were 200 of them, none above 9 kB at pull 30 beside source and assembly", function()
  assert(seen >= 200, seen)
  for name, bytes in pairs(largest) do
    if os.getenv "SHOW" then print(name, bytes) end
    if bytes > 9000 then error(("%s: %d bytes"):format(name, bytes)) end
  end
end)

t.test("a number that stands nowhere is found", function()
  local line = "- geometric mean: 9.99x the first version"
  local at = { fixed = {}, strategies = {}, kernels = { { [line:gsub("9.99", "1.00")] = true } } }
  t.raises("of unknown origin", check, nil, { text = line, pull = 2, kernel = 1 }, at)
end)

t.finish()
