-- search/pool.lua - the kernels of a search: the verified ones, the best of them, and the
-- sources that need no second evaluation.
--
--   pool[id]              a kernel as policies see it, 1 is the baseline's
--   pool.best, pool.best_evaluation, pool.best_times_ns (of its timed shapes)
--   pool.baseline_ns, pool.baseline_evaluation

local core   = require "kernelband.core"
local normal = require "kernelband.base.source".normal

local pool = {}
pool.__index = pool

-- Vectors of the evidence and their lengths; h has names instead.
local features = { { "phi", 9 }, { "rho", 6 }, { "signature", 5 } }

-- Verdicts that a source would get again.
local final = { build_failed = true, launch_failed = true, wrong = true, cheated = true }

-- of_task: sources of a task of ours differ where their code does.
function pool.new(of_task)
  return setmetatable({ of_task = of_task, known = {}, tried = {}, kinds = {} }, pool)
end

-- Kernels ---------------------------------------------------------------------------

-- Most kernels share what kinds of evidence they have: it is kept once.
local function shared(self, kinds, key)
  key = key or table.concat(kinds, ",")
  self.kinds[key] = self.kinds[key] or kinds
  return self.kinds[key]
end

-- Its time is the baseline's over its speed-up, both measured side by side, so that a drift
-- of the machine cancels.
function pool:new_kernel(parent, strategy, candidate, evaluation)
  local speedup = evaluation.speedup or 1
  local k = {
    id = #self + 1, parent = parent and parent.id, strategy = strategy,
    source = candidate.source, params = candidate.params,
    depth = parent and parent.depth + 1 or 0,
    time_ns = self.baseline_ns / speedup, speedup = speedup,
    speedup_low = evaluation.speedup_low or speedup,
    speedup_high = evaluation.speedup_high or speedup, note = {},
    profile = evaluation.profile,
  }
  local evidence = evaluation.evidence or {}
  k.h, k.h_kind = evidence.h or {}, evidence.h_kind or {}
  k.h_kind = shared(self, k.h_kind, ("%s;%s;%s"):format(k.h_kind.sm, k.h_kind.dram, k.h_kind.l2))
  for _, f in ipairs(features) do
    local name, kind = f[1], f[1] .. "_kind"
    k[name], k[kind] = evidence[name], evidence[kind] or {}
    if not k[name] then
      k[name] = {}
      for i = 1, f[2] do k[name][i], k[kind][i] = 0, "missing" end
    end
    k[kind] = shared(self, k[kind])
  end
  return k
end

-- What was timed side by side with the best so far is judged by that; else both by
-- their gains over the baseline. What is slower than the baseline is never the best.
local function better(self, kernel, evaluation)
  local best, pair = self.best, evaluation.against
  if not best then return true end
  if kernel.speedup_low <= 1 then return false end
  if pair and pair.kernel == best.id then return pair.low > 1 end
  return kernel.speedup_low > best.speedup_low
end

-- Returns true when the kernel is the best so far.
function pool:add(kernel, evaluation)
  self[kernel.id] = kernel
  kernel.hash = self:hash(kernel.source)
  self.known[kernel.hash] = kernel.id
  if evaluation.declared then self.known[evaluation.declared] = kernel.id end
  if not better(self, kernel, evaluation) then return false end
  self.best, self.best_evaluation, self.best_times_ns = kernel, evaluation, {}
  for _, shape in ipairs(evaluation.shapes or {}) do
    if shape.role == "timed" then
      self.best_times_ns[#self.best_times_ns + 1] = shape.time_ns
    end
  end
  return true
end

-- A long search may have more sources than memory: once source_of(id) has a kernel's, it is
-- read back when somebody asks for it.
function pool:forget_source(kernel, source_of)
  self.lazy = self.lazy or { __index = function(k, key)
    return key == "source" and source_of(k.id) or nil
  end }
  kernel.source = nil
  setmetatable(kernel, self.lazy)
end

-- Sources ----------------------------------------------------------------------------

function pool:hash(source) return core.system.hash(self.of_task and normal(source) or source) end

-- Takes a source for pull p; or says who has it.
function pool:claim(p, source)
  local hash = self:hash(source)
  local id, n = self.known[hash], self.tried[hash]
  if id then return ("the generator gave kernel %d again"):format(id) end
  if n and n ~= p.n then return ("the generator gave the candidate of pull %d again"):format(n) end
  self.tried[hash] = p.n
  p.hashes[#p.hashes + 1] = hash
end

-- Pull p is over: its sources are free again, but for those that failed for what they are.
-- declared(attempt): the hash of what a candidate was before its constants had values.
function pool:release(p, declared)
  for _, hash in ipairs(p.hashes) do self.tried[hash] = nil end
  for _, a in ipairs(p.attempts) do
    if final[a.evaluation and a.evaluation.verdict or a.verdict] then
      self.tried[self:hash(a.candidate.source)] = p.n
      local before = a.kind ~= "tune" and declared(a)
      if before then self.tried[before] = p.n end
    end
  end
end

return pool
