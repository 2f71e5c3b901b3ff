-- report/model.lua - a run folder as the figures a report shows. SQLite adds up,
-- so that a run of 100,000 pulls costs no more memory than one of a hundred:
-- what is drawn item by item is a sample, and the page says so.
local lists     = require "kernelband.base.lists"
local core      = require "kernelband.core"
local exchanges = require "kernelband.report.exchanges"
local json      = require "kernelband.base.json"
local run       = require "kernelband.store.run"
local schema    = require "kernelband.base.schema"
local finish    = require "kernelband.search.finish"

local model = {}

local DOTS = 700                        -- kernels drawn one by one, at most
local TREE = 150                        -- ... in the search tree

local function rows(m, ...) return m.reader:rows(...) end

local function one(m, ...) return rows(m, ...)[1] or {} end

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

local function experiment(m)
  local e = m.reader:experiment()
  m.experiment, m.state, m.seed = e, e.state, e.seed
  local id, device = e.identity, e.machine.device
  m.task, m.policy = tostring(id.task or "?"), tostring(id.policy or "?")
  m.generator, m.params = tostring(id.generator or "?"), json.table(id.params) or {}
  m.generator_name = generator_name(m.generator)
  m.replay = m.generator:find "^replay " ~= nil
  if type(device) ~= "table" then
    device = (json.table(core.system.read_file(m.folder .. "/result.json")) or {}).machine
  end
  m.device = type(device) == "table" and device or nil
  local roofline = m.device and m.device.roofline
  m.roofline = type(roofline) == "table" and roofline or nil
  m.gpu = m.device and m.device.language == "cuda"
          or tostring(e.options.device):find "^cuda" ~= nil
  m.strategies = {}
  for name in tostring(id.strategies or ""):gmatch "%S+" do
    m.strategies[#m.strategies + 1] = name
  end
end

-- Sums over pulls: all, by strategy, by verdict.
local function totals(m)
  local t = one(m, [[SELECT count(*) AS n, max(at_s) AS at_s, sum(seconds) AS seconds,
    count(child) AS ok, count(usd) AS priced, sum(usd) AS usd, sum(tokens_in) AS tokens_in,
    sum(tokens_out) AS tokens_out, (SELECT count(*) FROM kernels) AS kernels FROM pulls]])
  m.pulls, m.elapsed_s, m.busy_s, m.ok = t.n, t.at_s or 0, t.seconds or 0, t.ok
  m.tokens_in, m.tokens_out, m.kernels = t.tokens_in, t.tokens_out, t.kernels
  if m.replay then m.usd = 0 elseif t.priced == t.n then m.usd = t.usd or 0 end
  m.verdicts, m.arms = {}, {}
  local known = lists.places(m.strategies)
  for _, r in ipairs(rows(m, [[SELECT strategy, verdict, count(*) AS n, sum(reward) AS reward
      FROM pulls GROUP BY strategy, verdict ORDER BY 1, 2]])) do
    m.verdicts[r.verdict] = (m.verdicts[r.verdict] or 0) + r.n
    if not known[r.strategy] then m.strategies[#m.strategies + 1] = r.strategy end
    known[r.strategy] = true
    local arm = m.arms[r.strategy] or { n = 0, reward = 0, verdicts = {} }
    m.arms[r.strategy] = arm
    arm.n, arm.reward = arm.n + r.n, arm.reward + r.reward
    arm.verdicts[r.verdict] = r.n
  end
end

-- Verdicts in at most 40 groups of successive pulls, in the order they landed.
local function stack(m)
  local size = math.max(1, math.ceil(m.pulls / 40))
  m.bins = { size = size }
  for _, r in ipairs(rows(m, [[SELECT (landed - 1) / ? AS bin, verdict, count(*) AS n
      FROM pulls GROUP BY 1, 2 ORDER BY 1]], size)) do
    for i = #m.bins + 1, r.bin + 1 do m.bins[i] = {} end
    m.bins[r.bin + 1][r.verdict] = r.n
  end
end

-- The pulls that improved on the best: the best is the largest lower end, as in
-- the search itself.
local function curve(m)
  m.curve = rows(m, [[
    WITH landed AS (
      SELECT p.landed, p.at_s, p.strategy, k.id, k.speedup, k.speedup_low, k.speedup_high,
        sum(p.usd) OVER w AS usd,
        max(k.speedup_low) OVER (ORDER BY p.landed ROWS BETWEEN UNBOUNDED PRECEDING
                                 AND 1 PRECEDING) AS before
      FROM pulls p LEFT JOIN kernels k ON k.id = p.child
      WINDOW w AS (ORDER BY p.landed))
    SELECT * FROM landed WHERE id IS NOT NULL AND speedup_low > max(coalesce(before, 0),
      1.0, (SELECT speedup_low FROM kernels WHERE id = 1)) ORDER BY landed]])
  m.stride = math.max(1, math.ceil(m.pulls / DOTS))
  m.dots = rows(m, [[SELECT p.n, p.landed, p.at_s, p.strategy, p.verdict, k.id, k.speedup
    FROM pulls p LEFT JOIN kernels k ON k.id = p.child WHERE p.landed % ? = 0
    ORDER BY p.landed]], m.stride)
end

local function kernel(m, id) return rows(m, "SELECT * FROM kernels WHERE id = ?", id)[1] end

-- What a row of the table evaluations says, with its number and kind; nil where it is broken.
local function evaluation(row)
  local e = row and row.evaluation
  if type(e) ~= "table" then return nil end
  e.row, e.kind = row.id, row.kind
  e.shapes = type(e.shapes) == "table" and e.shapes or {}
  return e
end

-- The winner, its figures (final: as confirmed; evaluation: as the search saw it), the baseline,
-- and the kernels that lead from the one to the other.
local function winner(m)
  m.final, m.path = { shapes = {} }, {}
  local found = finish.winner(m.reader)
  if not found then return end          -- the baseline has not been measured yet
  local w = found.kernel
  m.winner, m.baseline, m.confirmed = w, kernel(m, 1), found.confirmed
  m.baseline_evaluation = evaluation(m.reader:evaluations("baseline")[1])
  m.evaluation = evaluation(found.search_row)
  m.final = evaluation(found.row) or m.final
  for _, name in ipairs { "speedup", "speedup_low", "speedup_high" } do
    if type(m.final[name]) ~= "number" then m.final[name] = w[name] end
  end
  local at = w
  while at and #m.path < 1000 do
    table.insert(m.path, 1, at)
    at = at.parent and at.parent < at.id and kernel(m, at.parent)
  end
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
  for _, s in ipairs(m.sample) do s.rho, s.h = json.table(s.rho), json.table(s.h) end
end

-- Cells of strategy and cluster; clusters beyond the 12 most used are dropped.
local function cells(m)
  m.clusters, m.cells = {}, {}
  for i, r in ipairs(rows(m, [[SELECT cluster FROM pulls WHERE cluster IS NOT NULL GROUP BY 1
      ORDER BY count(*) DESC, 1]])) do
    if i > 12 then m.more_clusters = i - 12 else m.clusters[i] = r.cluster end
  end
  table.sort(m.clusters)
  local place = lists.places(m.clusters)
  for _, r in ipairs(rows(m, [[SELECT strategy, cluster, count(*) AS n, count(child) AS ok,
      avg(reward) AS mean FROM pulls WHERE cluster IS NOT NULL GROUP BY 1, 2]])) do
    m.cells[r.strategy] = m.cells[r.strategy] or {}
    if place[r.cluster] then m.cells[r.strategy][place[r.cluster]] = r end
  end
end

local sets = { "strategies/c/", "strategies/cuda/", "strategies/cuda_v1/" }

-- The resource a strategy is aimed at: as recorded, else as its file of that
-- name says today.
function model.target(m, name)
  local told = type(m.experiment.options.targets) == "table" and m.experiment.options.targets
  if told then return told[name] end
  m.targets = m.targets or {}
  if m.targets[name] == nil then
    m.targets[name] = false
    for _, set in ipairs(name:find "^[%w_]+$" and sets or {}) do
      local ok, s = pcall(require("kernelband.policy.strategy").load, set .. name .. ".lua")
      if ok then m.targets[name] = s.target break end
    end
  end
  return m.targets[name] or nil
end

-- Share of the sampled kernels of a cluster that hardware limits would keep a
-- strategy from, by the policy's own parameters; nil when it has no such mask.
function model.masked(m, name, cluster)
  local target, theta = model.target(m, name), m.params.theta_sat
  if type(theta) == "table" then theta = target and theta[target] end
  if not target or type(theta) ~= "number" then return nil end
  local presses = m.params.presses
  if type(presses) == "table" and not schema.contains(presses, name) then return 0 end
  local seen, full = 0, 0
  for _, k in ipairs(m.sample) do
    local h = k.cluster == cluster and k.h and k.h[target]
    if type(h) == "number" then
      seen, full = seen + 1, full + (h >= theta and 1 or 0)
    end
  end
  return seen > 0 and full / seen or nil
end

-- Ids of the kernels to show: the path of the best, then the fastest with all that lead to
-- them, until TREE are in.
local function shown(m)
  local is_in, list = {}, {}
  local function take(id)
    local chain = {}
    while id and not is_in[id] and #chain < 1000 do
      chain[#chain + 1] = id
      local parent = one(m, "SELECT parent FROM kernels WHERE id = ?", id).parent
      id = parent and parent < id and parent
    end
    if #list + #chain > TREE and #list > 0 then return end
    for _, i in ipairs(chain) do
      is_in[i] = true
      list[#list + 1] = i
    end
  end
  if m.winner then take(m.winner.id) end
  for _, r in ipairs(rows(m, "SELECT id FROM kernels ORDER BY speedup_low DESC, id LIMIT ?",
                          TREE)) do
    take(r.id)
  end
  return table.concat(list, ",")
end

-- Kernels of the search tree. Each has `children`, `fell`, the verdicts of its pulls that gave
-- no kernel, and `hidden`, how many of its kernels are not shown.
local function tree(m)
  local ids, by_id = shown(m), {}
  m.tree = rows(m, ([[SELECT *, (SELECT count(*) FROM kernels c WHERE c.parent = k.id) AS hidden
    FROM kernels k WHERE id IN (%s) ORDER BY id]]):format(ids))
  for _, k in ipairs(m.tree) do
    k.children, k.fell, by_id[k.id] = {}, {}, k
    local parent = k.parent ~= k.id and by_id[k.parent]
    if parent then
      table.insert(parent.children, k)
      parent.hidden = parent.hidden - 1
    end
  end
  for _, r in ipairs(rows(m, ([[SELECT parent, verdict, count(*) AS n, min(reason) AS reason
      FROM pulls WHERE parent IN (%s) AND child IS NULL GROUP BY 1, 2 ORDER BY 1, 2]]):format(
      ids))) do
    table.insert(by_id[r.parent].fell, r)
  end
end

-- The ten most frequent reasons of failure; and the events.
local function reasons(m)
  m.reasons = rows(m, [[SELECT verdict, substr(reason, 1, 300) AS reason, count(*) AS n,
    min(n) AS first FROM pulls WHERE child IS NULL GROUP BY 1, 2 ORDER BY 3 DESC, 4 LIMIT 10]])
  m.events = rows(m, [[SELECT id, at_s, kind, substr(text, 1, 500) AS text FROM events
    WHERE kind <> 'policy' ORDER BY id DESC LIMIT 30]])
  m.logged = rows(m, [[SELECT id, at_s, substr(text, 1, 500) AS text FROM events
    WHERE kind = 'policy' ORDER BY id DESC LIMIT 100]])
end

local function calls(m)
  m.calls = rows(m, [[SELECT provider, coalesce(model_returned, model) AS model,
      count(*) AS n, count(error) AS failed, sum(tokens_in) AS tokens_in,
      sum(tokens_cached) AS cached, sum(tokens_out) AS tokens_out, sum(usd) AS usd,
      count(usd) AS priced, sum(total_s) AS seconds, sum(usd_source = 'recorded') AS recorded,
      sum(then_usd) AS recorded_usd, count(then_usd) AS known
    FROM (SELECT *, CASE WHEN usd_source = 'recorded' AND json_valid(usage)
      THEN json_extract(usage, '$.recorded_usd') END AS then_usd FROM calls)
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20]])
  local all = { n = 0, usd = 0, known = 0 }
  for _, c in ipairs(m.calls) do
    all.n, all.known = all.n + (c.recorded or 0), all.known + c.known
    all.usd = all.usd + (c.recorded_usd or 0)
  end
  m.recorded = all.n > 0 and { answers = all.n, usd = all.known == all.n and all.usd or nil } or nil
end

-- Evaluations whose times were taken twice, and those of kernelband verify.
local function second_looks(m)
  m.quarantined = rows(m, [[SELECT id, kind, kernel, substr(json_extract(json,
      '$.quarantined'), 1, 300) AS why
    FROM evaluations WHERE CASE WHEN instr(json, '"quarantined"') = 0 OR NOT json_valid(json)
      THEN 0 ELSE json_type(json, '$.quarantined') = 'text' END ORDER BY id DESC LIMIT 12]])
  m.verified = {}
  local all = m.reader:evaluations "verify"
  for i = #all, math.max(1, #all - 4), -1 do table.insert(m.verified, all[i]) end
end

-- The model of the run in a folder, or of what is left of a damaged one; raises where none is.
function model.load(folder, how)
  local reader <close> = run.reader(folder, how or "anyway")
  local m = { reader = reader, folder = reader.folder, damage = reader.damage,
              name = reader.folder:match "([^/]+)$" or reader.folder }
  for _, part in ipairs { experiment, totals, stack, curve, winner, sample, cells, tree, reasons,
                          calls, second_looks } do
    part(m)
  end
  m.exchanges = exchanges.collect(reader)
  m.reader = nil
  return m
end

-- A text that changes whenever the journal does, for the live page; nil when it cannot be read.
function model.stamp(folder)
  local ok, stamp = pcall(function()
    local reader <close> = run.reader(folder, "unchecked")
    return reader:rows([[SELECT printf('%s %d %d %d %f', state, (SELECT count(*) FROM pulls),
      (SELECT max(id) FROM evaluations), (SELECT max(id) FROM events),
      (SELECT max(at_s) FROM events)) AS stamp FROM experiment]])[1].stamp
  end)
  return ok and stamp or nil
end

return model
