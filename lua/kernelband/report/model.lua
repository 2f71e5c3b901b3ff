-- report/model.lua - a run folder as the figures a report shows. SQLite adds up,
-- so that a run of 100,000 pulls costs no more memory than one of a hundred:
-- what is drawn one by one is a sample, and says so. Reads the journal of
-- any format, in one transaction, while the run goes on or after it.
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local exchanges = require "kernelband.report.exchanges"
local run     = require "kernelband.store.run"
local verdict = require "kernelband.evaluate.verdict"

local model = {}

local DOTS = 700                        -- kernels drawn one by one, at most

local function rows(m, sql, ...) return m.journal:rows(sql, ...) end

local function one(m, sql, ...) return rows(m, sql, ...)[1] or {} end

-- JSON of the journal; nil for what is absent or broken.
local function decode(text)
  if type(text) ~= "string" then return nil end
  local ok, value = pcall(json.decode, text)
  return ok and type(value) == "table" and value or nil
end

local function experiment(m)
  local e = m.journal:experiment()
  m.experiment, m.state, m.seed = e, e.state, e.seed
  local id = e.identity
  m.task, m.policy = tostring(id.task or "?"), tostring(id.policy or "?")
  m.generator, m.params = tostring(id.generator or "?"), decode(id.params) or {}
  m.replay = m.generator:find "^replay " ~= nil
  m.strategies = {}
  for name in tostring(id.strategies or ""):gmatch "%S+" do
    m.strategies[#m.strategies + 1] = name
  end
end

-- Sums over pulls: all, by strategy, by verdict, by cluster.
local function totals(m)
  local t = one(m, "SELECT count(*) AS n, max(at_s) AS at_s, sum(seconds) AS seconds, "
    .. "count(child) AS ok, count(usd) AS priced, sum(usd) AS usd, "
    .. "sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out FROM pulls")
  m.pulls, m.elapsed_s, m.busy_s, m.ok = t.n, t.at_s or 0, t.seconds or 0, t.ok
  m.usd = (m.replay or t.priced == t.n) and (not m.replay and t.usd or 0) or nil
  m.tokens_in, m.tokens_out = t.tokens_in, t.tokens_out
  m.kernels = one(m, "SELECT count(*) AS n FROM kernels").n
  m.verdicts, m.arms = {}, {}
  local known = {}
  for _, name in ipairs(m.strategies) do known[name] = true end
  for _, r in ipairs(rows(m, "SELECT strategy, verdict, count(*) AS n, sum(reward) AS reward, "
      .. "max(reward) AS most FROM pulls GROUP BY strategy, verdict ORDER BY 1, 2")) do
    m.verdicts[r.verdict] = (m.verdicts[r.verdict] or 0) + r.n
    if not known[r.strategy] then
      known[r.strategy] = true
      m.strategies[#m.strategies + 1] = r.strategy
    end
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
  for _, r in ipairs(rows(m, "SELECT (landed - 1) / ? AS bin, verdict, count(*) AS n "
      .. "FROM pulls GROUP BY 1, 2 ORDER BY 1", size)) do
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
  local stride = math.max(1, math.ceil(m.pulls / DOTS))
  m.stride = stride
  m.dots = rows(m, [[SELECT p.n, p.landed, p.at_s, p.strategy, p.verdict, k.id, k.speedup
    FROM pulls p LEFT JOIN kernels k ON k.id = p.child WHERE p.landed % ? = 0
    ORDER BY p.landed]], stride)
end

local kernel_columns = "id, pull, parent, strategy, depth, time_ns, speedup, speedup_low, "
                       .. "speedup_high, params"

local function kernel(m, id)
  local k = one(m, "SELECT " .. kernel_columns .. ", source FROM kernels WHERE id = ?", id)
  return k.id and k or nil
end

-- What a row of the table evaluations says, with its number and kind; nil where it is broken.
local function evaluation(row)
  local e = row and row.evaluation
  if type(e) ~= "table" then return nil end
  e.row, e.kind = row.id, row.kind
  e.shapes = type(e.shapes) == "table" and e.shapes or {}
  return e
end

-- The confirmed kernel, else the best so far; and the figures that stand for it. Where
-- none stood that was looked at again, it is the baseline.
local function winner(m)
  local found = verdict.winner(m.journal)
  if not found then return end          -- the baseline has not been measured yet
  local w = found.kernel
  m.winner, m.baseline, m.confirmed = w, kernel(m, 1), found.confirmed
  m.baseline_evaluation = evaluation(m.journal:evaluations("baseline")[1])
  m.evaluation = evaluation(found.search_row)
  m.final = evaluation(found.row) or { shapes = {} }
  for _, name in ipairs { "speedup", "speedup_low", "speedup_high" } do
    if type(m.final[name]) ~= "number" then m.final[name] = w[name] end
  end
  m.path = {}
  local at = w
  while at and #m.path < 1000 do
    table.insert(m.path, 1, at)
    at = at.parent and at.parent < at.id and kernel(m, at.parent) or nil
  end
end

-- A sample of the pool with its features; those on the path always.
local function sample(m)
  local stride = math.max(1, math.ceil(m.kernels / DOTS))
  local keep = {}
  for i, k in ipairs(m.path or {}) do keep[i] = ("%d"):format(k.id) end
  m.sample = rows(m, ([[WITH c AS (SELECT parent, cluster, max(n) FROM pulls
      WHERE cluster IS NOT NULL GROUP BY parent)
    SELECT k.id, k.speedup, k.strategy, f.rho, f.h, CASE WHEN json_valid(f.profile)
      THEN json_extract(f.profile, '$.traffic.dram_bytes') END AS moved, c.cluster
    FROM kernels k LEFT JOIN c ON c.parent = k.id LEFT JOIN profiles f ON f.kernel = k.id
    WHERE k.id %% %d = 0 OR k.id IN (%s) ORDER BY k.id]]):format(stride,
    table.concat(keep, ",")))
  for _, s in ipairs(m.sample) do s.rho, s.h = decode(s.rho), decode(s.h) end
end

-- Cells of strategy and cluster; clusters past the 12 most used are told apart no more.
local function cells(m)
  m.clusters, m.cells = {}, {}
  local place = {}
  for i, r in ipairs(rows(m, "SELECT cluster, count(*) AS n FROM pulls WHERE cluster "
      .. "IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1")) do
    if i > 12 then m.more_clusters = i - 12 else m.clusters[i] = r.cluster end
  end
  table.sort(m.clusters)
  for i, c in ipairs(m.clusters) do place[c] = i end
  for _, r in ipairs(rows(m, "SELECT strategy, cluster, count(*) AS n, count(child) AS ok, "
      .. "avg(reward) AS mean FROM pulls WHERE cluster IS NOT NULL GROUP BY 1, 2")) do
    local row = m.cells[r.strategy] or {}
    m.cells[r.strategy] = row
    if place[r.cluster] then row[place[r.cluster]] = r end
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
  if type(m.params.presses) == "table" then
    local presses = false
    for _, s in ipairs(m.params.presses) do presses = presses or s == name end
    if not presses then return 0 end
  end
  local seen, full = 0, 0
  for _, k in ipairs(m.sample) do
    local h = k.cluster == cluster and k.h and k.h[target]
    if type(h) == "number" then
      seen, full = seen + 1, full + (h >= theta and 1 or 0)
    end
  end
  return seen > 0 and full / seen or nil
end

-- Kernels of the search tree: the path of the best, then the fastest with all
-- that lead to them, until `most` are in. Each has `fell`, the verdicts of its
-- pulls that gave no kernel, and `hidden`, its kernels that are not shown.
local function tree(m, most)
  local ranked = rows(m, "SELECT id FROM kernels ORDER BY speedup_low DESC, id LIMIT ?", most)
  local shown, list = {}, {}
  local function take(id)
    local chain = {}
    while id and not shown[id] and #chain < 1000 do
      chain[#chain + 1] = id
      local k = one(m, "SELECT parent FROM kernels WHERE id = ?", id)
      id = k.parent and k.parent < id and k.parent or nil
    end
    if #list + #chain > most and #list > 0 then return end
    for i = #chain, 1, -1 do
      shown[chain[i]] = true
      list[#list + 1] = chain[i]
    end
  end
  for _, k in ipairs(m.path or {}) do take(k.id) end
  for _, r in ipairs(ranked) do take(r.id) end
  table.sort(list)
  m.tree = { shown = shown }
  local by_id = {}
  for i, id in ipairs(list) do
    local k = one(m, "SELECT " .. kernel_columns .. " FROM kernels WHERE id = ?", id)
    k.children, k.fell, k.hidden = {}, {}, 0
    by_id[id], m.tree[i] = k, k
    if k.parent and by_id[k.parent] then
      local siblings = by_id[k.parent].children
      siblings[#siblings + 1] = k
    end
  end
  local function holders(sql, note)
    local ids = table.concat(list, ",")
    for _, r in ipairs(#list > 0 and rows(m, sql:format(ids)) or {}) do
      note(by_id[r.parent], r)
    end
  end
  holders("SELECT parent, verdict, count(*) AS n, min(reason) AS reason FROM pulls WHERE "
          .. "parent IN (%s) AND child IS NULL GROUP BY 1, 2 ORDER BY 1, 2",
          function(k, r) k.fell[#k.fell + 1] = r end)
  holders("SELECT parent, count(*) AS n FROM kernels WHERE parent IN (%s) GROUP BY 1",
          function(k, r) k.hidden = r.n - #k.children end)
end

-- What went wrong, grouped by what was said; the ten most frequent.
local function reasons(m)
  m.reasons = rows(m, [[SELECT verdict, substr(reason, 1, 300) AS reason, count(*) AS n,
    min(n) AS first FROM pulls WHERE child IS NULL GROUP BY 1, 2
    ORDER BY 3 DESC, 4 LIMIT 10]])
  m.events = rows(m, "SELECT id, at_s, kind, substr(text, 1, 500) AS text FROM events "
                     .. "WHERE kind <> 'policy' ORDER BY id DESC LIMIT 30")
  m.logged = rows(m, "SELECT id, at_s, substr(text, 1, 500) AS text FROM events "
                     .. "WHERE kind = 'policy' ORDER BY id DESC LIMIT 100")
end

local function calls(m)
  m.calls = rows(m, [[SELECT provider, coalesce(model_returned, model) AS model,
    count(*) AS n, count(error) AS failed, sum(tokens_in) AS tokens_in,
    sum(tokens_cached) AS cached, sum(tokens_out) AS tokens_out, sum(usd) AS usd,
    count(usd) AS priced, sum(total_s) AS seconds, sum(usd_source = 'recorded') AS recorded,
    sum(CASE WHEN usd_source = 'recorded' AND json_valid(usage)
        THEN json_extract(usage, '$.recorded_usd') END) AS recorded_usd,
    count(CASE WHEN usd_source = 'recorded' AND json_valid(usage)
          THEN json_extract(usage, '$.recorded_usd') END) AS known FROM calls
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20]])
  local all = { n = 0, usd = 0, known = 0 }
  for _, c in ipairs(m.calls) do
    local answered = c.n - c.failed
    if m.replay and (c.recorded or 0) == 0 then -- before 0 was what a recorded answer costs
      c.recorded, c.known, c.recorded_usd = answered, c.priced, c.usd
      c.usd, c.priced = 0, answered
    end
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
  for i, r in ipairs(rows(m, "SELECT kernel, verdict, json FROM evaluations "
      .. "WHERE kind = 'verify' ORDER BY id DESC LIMIT 5")) do
    local e = decode(r.json) or {}
    m.verified[i] = { kernel = r.kernel, verdict = r.verdict, confirmed = e.confirmed == true,
      speedup = e.speedup, low = e.speedup_low, high = e.speedup_high,
      reason = type(e.not_confirmed) == "string" and e.not_confirmed or nil }
  end
end

local function roofline(m)
  local device = m.experiment.machine.device
  if type(device) ~= "table" then
    local result = decode(core.system.read_file(m.folder .. "/result.json"))
    device = result and result.machine
  end
  m.device = type(device) == "table" and device or nil
  local r = m.device and m.device.roofline
  m.roofline = type(r) == "table" and r or nil
end

local function collect(m)
  experiment(m)
  totals(m)
  stack(m)
  curve(m)
  winner(m)
  sample(m)
  cells(m)
  tree(m, 150)
  reasons(m)
  calls(m)
  m.exchanges = exchanges.collect(function(...) return rows(m, ...) end)
  second_looks(m)
  roofline(m)
end

local function open(folder, how)
  local j = run.reader(folder, how or "anyway")
  return { folder = j.folder, name = j.folder:match "([^/]+)$" or j.folder, journal = j,
           damage = j.damage }
end

-- Everything of the run in a folder, or what is left of it; raises when there is none.
function model.load(folder, how)
  local m = open(folder, how)
  local _ <close> = m.journal
  collect(m)
  m.journal = nil
  return m
end

-- What changes whenever the journal does, cheaply: for the live page. nil when
-- it cannot be read now.
function model.stamp(folder)
  local ok, stamp = pcall(function()
    local m = open(folder, "unchecked")
    local _ <close> = m.journal
    local e = one(m, "SELECT state FROM experiment")
    local p = one(m, "SELECT count(*) AS n FROM pulls")
    local v = one(m, "SELECT max(id) AS n FROM evaluations")
    local t = one(m, "SELECT max(id) AS n, max(at_s) AS at_s FROM events")
    return ("%s %s %s %s %s"):format(e.state, p.n, v.n, t.n, t.at_s)
  end)
  return ok and stamp or nil
end

return model
