-- report/model.lua - a run folder as the figures a report shows. SQLite adds up,
-- so that a run of 100,000 pulls costs no more memory than one of a hundred:
-- what is drawn item by item is a sample, and the page says so.
local changes  = require "kernelband.base.changes"
local clean    = require "kernelband.report.clean"
local finish   = require "kernelband.search.finish"
local json     = require "kernelband.base.json"
local lists    = require "kernelband.base.lists"
local run      = require "kernelband.store.run"
local strategy = require "kernelband.policy.strategy"
local template = require "kernelband.base.template"
local tried    = require "kernelband.generator.tried"

local model = {}

local DOTS = 700                        -- kernels drawn one by one, at most
local TREE = 150                        -- ... in the search tree
local CALLS = 60                        -- questions and answers shown whole, the newest

-- What the statement of that name (queries.in) gives.
local function rows(m, name, ...)
  return m.reader:rows(template.piece("report/queries." .. name), ...)
end

local function ids(list) return json.encode(lists.collect(list, "id")) end

-- The experiment ---------------------------------------------------------------------

-- A generator in a few words; its identity may be JSON.
local function generator_name(identity)
  local g = json.table(identity)
  if not g then return identity end
  local words = { g.kind or g.name or "generators" }
  if g.kind == "command" and type(g.argv) == "table" then words[2] = g.argv[1] end
  for _, name in ipairs { "provider", "model" } do words[#words + 1] = g[name] end
  for i, part in ipairs(g) do
    words[i + 1] = generator_name(type(part) == "table" and (part.identity or part[1]) or part)
  end
  return table.concat(lists.collect(words, tostring), " ")
end

local machine = { cpu = "string", kernel = "string", libc = "string", compiler = "string",
  landlock_abi = "number", seccomp = "boolean", root = "boolean", device = { name = "string",
    compiler = "string", language = "string", roofline = { isa = "string",
      l1_bytes_per_s = "number", l2_bytes_per_s = "number", dram_bytes_per_s = "number",
      dram_copy_bytes_per_s = "number", f32_flops_per_s = "number" } } }

local function experiment(m)
  local e = m.reader:experiment()
  local id = clean.of(e.identity, { "string" })
  m.experiment, m.state, m.seed = e, e.state, e.seed
  m.options = clean.of(e.options, { device = "string", confirm = "boolean",
                                 budget = { steps = "number" } })
  m.machine = clean.of(e.machine, machine)
  m.device, m.roofline = m.machine.device, m.machine.device.roofline
  m.gpu = m.device.language == "cuda" or m.options.device and m.options.device:find "^cuda" ~= nil
  m.task, m.policy, m.generator = id.task or "?", id.policy or "?", id.generator or "?"
  m.generator_name, m.params = generator_name(m.generator), json.table(id.params) or {}
  m.strategies = lists.words(id.strategies or "")
end

-- Pulls -------------------------------------------------------------------------------

-- Sums over pulls: all, by strategy.
local function totals(m)
  for name, v in pairs(rows(m, "totals")[1]) do m[name] = v end
  if m.generator:find "^replay " then m.usd = 0 end
  m.pulled, m.arms = m.pulls > 0, {}
  for _, r in ipairs(rows(m, "arms")) do m.arms[r.strategy] = r end
  m.strategies = lists.distinct(lists.joined { m.strategies, lists.keys(m.arms) })
end

-- Verdicts, in all and in at most 40 groups of successive pulls.
local function stack(m)
  local size = math.max(1, math.ceil(m.pulls / 40))
  m.verdicts, m.bins = {}, { size = size }
  for _, r in ipairs(rows(m, "verdicts", size)) do
    for i = #m.bins + 1, r.bin + 1 do m.bins[i] = {} end
    m.bins[r.bin + 1][r.verdict] = r.n
    m.verdicts[r.verdict] = (m.verdicts[r.verdict] or 0) + r.n
  end
end

-- Kernels -----------------------------------------------------------------------------

-- The winner, its figures (final: as confirmed; evaluation: as the search saw it), the baseline,
-- and the kernels that lead from the one to the other.
local function winner(m)
  local found = finish.winner(m.reader) or {}         -- {}: the baseline is not measured yet
  m.winner, m.confirmed = found.kernel, found.confirmed
  m.evaluation, m.final = clean.evaluation(found.search_row), clean.evaluation(found.row)
  m.final_row = found.row or { id = "?", kind = "?" }              -- lost with damage
  m.baseline_evaluation = clean.evaluation(m.reader:evaluations("baseline")[1])
  for _, name in ipairs { "speedup", "speedup_low", "speedup_high" } do
    m.final[name] = m.final[name] or m.winner and m.winner[name]
  end
  m.path = rows(m, "path", m.winner and m.winner.id)
end

-- What is drawn one by one: of pulls and of the pool a sample, those on the path always.
local function sample(m)
  m.stride = math.max(1, math.ceil(m.pulls / DOTS))
  m.dots = rows(m, "dots", m.stride)
  m.sample = rows(m, "sample", math.max(1, math.ceil(m.kernels / DOTS)), ids(m.path))
  for _, s in ipairs(m.sample) do
    s.rho, s.h = clean.of(json.table(s.rho), { "number" }), clean.of(json.table(s.h), { "number" })
  end
end

-- Cells of strategy and cluster; clusters beyond the 12 most used are dropped.
local function cells(m)
  m.clusters, m.cells = lists.collect(rows(m, "clusters"), "cluster"), {}
  for _, r in ipairs(rows(m, "cells")) do
    m.cells[r.strategy] = m.cells[r.strategy] or {}
    m.cells[r.strategy][r.cluster] = r
  end
end

-- The resource each strategy is aimed at, as its file of that name says today.
local function targets(m)
  m.targets = {}
  for _, name in ipairs(m.strategies) do
    for _, set in ipairs(name:find "^[%w_]+$" and { "c", "cuda", "cuda_v1" } or {}) do
      local ok, s = pcall(strategy.load, ("strategies/%s/%s.lua"):format(set, name))
      if ok then m.targets[name] = m.targets[name] or s.target end
    end
  end
end

-- Share of the sampled kernels of a cluster that hardware limits would keep a
-- strategy from, by the policy's own parameters; 0 when it has no such mask.
function model.masked(m, name, cluster)
  local target, theta, presses = m.targets[name], m.params.theta_sat, m.params.presses
  if type(theta) == "table" then theta = theta[target or 0] end
  if not target or type(theta) ~= "number"
     or type(presses) == "table" and not lists.contains(presses, name) then return 0 end
  local seen = lists.collect(m.sample, function(k) return k.cluster == cluster and k.h[target] end)
  local full = lists.collect(seen, function(h) return h >= theta end)
  return #seen > 0 and #full / #seen or 0
end

-- Kernels of the search tree by age: the best and the fastest with all that lead to them, TREE of
-- them, or more where the path of the best is longer. Each has `children`, `fell`, the verdicts of
-- its pulls that gave no kernel, and `hidden`, how many of its kernels are not shown.
local function tree(m)
  local by_id = {}
  m.tree = rows(m, "tree", m.winner and m.winner.id, TREE)
  for _, k in ipairs(m.tree) do
    local parent = by_id[k.parent or 0]
    if parent then table.insert(parent.children, k) end
    by_id[k.id], k.children, k.fell, k.hidden = k, {}, {}, 0
  end
  for _, r in ipairs(rows(m, "fell", ids(m.tree))) do
    local k = by_id[r.parent]
    if r.kernels == 0 then table.insert(k.fell, r) else k.hidden = r.kernels - #k.children end
  end
end

-- Questions and answers, with what each child changed and what that brought against its parent,
-- and what all of them took.
local function exchanges(m)
  m.exchanges = { list = rows(m, "exchanges", nil, nil, CALLS), sums = rows(m, "spent")[1] }
  for _, e in ipairs(m.exchanges.list) do
    local parent, child = table.unpack(e.child and rows(m, "pair", e.parent, e.child) or {})
    if child then
      e.change = changes.of(parent.source, child.source)
      e.gain = tried.gain(parent, child, clean.evaluation(m.reader:evaluations(nil, child.id)[1]))
    end
  end
end

-- What is one statement each, by its name in the model.
local function others(m)
  for _, name in ipairs { "curve", "reasons", "events", "logged", "calls", "recorded",
                          "quarantined", "verified" } do
    m[name] = rows(m, name)
  end
  m.baseline = rows(m, "baseline")[1]
end

-- The model of the run in a folder, or of what is left of a damaged one; raises where none is.
-- stamp changes whenever the journal does; nil comes back where it is still the one that is given.
function model.load(folder, how, stamp)
  local reader <close> = run.reader(folder, how or "anyway")
  local m = { reader = reader, folder = reader.folder, damage = reader.damage,
              name = reader.folder:match "([^/]+)$" or reader.folder }
  m.stamp = rows(m, "stamp")[1].stamp
  if m.stamp == stamp then return nil end
  for _, part in ipairs { experiment, totals, stack, winner, sample, cells, targets, tree,
                          exchanges, others } do
    part(m)
  end
  m.reader = nil
  return m
end

return model
