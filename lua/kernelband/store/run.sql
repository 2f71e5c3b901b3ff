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
