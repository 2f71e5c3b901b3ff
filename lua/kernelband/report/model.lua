-- report/model.lua - a run folder as the figures a report shows. SQLite adds up,
-- so that a run of 100,000 pulls costs no more memory than one of a hundred:
-- what is drawn item by item is a sample, and the page says so.
local clean     = require "kernelband.report.clean"
local exchanges = require "kernelband.report.exchanges"
local finish    = require "kernelband.search.finish"
local json      = require "kernelband.base.json"
local lists     = require "kernelband.base.lists"
local run       = require "kernelband.store.run"
local strategy  = require "kernelband.policy.strategy"

local model = {}

local DOTS = 700                        -- kernels drawn one by one, at most
local TREE = 150                        -- ... in the search tree

local function rows(m, ...) return m.reader:rows(...) end

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
  for name, v in pairs(rows(m, [[SELECT count(*) AS pulls, coalesce(max(at_s), 0) AS elapsed_s,
      total(seconds) AS busy_s, count(child) AS ok, total(tokens_in) AS tokens_in,
      total(tokens_out) AS tokens_out, CASE WHEN count(usd) = count(*) THEN total(usd) END AS usd,
      max(count(DISTINCT cluster) - 12, 0) AS more_clusters, (SELECT count(*) FROM kernels)
      AS kernels, (SELECT min(speedup) FROM kernels) AS slowest, (SELECT max(speedup) FROM kernels)
      AS fastest FROM pulls]])[1]) do m[name] = v end
  if m.generator:find "^replay " then m.usd = 0 end
  m.pulled, m.arms = m.pulls > 0, {}
  for _, r in ipairs(rows(m, [[SELECT strategy, count(*) AS n, count(child) AS ok,
      avg(reward) AS mean FROM pulls GROUP BY 1 ORDER BY 1]])) do
    m.arms[r.strategy] = r
    table.insert(m.strategies, r.strategy)
  end
  m.strategies = lists.distinct(m.strategies)
end

-- Verdicts, in all and in at most 40 groups of successive pulls, in the order they landed.
local function stack(m)
  local size = math.max(1, math.ceil(m.pulls / 40))
  m.verdicts, m.bins = {}, { size = size }
  for _, r in ipairs(rows(m, [[SELECT (landed - 1) / ? AS bin, verdict, count(*) AS n
      FROM pulls GROUP BY 1, 2 ORDER BY 1]], size)) do
    for i = #m.bins + 1, r.bin + 1 do m.bins[i] = {} end
    m.bins[r.bin + 1][r.verdict] = r.n
    m.verdicts[r.verdict] = (m.verdicts[r.verdict] or 0) + r.n
  end
end

-- The pulls that improved on the best: the best is the largest lower end, as in
-- the search itself.
local function curve(m)
  m.curve = rows(m, [[WITH landed AS (
      SELECT p.landed, p.at_s, p.strategy, k.id, k.speedup, k.speedup_low, k.speedup_high,
        sum(p.usd) OVER w AS usd, max(k.speedup_low) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING
          AND 1 PRECEDING) AS before
      FROM pulls p LEFT JOIN kernels k ON k.id = p.child WINDOW w AS (ORDER BY p.landed))
    SELECT * FROM landed WHERE id IS NOT NULL AND speedup_low > max(coalesce(before, 0),
      1.0, (SELECT speedup_low FROM kernels WHERE id = 1)) ORDER BY landed]])
  m.stride = math.max(1, math.ceil(m.pulls / DOTS))
  m.dots = rows(m, [[SELECT p.n, p.landed, p.strategy, k.id, k.speedup,
      CASE WHEN k.id THEN 'ok' ELSE p.verdict END AS verdict
    FROM pulls p LEFT JOIN kernels k ON k.id = p.child WHERE p.landed % ? = 0
    ORDER BY p.landed]], m.stride)
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
  m.path = rows(m, [[WITH RECURSIVE up AS (SELECT * FROM kernels WHERE id = ? UNION ALL
    SELECT k.* FROM up JOIN kernels k ON k.id = up.parent AND k.id < up.id LIMIT 1000)
    SELECT * FROM up ORDER BY id]], m.winner and m.winner.id)
  m.baseline = rows(m, "SELECT * FROM kernels WHERE id = 1")[1]
end

-- A sample of the pool with its features, and the bytes that counters saw moved; those on the
-- path always.
local function sample(m)
  m.sample = rows(m, ([[WITH c AS (SELECT parent, cluster, max(n) FROM pulls
      WHERE cluster IS NOT NULL GROUP BY parent)
    SELECT k.id, k.speedup, k.strategy, f.rho, f.h, c.cluster, CASE WHEN json_valid(f.profile)
      THEN json_extract(f.profile, '$.traffic.dram_bytes') END AS moved
    FROM kernels k LEFT JOIN c ON c.parent = k.id LEFT JOIN profiles f ON f.kernel = k.id
    WHERE k.id %% ? = 0 OR k.id IN (%s) ORDER BY k.id]]):format(
    table.concat(lists.collect(m.path, "id"), ",")), math.max(1, math.ceil(m.kernels / DOTS)))
  for _, s in ipairs(m.sample) do
    s.rho, s.h = clean.of(json.table(s.rho), { "number" }), clean.of(json.table(s.h), { "number" })
  end
end

-- Cells of strategy and cluster; clusters beyond the 12 most used are dropped.
local function cells(m)
  m.clusters, m.cells = lists.collect(rows(m, [[SELECT cluster FROM (SELECT cluster FROM pulls
    WHERE cluster IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 12) ORDER BY 1]]),
    "cluster"), {}
  for _, r in ipairs(rows(m, [[SELECT strategy, cluster, count(*) AS n, count(child) AS ok,
      avg(reward) AS mean FROM pulls WHERE cluster IS NOT NULL GROUP BY 1, 2]])) do
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
  m.tree = rows(m, [[WITH RECURSIVE
    best AS (SELECT id, parent, row_number() OVER (ORDER BY id = ?1 DESC, speedup_low DESC, id)
      AS place FROM kernels ORDER BY place LIMIT ?2),
    up AS (SELECT * FROM best UNION SELECT k.id, k.parent, place FROM up
      JOIN kernels k ON k.id = up.parent AND k.id < up.id LIMIT 100000)
    SELECT * FROM kernels WHERE id IN (SELECT id FROM up GROUP BY id ORDER BY min(place), id
      LIMIT max(?2, (SELECT count(*) FROM up WHERE place = 1))) ORDER BY id]],
    m.winner and m.winner.id, TREE)
  for _, k in ipairs(m.tree) do
    local parent = by_id[k.parent or 0]
    if parent then table.insert(parent.children, k) end
    by_id[k.id], k.children, k.fell, k.hidden = k, {}, {}, 0
  end
  for _, r in ipairs(rows(m, ([[SELECT parent, verdict, count(*) AS n, count(child) AS kernels,
      min(reason) AS reason FROM pulls WHERE parent IN (%s) GROUP BY 1, child IS NULL, 2
      ORDER BY 1, 2]]):format(table.concat(lists.collect(m.tree, "id"), ",")))) do
    local k = by_id[r.parent]
    if r.kernels == 0 then table.insert(k.fell, r) else k.hidden = r.kernels - #k.children end
  end
end

-- Model calls, with what recorded answers cost when they were recorded.
local calls = [[(SELECT *, usd_source IS 'recorded' AS recorded, CASE WHEN usd_source = 'recorded'
  AND json_valid(usage) THEN json_extract(usage, '$.recorded_usd') END AS then_usd FROM calls)]]

-- Lists that are one statement each, by their names in the model: the ten most frequent reasons of
-- failure, the events, model calls by who answered, those that were recorded, evaluations whose
-- times were taken twice, and what kernelband verify found.
local statements = {
  reasons = [[SELECT verdict, substr(reason, 1, 300) AS reason, count(*) AS n, min(n) AS first
    FROM pulls WHERE child IS NULL GROUP BY 1, 2 ORDER BY 3 DESC, 4 LIMIT 10]],
  events = [[SELECT id, at_s, kind, substr(text, 1, 500) AS text FROM events
    WHERE kind <> 'policy' ORDER BY id DESC LIMIT 30]],
  logged = [[SELECT id, at_s, substr(text, 1, 500) AS text FROM events
    WHERE kind = 'policy' ORDER BY id DESC LIMIT 100]],
  calls = [[SELECT provider, coalesce(model_returned, model) AS model, count(*) AS n,
      count(error) AS failed, total(tokens_in) AS tokens_in, total(tokens_cached) AS cached,
      total(tokens_out) AS tokens_out, sum(total_s) AS seconds, sum(recorded) AS recorded,
      CASE WHEN count(usd) = count(*) - count(error) THEN total(usd) END AS usd,
      CASE WHEN count(then_usd) = sum(recorded) THEN total(then_usd) END AS recorded_usd
    FROM ]] .. calls .. " GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20",
  recorded = [[SELECT count(*) AS answers,
      CASE WHEN count(then_usd) = count(*) THEN total(then_usd) END AS usd
    FROM ]] .. calls .. " WHERE recorded GROUP BY recorded",
  quarantined = [[SELECT id, kind, kernel,
      substr(json_extract(json, '$.quarantined'), 1, 300) AS why
    FROM evaluations WHERE CASE WHEN instr(json, '"quarantined"') = 0 OR NOT json_valid(json)
      THEN 0 ELSE json_type(json, '$.quarantined') = 'text' END ORDER BY id DESC LIMIT 12]],
  verified = [[SELECT kernel, verdict, json FROM evaluations WHERE kind = 'verify'
    ORDER BY id DESC LIMIT 5]],
}

local function others(m)
  for name, sql in pairs(statements) do m[name] = rows(m, sql) end
  m.exchanges = exchanges.collect(m.reader)
end

-- The model of the run in a folder, or of what is left of a damaged one; raises where none is.
-- stamp changes whenever the journal does; nil comes back where it is still the one that is given.
function model.load(folder, how, stamp)
  local reader <close> = run.reader(folder, how or "anyway")
  local m = { reader = reader, folder = reader.folder, damage = reader.damage,
              name = reader.folder:match "([^/]+)$" or reader.folder }
  m.stamp = rows(m, [[SELECT printf('%s %d %d %d %f', state, (SELECT count(*) FROM pulls),
    (SELECT max(id) FROM evaluations), (SELECT max(id) FROM events),
    (SELECT max(at_s) FROM events)) AS stamp FROM experiment]])[1].stamp
  if m.stamp == stamp then return nil end
  for _, part in ipairs { experiment, totals, stack, curve, winner, sample, cells, targets, tree,
                          others } do
    part(m)
  end
  m.reader = nil
  return m
end

return model
