-- Keeps a run whose kernels came from a model as a cassette:
--   kernelband run tests/runs/cassette.lua RUN TASK NAME
-- TASK is the folder of its task, from the root of the repository. tests/runs/cassettes/NAME then
-- holds a recording for kb.generator.replay (llm/record.lua), less the questions;
-- evaluations.jsonl, what was measured of each source; and run.json, the pulls: spec_cassettes.lua
-- chooses their parents and strategies again and expects their verdicts and kernels.
local core = require "kernelband.core"
local json = require "kernelband.base.json"
local tuning = require "kernelband.search.tuning"

local run, task, name = table.unpack(arg)
assert(name, "usage: kernelband run tests/runs/cassette.lua RUN TASK NAME")
local dir = "tests/runs/cassettes/" .. name
local system = core.system
local db <close> = assert(core.store(run .. "/run.db", "read"))

local function write(file, text) assert(system.write_file(dir .. "/" .. file, text)) end

local function rows(sql) return assert(db:rows(sql)) end

assert(system.mkdir_p(dir))
local index = {}
for _, c in ipairs(rows [[SELECT c.*, b.bytes AS text FROM calls c JOIN blobs b
                          ON b.hash = c.answer ORDER BY c.id]]) do
  local file = ("%02d%s.txt"):format(c.pull, c.kind == "repair" and "-repair" or "")
  write(file, c.text)
  index[#index + 1] = json.encode { pull = c.pull, kind = c.kind, attempt = c.attempt,
    request = c.request, answer = file, provider = c.provider, model = c.model }
end
write("index.jsonl", table.concat(index, "\n") .. "\n")

local function slim(e)
  return { verdict = e.verdict, reason = e.reason, speedup = e.speedup, time_ns = e.time_ns,
           speedup_low = e.speedup_low, speedup_high = e.speedup_high, baseline_ns = e.baseline_ns }
end

-- As the search evaluates it today: with values for the constants it leaves open.
local function hash_of(source)
  return source and system.hash(tuning.first({ source = source }).source)
end

local lines = {}
for _, e in ipairs(rows [[SELECT source, json FROM evaluations
                          WHERE kind IN ('baseline', 'pull', 'repair', 'tune') ORDER BY id]]) do
  lines[#lines + 1] = json.encode { hash = hash_of(e.source or nil),
                                    evaluation = slim(json.decode(e.json)) }
end
write("evaluations.jsonl", table.concat(lines, "\n") .. "\n")

local x = rows("SELECT seed, machine FROM experiment")[1]
local pulls = {}
for i, p in ipairs(rows [[SELECT p.*, k.source, k.speedup FROM pulls p
                          LEFT JOIN kernels k ON k.id = p.child ORDER BY p.n]]) do
  pulls[i] = json.encode { parent = p.parent, strategy = p.strategy, verdict = p.verdict,
                           source = hash_of(p.source), speedup = p.speedup }
end
local about = json.encode { task = task, seed = x.seed, machine = json.decode(x.machine).device }
write("run.json", ('{ "about": %s,\n  "pulls": [\n    %s\n  ] }\n'):format(about,
      table.concat(pulls, ",\n    ")))
