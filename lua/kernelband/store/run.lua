-- store/run.lua - the folder of a run: run.db (the journal), best.<ext>,
-- result.json, a copy of the script. Everything is written as it happens and
-- synced, one transaction a pull, so that a process that dies, or a machine that
-- loses its power, loses the pulls in flight and nothing else. Policy state is
-- never stored: search/search.lua rebuilds it by replaying the pulls.

local core = require "kernelband.core"
local archive = require "kernelband.store.archive"
local format = require "kernelband.store.run_format"
local journal = require "kernelband.store.journal"
local json = require "kernelband.base.json"
local salvage = require "kernelband.store.salvage"
local schema = require "kernelband.base.schema"
local cut = require("kernelband.base.text").cut
local with = require("kernelband.base.lists").with

local run = {}

-- What is to be gone on with: nil, or { folder = real path (nil: every `out` that
-- holds a run), out = the `out` it was started with, force = true to go on
-- though parts changed, budget = { steps = .. } in place of the script's }.
local resumed

-- A folder's name means that folder alone. Returns what was set last.
function run.resuming(what)
  if type(what) == "string" then what = { folder = what } end
  if what then
    if what.folder then what.folder = assert(core.system.realpath(what.folder)) end
    resumed = what
  end
  return resumed
end

local function strip(path) return (path:gsub("(.)/+$", "%1")) end

-- Whether a folder holds something to lose: a journal that has its baseline, or
-- a run.db that is not ours to judge. A start that failed leaves neither.
local function holds_run(folder)
  local file = folder .. "/run.db"
  if not core.system.exists(file) then return false end
  local db = core.store(file)
  local rows = db and (db:rows "SELECT count(*) AS n FROM kernels"
    -- Without any table it is the start of a search that was killed at once.
    or db:rows "SELECT 1 AS n FROM sqlite_master UNION ALL SELECT 0 LIMIT 1")
  if db then db:close() end
  return not rows or rows[1].n > 0
end

-- The folder that `out` means now, and what run.resuming said when it is one to
-- go on with. A run that was moved is still the one its script's `out` names.
function run.place(out)
  local folder = strip(out)
  if not resumed then return folder end
  if resumed.folder then
    if resumed.out == out then return resumed.folder, resumed end
    local same = core.system.realpath(folder) == resumed.folder
    return folder, same and resumed or nil
  end
  return folder, holds_run(folder) and resumed or nil
end

-- The first of stem, stem-2, stem-3 .. that holds no run yet; while resuming, the
-- folder being resumed if it is one of them, else the last that holds one.
function run.fresh(stem)
  stem = strip(stem)
  local n, path, last = 1, stem, nil
  while holds_run(path) do
    local _, on = run.place(path)
    if on and on.folder then return path end
    n, last = n + 1, on and path or nil
    path = stem .. "-" .. n
  end
  return last or path
end

function run.reader(folder, how) return require("kernelband.store.run_reader").open(folder, how) end

-- What fn says of a folder's reader; nil, why.
local function ask(folder, fn)
  local ok, r = pcall(run.reader, folder)
  if not ok then return nil, tostring(r) end
  local _ <close> = r
  return fn(r)
end

-- The recorded experiment of a folder, for `kernelband resume`; nil, why.
function run.experiment(folder) return ask(folder, function(r) return r:experiment() end) end

-- The memory that a policy was given when the run in `out`, which is gone on with, was
-- begun; nil where there is none. What is wrong with the run is for open to say.
function run.memory(out)
  local folder, on = run.place(out)
  return on and ask(folder, archive.memory) or nil
end

-- Adds to the journal of a run that no search is writing to: write(db). Returns
-- true | nil, why it could not be.
function run.add(folder, write)
  local lock <close>, why, code = core.system.lock(folder .. "/lock")
  if code == "EAGAIN" then return nil, "a search is writing to this run now" end
  if not lock then return nil, why end
  local db <close>, refused = core.store(folder .. "/run.db")
  if not db then return nil, refused end
  local ok, wrong = pcall(function()
    format.check(db, folder)
    assert(db:exec "BEGIN")
    write(db)
    assert(db:exec "COMMIT")
  end)
  if ok then return true end
  db:exec "ROLLBACK"
  return nil, tostring(wrong)
end

-- Runs of version 0.1 named the address of a model too, which says where it is, not what.
local function without_address(text)
  return type(text) == "string" and text:gsub('\\*"base\\*":\\*"[^"\\]*\\*",', "") or text
end

-- Why the journal cannot be gone on with: the first thing that is not what it was
-- recorded with; nil when there is none.
local function difference(was, now)
  for _, key in ipairs { "task", "baseline", "strategies", "policy", "params",
                         "generator", "parallel", "seed" } do
    local a, b = without_address(was.identity[key]), without_address(now.identity[key])
    if a ~= b then                      -- what is said first of two texts is what differs
      return ("was recorded with %s %s, and this is %s"):format(key, cut(tostring(a), 60, "..."),
                                                                cut(tostring(b), 60, "..."))
    end
  end
  for _, key in ipairs { "task", "policy", "strategies" } do
    if was.hashes[key] and was.hashes[key] ~= now.hashes[key] then
      return ("was recorded with other files of its %s than are there now"):format(key)
    end
  end
end

-- The journal of a run that is there already; notes: what its reader should know. Returns
-- whether it goes on though parts changed.
local function reopen(db, folder, spec, on, notes)
  format.check(db, folder)
  local was = assert(db:rows "SELECT * FROM experiment")[1]
  schema.must(was, "%s/run.db is not the journal of a run", folder)
  was.identity, was.hashes = json.decode(was.identity), json.decode(was.hashes)
  local why, options = difference(was, spec), json.encode(spec.options)
  schema.must(not why or on.force, "%s %s; resume with what it was recorded with, choose another "
    .. "out, or go on all the same with --force", folder, why)
  local function note(is, kind, text) if is then notes[#notes + 1] = { kind, text } end end
  note(why, "forced", why)
  note(was.hashes.script and was.hashes.script ~= spec.hashes.script, "config",
       "the script changed since")
  note(was.options ~= options, "config", "options: " .. options)
  note(was.version ~= spec.version, "config", "kernelband " .. spec.version)
  local cpu = json.decode(was.machine).cpu
  note(cpu ~= spec.machine.cpu, "warning", ("the machine is another: %s, it was %s"):format(
       spec.machine.cpu, cpu))
  assert(db:exec("UPDATE experiment SET state = 'running', options = ?, args = ?", options,
                 json.encode(spec.args)))
  return why ~= nil
end

-- The journal of a new run; of a start that failed the tables are there.
local function begin(db, folder, spec)
  if assert(db:rows "PRAGMA user_version")[1].user_version > 0 then
    format.check(db, folder)
    assert(db:exec "DELETE FROM events; DELETE FROM experiment")
  else
    assert(db:exec("BEGIN;" .. format.create .. "COMMIT"))
  end
  local kept = { task_files = archive.keep_task(db, spec.task),
                 memory = spec.memory and archive.blob(db, spec.memory) }
  assert(format.insert(db, "experiment", with(spec, {
    id = 1, state = "running", directory = core.system.realpath ".",
    hashes = with(spec.hashes, kept),
    clocks = { wall_s = core.system.wall_s(), monotonic_ns = core.system.now_ns() },
    started = spec.started or os.date "!%Y-%m-%dT%H:%M:%SZ" })))
end

local function open_db(folder, resume, on)
  local file = folder .. "/run.db"
  schema.must(on or not resume, "%s already holds a run: go on with it by `kernelband resume %s` "
    .. "(with all runs of a script by `kernelband run --resume FILE`), or choose another out",
    folder, folder)
  local db, why, damaged = (resume and salvage.open or core.store)(file)
  schema.must(damaged ~= true, "%s is damaged (%s), so the run cannot be gone on with; kernelband "
    .. "export %s --jsonl writes what can be read of it", file, why, folder)
  return db or error(why, 0)
end

-- Opens spec.out; see journal.lua for what comes back. spec: out,
-- ext, seed, version, script, script_text, args, options, machine, identity, hashes, started.
function run.open(spec)
  local folder, on = run.place(spec.out)
  if on then on.met = true end
  local ok, why = core.system.mkdir_p(folder)
  schema.must(ok, "%s: cannot create the folder: %s", folder, why)
  journal.check_room(folder)
  local lock, refused, code = core.system.lock(folder .. "/lock")
  schema.must(code ~= "EAGAIN",
    "%s: a search is writing to this run now; kernelband steer %s stop ends it", folder, folder)
  if not lock then error(("%s: %s"):format(folder, refused), 0) end
  local notes, resume, db = {}, holds_run(folder), nil
  local opened, forced = pcall(function()
    db = open_db(folder, resume, on)
    return (resume and reopen or begin)(db, folder, spec, on, notes)
  end)
  if not opened then
    if db then db:close() end
    lock:close()
    if schema.is_config_error(forced) then error(forced, 0) end
    journal.broken(folder, tostring(forced))
  end
  local j = journal.new(db, folder, spec.ext, resume, lock)
  j.forced = forced
  if not resume and spec.script_text then j.script(spec.script_text) end
  j.event(resume and "resumed" or "started", "kernelband " .. spec.version)
  for _, note in ipairs(notes) do j.event(note[1], note[2]) end
  j.notes = notes
  return j
end

return run
