-- journals.lua - journals of searches that never were, written by the engine's own
-- journal: as long as wanted, with whatever texts are wanted in them.
local core = require "kernelband.core"
local json = require "kernelband.base.json"
local run  = require "kernelband.store.run"

local journals = {}

local kinds = {}
for i = 1, 9 do kinds[i] = "derived" end

-- profile: as on a GPU with counters.
local function evaluation(rng, speedup, profile)
  return {
    verdict = "ok", time_ns = 1e6 / speedup, baseline_ns = 1e6, speedup = speedup,
    speedup_low = speedup * 0.98, speedup_high = speedup * 1.02, seconds = { total = 0.5 },
    shapes = { { label = "n=1", role = "timed", time_ns = 1e6 / speedup, baseline_ns = 1e6,
                 flops = 4e6, bytes = 1e6, speedup = speedup,
                 speedup_low = speedup * 0.98, speedup_high = speedup * 1.02,
                 samples_ns = { 1e6 / speedup, 1.01e6 / speedup } } },
    evidence = {
      phi = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 }, phi_kind = kinds,
      rho = { math.log(1e6 / speedup), 10 + rng:normal(), 1 + 8 * rng:uniform(), 8, 8, 0.5 },
      rho_kind = kinds, h = { sm = 95, dram = 50, l2 = 20 },
      signature = { 1 / speedup, 0.5, 0.5, 0.5, 0.5 } },
    profile = profile and { counters = { dram_bytes = 2e6, sm_pct = 40 }, traffic = {
      dram_bytes = 2e6 }, bottleneck = { text = "DRAM: 80 % of its peak" } } or nil,
  }
end

local names = { "tiling", "vectorization", "fusion", "pipeline", "reordering", "access_layout" }
journals.strategies = names

-- Opens without an fsync a pull: nobody will cut this power.
local function fast(open, spec)
  local store = core.store
  core.store = function(...)
    local db, why, code = store(...)
    if db then db:exec "PRAGMA synchronous = OFF" end
    return db, why, code
  end
  local ok, j = pcall(open, spec)
  core.store = store
  return ok and j or error(j, 0)
end

-- o: pulls, seed, task, policy, texts = function(kind, i) -> text or nil, for kind
-- "source", "reason", "strategy"; usd a pull; calls = true; profile = true.
function journals.write(folder, o)
  local rng = core.rng(o.seed or 7)
  local function text(kind, i, usual) return o.texts and o.texts(kind, i) or usual end
  local j = fast(run.open, {
    out = folder, ext = "c", seed = o.seed or 7, args = { "a b" }, version = "test",
    script = "/nowhere/x.lua", machine = core.system.host(), hashes = {},
    options = { budget = { steps = o.pulls }, device = "cpu" },
    identity = { task = text("task", 0, o.task or "made"),
      strategies = table.concat(names, " "), generator = "made",
      policy = text("policy", 0, o.policy or "kernelband"), parallel = "1",
      seed = tostring(o.seed or 7), baseline = "0",
      params = '{"theta_sat":90,"clusters":3,"presses":["pipeline"]}' } })
  j.machine { name = "made", compiler = "cc", language = o.profile and "cuda" or "c",
    roofline = { f32_flops_per_s = 1e11,
    l1_bytes_per_s = 2e11, l2_bytes_per_s = 1e11, dram_bytes_per_s = 3e10,
    dram_copy_bytes_per_s = 3e10, isa = "avx2" } }
  local kernels = { { id = 1, speedup = 1, speedup_low = 1, speedup_high = 1, time_ns = 1e6,
                      depth = 0, params = { tile = 0, unroll = 0 },
                      source = text("source", 0, "void f(void)\n{\n}\n") } }
  j.baseline(kernels[1], evaluation(rng, 1, o.profile))
  for i = 1, o.pulls do
    local parent = kernels[1 + rng:below(#kernels)]
    local ok = rng:uniform() < 0.6
    local speedup = parent.speedup * math.exp(0.15 * rng:normal())
    local e = ok and evaluation(rng, speedup, o.profile) or {
      verdict = rng:uniform() < 0.5 and "wrong"
      or "build_failed", reason = text("reason", i, "x.c:" .. 1 + rng:below(30)), shapes = {} }
    local strategy = text("strategy", i, names[1 + rng:below(#names)])
    local usual = ("void f(void)\n{\n    /* %d */\n}\n"):format(i)
    local candidate = { source = text("source", i, usual),
                        params = { tile = i % 7, unroll = i % 3 } }
    local child = ok and { id = #kernels + 1, parent = parent.id, strategy = strategy,
      depth = parent.depth + 1, time_ns = 1e6 / speedup, speedup = speedup,
      speedup_low = speedup * 0.98, speedup_high = speedup * 1.02, source = candidate.source,
      params = candidate.params } or nil
    if o.calls then
      j.call { pull = i, attempt = 1, kind = "propose", provider = "made", model = "m",
               request = "prompt " .. i, answer = text("answer", i, "answer " .. i),
               tokens_in = 10, tokens_out = 5, usd = o.usd }
    end
    local a = { kind = "pull", candidate = candidate, evaluation = e, text = json.encode(e) }
    j.pull({ n = i, landed = i, parent = parent, strategy_name = strategy, verdict = e.verdict,
             reason = e.reason, child = child, evaluation = e, kept = a, started_s = 0,
             reward = ok and math.max(-1, 1 - parent.speedup / speedup) or -1,
             terms = { cluster = 1 + rng:below(3), mean = 0, exploration = 0, psi = 0 },
             cost = { seconds = 0.5, usd = o.usd or 0, tokens_in = 0, tokens_out = 0 } }, { a })
    if child then kernels[#kernels + 1] = child end
  end
  j.event("warning", text("event", 0, "nothing to worry about"))
  j.event(o.state or "done", "")
  j.state(o.state or "done")
  j.close()
  return kernels
end

return journals
