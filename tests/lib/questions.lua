-- questions.lua - searches whose questions the specs read: tasks of examples/ with an evaluator
-- that makes up times by a seeded stream, and a model that answers by another. Evaluations have
-- all that a worker's have; nothing is built, nothing is timed.
local ask   = require "kernelband.generator.ask"
local core  = require "kernelband.core"
local kb    = require "kernelband"
local tasks = require "kernelband.task"

local questions = {}

questions.machines = {
  c = { name = "cpu:1", cpu = "Made-up CPU 9", language = "c", compiler = "cc 12.2.0",
        flags = "-std=gnu11 -O3", roofline = { f32_flops_per_s = 1.03e11,
        f64_flops_per_s = 5.14e10, l1_bytes_per_s = 2.01e11, l2_bytes_per_s = 1.02e11,
        dram_bytes_per_s = 2.56e10, dram_copy_bytes_per_s = 1.9e10, isa = "avx2+fma",
        vector_bytes = 32, clock_hz = 3.04e9, l1d_bytes = 49152, l2_bytes = 2097152,
        l3_bytes = 33554432 } },
  cuda = { name = "Made-up GPU", language = "cuda", compiler = "NVRTC 13.0", flags = "--gpu-arch",
           arch = 90, sm_count = 132, sm_threads = 2048, sm_registers = 65536,
           sm_shared_bytes = 233472, block_shared_bytes = 232448, l2_bytes = 52428800,
           memory_bytes = 150 << 30, roofline = { f32_flops_per_s = 5.1e13,
           dram_bytes_per_s = 4.1e12, dram_copy_bytes_per_s = 3.9e12 } },
  triton = { language = "triton" },
}

local function features(r, n)
  local out, kinds = {}, {}
  for i = 1, n do
    out[i] = r:uniform()
    kinds[i] = r:below(4) == 0 and "missing" or "derived"
  end
  return out, kinds
end

local function evidence(r, language)
  local e = { h = { sm = 10, dram = 20 }, h_kind = { sm = "derived", dram = "derived" } }
  e.phi, e.phi_kind = features(r, 9)
  e.rho, e.rho_kind = features(r, 6)
  e.signature, e.signature_kind = features(r, 5)
  if language == "c" and r:below(3) > 0 then
    e.hot = { text = "   0  vaddps     %ymm0,%ymm1,%ymm1\n   4  jne        +0", shown = 2,
              instructions = 2 + r:below(90), calls = r:below(2) == 0 and { "expf" } or {} }
    e.remarks = { "line 12: not vectorised: statement clobbers memory: expf (_16);" }
  end
  if language == "cuda" then
    e.hot = { text = "   0  LDG.E R0, [R2.64]\n  10  @!P0 BRA +0", shown = 2, sass = true,
              instructions = 2 + r:below(90) }
  end
  return e
end

local function profile(r)
  return { occupancy = { waves = r:uniform() * 2, blocks = 1 + r:below(400), limiter = "registers",
                         possible = r:uniform() },
           stalls = { { reason = "long_scoreboard", share = r:uniform() } },
           spills = { local_bytes = r:below(2) * 64 }, traffic = { ratio = 1 + 2 * r:uniform() } }
end

-- An evaluation of a kernel `speed` times as fast as the baseline.
local function evaluation(task, r, speed, language)
  local out = { verdict = "ok", shapes = {}, evidence = evidence(r, language), screened = false,
                seconds = { total = 0.5 } }
  local log, low, high = 0, 0, 0
  for i, shape in ipairs(task.shapes and task.shapes.timed or { {}, {} }) do
    local s = speed * math.exp(0.1 * r:normal())
    local base = 1e5 * 3 ^ i
    local wide = 0.01 + 0.03 * r:uniform()
    local cells = {}
    for k, name in ipairs(task.shape_names or {}) do
      cells[k] = ("%s=%d"):format(name, shape[name])
    end
    out.shapes[i] = { role = "timed", shape = shape, label = #cells > 0 and table.concat(cells, " ")
      or "case " .. i, time_ns = base / s, baseline_ns = base, speedup = s,
      speedup_low = s * math.exp(-wide), speedup_high = s * math.exp(wide),
      compute_share = task.args and r:uniform() or nil,
      bandwidth_share = task.args and 1.1 * r:uniform() or nil }
    log, low, high = log + math.log(s), low + wide, high + wide
  end
  local n = #out.shapes
  out.speedup = math.exp(log / n)
  out.speedup_low = out.speedup * math.exp(-low / n)
  out.speedup_high = out.speedup * math.exp(high / n)
  out.time_ns, out.baseline_ns = 1e6 / out.speedup, 1e6
  if language == "cuda" then out.profile = profile(r) end
  return out
end

local function baseline(task, r, language)
  local out = evaluation(task, r, 1, language)
  for _, s in ipairs(out.shapes) do
    s.speedup, s.speedup_low, s.speedup_high, s.time_ns = 1, 1, 1, s.baseline_ns
  end
  out.speedup, out.speedup_low, out.speedup_high, out.time_ns = 1, 1, 1, 1e6
  out.timed_kinds = { "normal", "uniform" }
  out.rooms = { { ns = 1 } }
  for i = 1, #out.shapes do out.rooms[1 + i] = { base_share = { 1e-8 * (i + r:uniform()) } } end
  return out
end

local function speed_of(source)
  local speed = tonumber(source:match "SPEED ([%d.]+)") or 1
  local block = tonumber(source:match "#define BLOCK (%d+)")
  return speed * (block and 1 + block / 100 or 1)
end

-- What the words in a source ask for, and what the stream adds.
local function judge(task, r, source, options, language)
  if source:find "BROKEN" then
    return { verdict = "build_failed", reason = "kernel.c:3: error: 'x7' undeclared",
             log = "kernel.c: In function 'f':\nkernel.c:3: error: 'x7' undeclared" }
  elseif source:find "WRONG" then
    return { verdict = "wrong", reason = "rows=3 cols=5: 2 of 15 elements wrong, y[4] = 0.25" }
  end
  local e = evaluation(task, r, speed_of(source), language)
  e.screened = options.incumbent ~= nil and speed_of(source) < speed_of(options.incumbent) / 1.25
  if options.incumbent and not e.screened and r:below(2) == 0 then
    local s = speed_of(source) / speed_of(options.incumbent) * math.exp(0.01 * r:normal())
    e.against = { speedup = s, low = s * 0.98, high = s * 1.02 }
  end
  return e
end

-- options: task (a folder of examples/tasks), language, steps, seed, out, answer =
-- function(question, n, about) returning the answer's text, strategies.
-- Returns the result and the list of { text, pull, kind, stable, system, fresh, ms }.
function questions.search(options)
  local language = options.language or "c"
  local task = options.task
  if type(task) == "string" then
    task = tasks.for_language(kb.task("examples/tasks/" .. task), language)
  end
  local r, asked = core.rng(options.seed or 1), {}
  local source = options.source or language ~= "triton" and tasks.source(task, "baseline")
                 or task.source
  local evaluator = { close = function() end }
  function evaluator.baseline() return baseline(task, r, language) end
  function evaluator.machine() return questions.machines[language] end
  function evaluator.evaluate(candidate, more)
    return judge(task, r, candidate.source, more or {}, language)
  end
  local function exchange(question, _, about)
    asked[#asked + 1] = { text = question.text, pull = about.pull, kind = about.kind,
                          system = question.system, stable = question.stable,
                          fresh = question.fresh }
    return { text = options.answer(question, #asked, about), finish = "stop" }, nil, nil,
           { provider = "made-up", total_s = 1 }
  end
  local generator = ask.generator { name = "made-up", identity = "made-up", origin = "made-up",
    options = { repair = 1 }, begin = function() return exchange end }
  local with = setmetatable({ environment = function()
    return { strategies = kb.strategies("strategies/" .. language), evaluator = evaluator,
             source = source, generator = generator }
  end }, { __index = task })
  local result = kb.search { task = with, policy = options.policy or "policies/random.lua",
    generator = generator, budget = { steps = options.steps or 1 }, seed = options.seed or 1,
    strategies = options.strategies and kb.strategies(options.strategies) or nil,
    quiet = true, confirm = false, out = options.out }
  return result, asked
end

return questions
