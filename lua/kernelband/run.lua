-- run.lua - the folder of a run: run.db (the journal), best.<ext>,
-- result.json. Everything is written as it happens, one transaction a pull, so
-- a process that dies loses the pull in flight and nothing else. Policy state is
-- never stored: search.lua rebuilds it by replaying the pulls.

local core = require "kernelband.core"
local json = require "kernelband.json"
local schema = require "kernelband.schema"

local run = {}

local VERSION = 1

local tables = [[
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  script TEXT, args TEXT NOT NULL, directory TEXT NOT NULL,
  identity TEXT NOT NULL, options TEXT NOT NULL, machine TEXT NOT NULL,
  seed INTEGER NOT NULL, started TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('running', 'done', 'interrupted', 'failed'))) STRICT;
CREATE TABLE kernels (
  id INTEGER PRIMARY KEY, pull INTEGER, parent INTEGER REFERENCES kernels (id),
  strategy TEXT, depth INTEGER NOT NULL, time_ns REAL NOT NULL,
  speedup REAL NOT NULL, speedup_low REAL NOT NULL,
  speedup_high REAL NOT NULL, params TEXT, source TEXT NOT NULL) STRICT;
CREATE TABLE pulls (
  n INTEGER PRIMARY KEY, landed INTEGER NOT NULL UNIQUE,
  parent INTEGER NOT NULL REFERENCES kernels (id), strategy TEXT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT, child INTEGER REFERENCES kernels (id),
  reward REAL NOT NULL, mean REAL, exploration REAL, psi REAL,
  cluster INTEGER, seconds REAL NOT NULL, usd REAL NOT NULL,
  at_s REAL NOT NULL) STRICT;
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN
    ('baseline', 'pull', 'confirm')),
  pull INTEGER, kernel INTEGER REFERENCES kernels (id),
  params TEXT, source TEXT, json TEXT NOT NULL) STRICT;
CREATE INDEX evaluation_of ON evaluations (pull);
CREATE TABLE events (
  id INTEGER PRIMARY KEY, at_s REAL NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL) STRICT;
]]

local resumed                           -- real path of the folder to go on with

-- Switches resuming on for one folder, and says which: kb.search calls whose
-- `out` is that folder go on with it instead of refusing it.
function run.resuming(dir)
  if dir then resumed = assert(core.system.realpath(dir)) end
  return resumed
end

local function strip(path) return (path:gsub("(.)/+$", "%1")) end

-- Whether a folder holds something to lose: a journal that has its baseline, or
-- a run.db that is not ours to judge. A start that failed leaves neither.
local function holds_run(folder)
  local file = folder .. "/run.db"
  if not core.system.exists(file) then return false end
  local db = core.store(file)
  local rows = db and db:rows "SELECT count(*) AS n FROM kernels"
  if db then db:close() end
  return not rows or rows[1].n > 0
end

-- The first of stem, stem-2, stem-3 .. that holds no run yet; while resuming, the
-- folder being resumed if it is one of them.
function run.fresh(stem)
  stem = strip(stem)
  local n, path = 1, stem
  while holds_run(path) do
    if resumed and core.system.realpath(path) == resumed then return path end
    n = n + 1
    path = stem .. "-" .. n
  end
  return path
end

-- What the world refused while the run was being written.
local function broken(folder, why)
  error(("%s: %s; what was written before stays readable. Make room, then: "
         .. "kernelband resume %s"):format(folder, why, folder), 0)
end

local function nothing() end

-- A run that leaves no trace on disk, for ablations.
local function memory()
  return { past = {}, baseline = nothing, pull = nothing, confirm = nothing,
           event = nothing, best = nothing, finish = nothing, fail = nothing, close = nothing }
end

local function text_of(params) return params and json.encode(params) end

local function check_version(db, folder)
  local found = db:rows("PRAGMA user_version")
  local version = found and found[1].user_version
  if version ~= VERSION then
    schema.raise("%s/run.db has format %s, this kernelband reads format %d", folder,
           tostring(version), VERSION)
  end
end

-- The recorded experiment of a folder, for `kernelband resume`; nil, why.
function run.experiment(folder)
  if core.system.exists(folder .. "/run.db") ~= "file" then
    return nil, folder .. " holds no run (there is no run.db in it)"
  end
  local db, why = core.store(folder .. "/run.db")
  if not db then return nil, why end
  local rows
  rows, why = db:rows("SELECT * FROM experiment")
  db:close()
  if not rows or not rows[1] then
    return nil, ("%s/run.db is not the journal of a run%s"):format(folder,
      why and ": " .. why or "")
  end
  rows[1].args = json.decode(rows[1].args)
  return rows[1]
end

-- The pulls in the order they landed, each with its evaluation decoded.
local function load_past(db, folder)
  local rows, why = db:rows [[
    SELECT p.*, e.json, e.params, e.source FROM pulls p
    LEFT JOIN evaluations e ON e.pull = p.n AND e.kind = 'pull'
    ORDER BY p.landed]]
  if not rows then broken(folder, why) end
  for _, row in ipairs(rows) do
    row.evaluation = row.json and json.decode(row.json)
    row.params = row.params and json.decode(row.params)
    row.json = nil
  end
  return rows
end

-- A recorded identity is a flat table of texts; the first that differs tells
-- why the journal cannot be gone on with.
local function check_identity(folder, was, now)
  for _, key in ipairs { "task", "baseline", "strategies", "policy", "params",
                         "generator", "parallel", "seed" } do
    if was[key] ~= now[key] then
      schema.raise("%s was recorded with %s %s, and this is %s; resume with what it "
        .. "was recorded with, or choose another out", folder, key,
        tostring(was[key]), tostring(now[key]))
    end
  end
end

local function open_db(folder, spec)
  local file = folder .. "/run.db"
  local held = core.system.exists(file)
  local resume = held and resumed ~= nil
                 and core.system.realpath(folder) == resumed
  if not resume and holds_run(folder) then
    schema.raise("%s already holds a run: go on with it by `kernelband resume %s`, "
      .. "or choose another out", folder, folder)
  end
  local ok, why = core.system.mkdir_p(folder)
  if not ok then schema.raise("%s: cannot create the folder: %s", folder, why) end
  local db
  db, why = core.store(file)
  if not db then broken(folder, why) end
  if resume then
    check_version(db, folder)
    local old = db:rows("SELECT identity FROM experiment")
    if not old or not old[1] then
      schema.raise("%s/run.db is not the journal of a run", folder)
    end
    check_identity(folder, json.decode(old[1].identity), spec.identity)
    ok, why = db:exec("UPDATE experiment SET state = 'running'")
  else
    ok, why = true, nil
    if not held then
      ok, why = db:exec("BEGIN;" .. tables
                        .. "PRAGMA user_version = " .. VERSION .. ";COMMIT")
    end
    ok = ok and db:exec([[INSERT OR REPLACE INTO experiment VALUES
      (1, ?, ?, ?, ?, ?, ?, ?, ?, 'running')]], spec.script,
      json.encode(spec.args), core.system.realpath("."),
      json.encode(spec.identity), json.encode(spec.options),
      json.encode(spec.machine), spec.seed, os.date("!%Y-%m-%dT%H:%M:%SZ"))
  end
  if not ok then broken(folder, why or "the journal could not be started") end
  return db, resume
end

local insert = {
  kernel = "INSERT INTO kernels VALUES (?,?,?,?,?,?,?,?,?,?,?)",
  pull = "INSERT INTO pulls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
  evaluation = "INSERT INTO evaluations VALUES (NULL,?,?,?,?,?,?)",
  event = "INSERT INTO events VALUES (NULL,?,?,?)",
}

-- Opens spec.out (nil: in memory). spec: out, ext, seed, script, args, options,
-- machine, identity. The journal's functions raise when the disk refuses.
--   past       pulls recorded before, in the order they landed
--   baseline(kernel, evaluation)            pull(pull, evaluation as JSON)
--   confirm(kernel, evaluation)             event(kind, text)
--   best(source)  finish(state, result)     close()
function run.open(spec)
  if not spec.out then return memory() end
  local folder = strip(spec.out)
  local db, resume = open_db(folder, spec)
  local began, offset = core.system.now_ns(), 0
  local journal = { folder = folder, past = {}, resumed = resume,
                    best_path = folder .. "/best." .. spec.ext }

  local function exec(...)
    local ok, why = db:exec(...)
    if not ok then
      db:exec("ROLLBACK")
      broken(folder, why)
    end
  end

  if resume then
    journal.past = load_past(db, folder)
    local last = journal.past[#journal.past]
    offset = last and last.at_s or 0
    local first = db:rows("SELECT json FROM evaluations WHERE kind = 'baseline'")
    if first and first[1] then
      journal.recorded_baseline = json.decode(first[1].json)
    end
  end

  function journal.elapsed_s()
    return offset + (core.system.now_ns() - began) / 1e9
  end

  local function kernel_row(k, pull)
    exec(insert.kernel, k.id, pull, k.parent, k.strategy, k.depth,
         k.time_ns + 0.0, k.speedup + 0.0, k.speedup_low + 0.0,
         k.speedup_high + 0.0, text_of(k.params), k.source)
  end

  function journal.baseline(kernel, evaluation)
    exec("BEGIN")
    kernel_row(kernel, nil)
    exec(insert.evaluation, "baseline", nil, kernel.id, nil, nil,
         json.encode(evaluation))
    exec("COMMIT")
  end

  -- evaluation: JSON, nil for a pull without a candidate.
  function journal.pull(p, evaluation)
    local terms, candidate = p.terms or {}, p.candidate
    exec("BEGIN")
    if p.child then kernel_row(p.child, p.n) end
    exec(insert.pull, p.n, p.landed, p.parent.id, p.strategy_name, p.verdict,
         p.reason, p.child and p.child.id, p.reward + 0.0, terms.mean,
         terms.exploration, terms.psi, terms.cluster, p.cost.seconds + 0.0,
         p.cost.usd + 0.0, journal.elapsed_s())
    if candidate then
      exec(insert.evaluation, "pull", p.n, p.child and p.child.id,
           text_of(candidate.params), candidate.source, evaluation)
    end
    exec("COMMIT")
  end

  function journal.confirm(kernel, evaluation)
    exec(insert.evaluation, "confirm", nil, kernel.id, nil, nil,
         json.encode(evaluation))
  end

  function journal.event(kind, text)
    exec(insert.event, journal.elapsed_s(), kind, text)
  end

  function journal.best(source)
    local ok, why = core.system.write_file(journal.best_path, source)
    if not ok then broken(folder, why) end
  end

  function journal.finish(state, result)
    if result then
      local ok, why = core.system.write_file(folder .. "/result.json",
                                             json.encode(result) .. "\n")
      if not ok then broken(folder, why) end
    end
    exec("UPDATE experiment SET state = ?", state)
  end

  -- For the way out after a failure: the disk may be the reason for it.
  function journal.fail(state, why)
    db:exec "ROLLBACK"                  -- what it broke off, if anything
    db:exec(insert.event, journal.elapsed_s(), state, why)
    db:exec("UPDATE experiment SET state = ?", state)
  end

  function journal.close() db:close() end

  return journal
end

return run
