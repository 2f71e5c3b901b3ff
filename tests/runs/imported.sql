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
INSERT INTO experiment VALUES(1,NULL,NULL,'[]','@ROOT@','{"generator":"synthetic","parallel":"1","params":"{}","policy":"turns","seed":"0","strategies":"tiling vectorization fusion pipeline reordering access_layout","task":"synthetic-3"}','{"imported":"/tmp/kernelband-rz9d0g/x.json"}','{"compiler":"12.2.0","cores":2,"cpu":"AMD EPYC","kernel":"Linux 6.18.44-fc-v595 x86_64","landlock_abi":7,"libc":"glibc 2.36","perf":false,"perf_error":"No such file or directory","root":true,"seccomp":true,"sqlite":"3.40.1","usable_cores":2}','0.1','{}','{}',4,'2026-11-23T13:42:16Z','done');
INSERT INTO kernels VALUES(1,NULL,NULL,NULL,0,3.72509888935792585836e+06,1.0,1.0,1.0,'{"x1":0,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','0 0 0 0 0 0','260bea95cf789f77');
INSERT INTO kernels VALUES(2,1,1,'tiling',1,2.72171723055172758176e+06,1.3686575693988607405e+00,1.34128441801088360563e+00,1.39603072078683787538e+00,'{"x1":0.32409170296143214,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','tiling 0.32409170296143214 0 0 0 0 0','8d4549a448d66a7c');
INSERT INTO kernels VALUES(3,2,2,'tiling',2,1.63972958655121130869e+06,2.27177634648454596089e+00,2.2263408195548550772e+00,2.31721187341423684458e+00,'{"x1":0.65611389367850648,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','tiling 0.65611389367850648 0 0 0 0 0','3aa43c1107f428aa');
INSERT INTO kernels VALUES(4,4,1,'vectorization',1,3.70233776561135472719e+06,1.00614777072961425474e+00,0.986024815315022,1.0262707261442065576e+00,'{"x1":0,"x2":2.6727192017175071e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 2.6727192017175071e-07 0 0 0 0','c7770abc3b80231c');
INSERT INTO kernels VALUES(5,5,1,'vectorization',1,3.6815115313899340109e+06,1.01183952775819108182e+00,9.91602737203027273515e-01,1.03207631831335500116e+00,'{"x1":0,"x2":9.40100240170338e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 9.4010024017033804e-07 0 0 0 0','f2902bd84f151acb');
INSERT INTO kernels VALUES(6,6,1,'vectorization',1,3.71548365111755579713e+06,1.00258788333989246055e+00,9.82536125673094562493e-01,1.02263964100669024759e+00,'{"x1":0,"x2":6.5308609288740327e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 6.5308609288740327e-07 0 0 0 0','f1f6eb3460e32461');
INSERT INTO pulls VALUES(1,1,1,'tiling','ok',NULL,2,2.69357052955752629408e-01,NULL,NULL,NULL,NULL,NULL,2.72171723055172768215e-03,0.0,0,0,2.18190887694482693603e-02,0.024540806);
INSERT INTO pulls VALUES(2,2,2,'tiling','ok',NULL,3,3.97538595066021294144e-01,NULL,NULL,NULL,NULL,NULL,1.63972958655121139014e-03,0.0,0,0,5.4126534413448793015e-02,0.055766264);
INSERT INTO pulls VALUES(3,3,3,'tiling','build_failed','synthetic failure',NULL,-1.0,NULL,NULL,NULL,NULL,NULL,0.0,0.0,0,0,0.077648833,0.077648833);
INSERT INTO pulls VALUES(4,4,1,'vectorization','ok',NULL,4,6.11020658044714171097e-03,NULL,NULL,NULL,NULL,NULL,3.70233776561135468491e-03,0.0,0,0,7.74960882343886520162e-02,0.081198426);
INSERT INTO pulls VALUES(5,5,1,'vectorization','ok',NULL,5,1.17009935206054960232e-02,NULL,NULL,NULL,NULL,NULL,3.68151153138993394997e-03,0.0,0,0,8.36666154686100671522e-02,0.087348127);
INSERT INTO pulls VALUES(6,6,1,'vectorization','ok',NULL,6,2.58120348639323538009e-03,NULL,NULL,NULL,NULL,NULL,3.71548365111755559894e-03,0.0,0,0,8.84686793488824452236e-02,0.092184163);
INSERT INTO evaluations VALUES(1,'baseline',NULL,1,'{"x1":0,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}',NULL,'ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0037250988893579259,"total":0.0037250988893579259},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[3725098.8893579259],"speedup":1,"time_ns":3725098.8893579259}],"speedup":1,"speedup_high":1,"speedup_low":1,"time_ns":3725098.8893579259,"verdict":"ok"}');
INSERT INTO evaluations VALUES(2,'pull',1,2,'{"x1":0.32409170296143214,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','tiling 0.32409170296143214 0 0 0 0 0','ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0027217172305517277,"total":0.0027217172305517277},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[2721717.2305517276],"speedup":1.3686575693988607,"time_ns":2721717.2305517276}],"speedup":1.3686575693988607,"speedup_high":1.3960307207868379,"speedup_low":1.3412844180108836,"time_ns":2721717.2305517276,"verdict":"ok"}');
INSERT INTO evaluations VALUES(3,'pull',2,3,'{"x1":0.65611389367850648,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','tiling 0.65611389367850648 0 0 0 0 0','ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0016397295865512114,"total":0.0016397295865512114},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[1639729.5865512113],"speedup":2.271776346484546,"time_ns":1639729.5865512113}],"speedup":2.271776346484546,"speedup_high":2.3172118734142368,"speedup_low":2.2263408195548551,"time_ns":1639729.5865512113,"verdict":"ok"}');
INSERT INTO evaluations VALUES(4,'pull',3,NULL,'{"x1":0.398560645251795,"x2":0,"x3":0,"x4":0,"x5":0,"x6":0}','tiling 0.39856064525179502 0 0 0 0 0','build_failed','{"reason":"synthetic failure","seconds":{"build":0,"check":0,"time":0,"total":0},"shapes":[],"verdict":"build_failed"}');
INSERT INTO evaluations VALUES(5,'pull',4,4,'{"x1":0,"x2":2.6727192017175071e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 2.6727192017175071e-07 0 0 0 0','ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0037023377656113547,"total":0.0037023377656113547},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[3702337.7656113547],"speedup":1.0061477707296143,"time_ns":3702337.7656113547}],"speedup":1.0061477707296143,"speedup_high":1.0262707261442066,"speedup_low":0.986024815315022,"time_ns":3702337.7656113547,"verdict":"ok"}');
INSERT INTO evaluations VALUES(6,'pull',5,5,'{"x1":0,"x2":9.40100240170338e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 9.4010024017033804e-07 0 0 0 0','ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0036815115313899339,"total":0.0036815115313899339},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[3681511.531389934],"speedup":1.0118395277581911,"time_ns":3681511.531389934}],"speedup":1.0118395277581911,"speedup_high":1.032076318313355,"speedup_low":0.99160273720302727,"time_ns":3681511.531389934,"verdict":"ok"}');
INSERT INTO evaluations VALUES(7,'pull',6,6,'{"x1":0,"x2":6.5308609288740327e-07,"x3":0,"x4":0,"x5":0,"x6":0}','vectorization 0 6.5308609288740327e-07 0 0 0 0','ok','{"baseline_ns":3725098.8893579259,"seconds":{"build":0,"check":0,"time":0.0037154836511175556,"total":0.0037154836511175556},"shapes":[{"baseline_ns":3725098.8893579259,"label":"recorded","role":"timed","samples_ns":[3715483.6511175558],"speedup":1.0025878833398925,"time_ns":3715483.6511175558}],"speedup":1.0025878833398925,"speedup_high":1.0226396410066902,"speedup_low":0.98253612567309456,"time_ns":3715483.6511175558,"verdict":"ok"}');
INSERT INTO events VALUES(1,0.0,'imported','/tmp/kernelband-rz9d0g/x.json');
PRAGMA user_version = 2;
