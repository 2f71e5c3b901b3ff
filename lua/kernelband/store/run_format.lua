-- store/run_format.lua - the tables of a run.db, and how those of older formats
-- become them.

local core = require "kernelband.core"
local schema = require "kernelband.base.schema"

local format = { version = 2 }

format.tables = [[
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  script TEXT, script_text TEXT, args TEXT NOT NULL, directory TEXT NOT NULL,
  identity TEXT NOT NULL, options TEXT NOT NULL, machine TEXT NOT NULL,
  version TEXT NOT NULL, hashes TEXT NOT NULL, clocks TEXT NOT NULL,
  seed INTEGER NOT NULL, started TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('running', 'paused', 'done', 'interrupted', 'failed'))) STRICT;
CREATE TABLE kernels (
  id INTEGER PRIMARY KEY, pull INTEGER, parent INTEGER REFERENCES kernels (id),
  strategy TEXT, depth INTEGER NOT NULL, time_ns REAL NOT NULL,
  speedup REAL NOT NULL, speedup_low REAL NOT NULL,
  speedup_high REAL NOT NULL, params TEXT, source TEXT NOT NULL,
  hash TEXT) STRICT;
CREATE TABLE pulls (
  n INTEGER PRIMARY KEY, landed INTEGER NOT NULL UNIQUE,
  parent INTEGER NOT NULL REFERENCES kernels (id), strategy TEXT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT, child INTEGER REFERENCES kernels (id),
  reward REAL NOT NULL, mean REAL, exploration REAL, psi REAL,
  cluster INTEGER, score REAL, seconds REAL NOT NULL, usd REAL,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
  started_s REAL NOT NULL, at_s REAL NOT NULL) STRICT;
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN
    ('baseline', 'pull', 'repair', 'tune', 'confirm', 'verify')),
  pull INTEGER, kernel INTEGER REFERENCES kernels (id),
  params TEXT, source TEXT, verdict TEXT NOT NULL, json TEXT NOT NULL) STRICT;
CREATE INDEX evaluation_of ON evaluations (pull);
CREATE TABLE profiles (
  kernel INTEGER PRIMARY KEY REFERENCES kernels (id), phi TEXT, rho TEXT,
  h TEXT, signature TEXT, profile TEXT, bound TEXT) STRICT;
CREATE TABLE calls (
  id INTEGER PRIMARY KEY, pull INTEGER, attempt INTEGER, kind TEXT,
  provider TEXT, model TEXT, model_returned TEXT, request_id TEXT,
  started_s REAL, first_s REAL, total_s REAL, http_status INTEGER,
  finish TEXT, tokens_in INTEGER, tokens_cached INTEGER,
  tokens_cache_write INTEGER, tokens_out INTEGER, tokens_reasoning INTEGER,
  usd REAL, usd_source TEXT, attempts INTEGER, error TEXT, usage TEXT,
  request TEXT REFERENCES blobs (hash), answer TEXT REFERENCES blobs (hash))
  STRICT;
CREATE INDEX call_of ON calls (pull);
CREATE TABLE blobs (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY, at_s REAL NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL) STRICT;
]]

local names = { "experiment", "kernels", "pulls", "evaluations", "events" }

-- Format 1 told as format 2: what it did not know is absent or empty.
local from_1 = {
  experiment = [[SELECT id, script, NULL AS script_text, args, directory, identity,
    options, machine, '0.1' AS version, '{}' AS hashes, '{}' AS clocks, seed,
    started, state FROM %s]],
  kernels = "SELECT *, NULL AS hash FROM %s",
  pulls = [[SELECT n, landed, parent, strategy, verdict, reason, child, reward, mean,
    exploration, psi, cluster, NULL AS score, seconds, usd, 0 AS tokens_in,
    0 AS tokens_out, max(0.0, at_s - seconds) AS started_s, at_s FROM %s]],
  evaluations = [[SELECT id, kind, pull, kernel, params, source,
    coalesce(json_extract(json, '$.verdict'), 'ok') AS verdict, json FROM %s]],
  events = "SELECT * FROM %s",
}

-- The format of an open file; nil, why.
function format.of(db, folder)
  local found, why = db:rows "PRAGMA user_version"
  if not found then return nil, ("%s/run.db: %s"):format(folder, why) end
  local version = found[1].user_version
  if version ~= 1 and version ~= format.version then
    return nil, ("%s/run.db has format %d, this kernelband reads formats 1 and %d"):format(
      folder, version, format.version)
  end
  return version
end

local function hash_kernels(db)
  local rows = assert(db:rows "SELECT id, source FROM kernels")
  for _, k in ipairs(rows) do
    assert(db:exec("UPDATE kernels SET hash = ? WHERE id = ?",
                   core.system.hash(k.source), k.id))
  end
end

local function rewrite(db)
  for _, t in ipairs(names) do
    assert(db:exec(("ALTER TABLE %s RENAME TO old_%s"):format(t, t)))
  end
  assert(db:exec "DROP INDEX evaluation_of")
  assert(db:exec(format.tables))
  for _, t in ipairs(names) do
    assert(db:exec(("INSERT INTO %s %s"):format(t, from_1[t]:format("old_" .. t))))
  end
  for i = #names, 1, -1 do assert(db:exec("DROP TABLE old_" .. names[i])) end
  hash_kernels(db)
  assert(db:exec("PRAGMA user_version = " .. format.version))
end

-- Brings an open file to the present format, all of it or nothing; raises when
-- the disk refuses. Returns the format it had.
function format.migrate(db, folder)
  local version, why = format.of(db, folder)
  if not version then schema.raise("%s", why) end
  if version == format.version then return version end
  -- References would follow the renamed tables.
  assert(db:exec "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN IMMEDIATE")
  local ok
  ok, why = pcall(rewrite, db)
  db:exec(ok and "COMMIT" or "ROLLBACK")
  assert(db:exec "PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON")
  if not ok then
    error(("%s/run.db could not be brought to format %d: %s"):format(folder, format.version,
          tostring(why)), 0)
  end
  return version
end

-- Makes a file that is only read look like the present format.
function format.present(db, folder)
  local version, why = format.of(db, folder)
  if not version then schema.raise("%s", why) end
  if version == format.version then return end
  for _, t in ipairs(names) do
    assert(db:exec(("CREATE TEMP VIEW %s AS %s"):format(t, from_1[t]:format("main." .. t))))
  end
  for _, t in ipairs { "profiles", "calls" } do
    local sql = format.tables:match("CREATE TABLE " .. t .. ".-STRICT;")
    sql = sql:gsub("CREATE TABLE", "CREATE TEMP TABLE"):gsub(" REFERENCES %w+ %(%w+%)", "")
    assert(db:exec(sql))
  end
  assert(db:exec "CREATE TEMP TABLE blobs (hash TEXT, bytes BLOB)")
end

return format
