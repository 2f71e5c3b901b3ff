-- store/journal.lua - what a search writes to its run.db, and reads back when it goes on
-- with it. Each function raises when the disk refuses.
--
--   j.folder, j.best_path, j.resumed
--   j.order                    numbers of the pulls recorded before, as they landed
--   j.lost_pulls[n]            those among them that could not be evaluated, and why
--   j.past(n)                  one of them, or nil: its row, and attempts, a list of
--                              its evaluations { kind, kernel, params, source, evaluation }
--   j.source(kernel)           its source, after j.close() too; absent without a folder
--   j.before_s                 how long it ran before; j.elapsed_s() in all
--   j.recorded_baseline        its evaluation, when there is one
--   j.recorded_machine         what its worker said of the machine, when it did
--   j.confirmed[kernel]        evaluations of confirmations recorded before
--   j.last                     the greatest n recorded before, 0: none
--   j.lost                     { usd, input, output } that calls of pulls cost which
--                              never landed, and { cached, reasoning, uncounted: answers whose
--                              tokens are unknown } of all calls
--   j.recalled                 prices of the recorded answers of its pulls, false: unknown
--   j.baseline(kernel, evaluation)       j.machine(machine)
--   j.pull(pull, attempts)     attempts: { kind, candidate, evaluation, text }
--   j.call(record)             a model call, its request and answer by their hash
--   j.answer(kind)             the first answer of calls of that kind, nil: none. A folder's
--   j.confirm(kernel, evaluation)        j.event(kind, text)
--   j.at_once(fn)              what fn writes, in one transaction
--   j.asked() -> list          steering that was asked for: { id, text }
--   j.steered(id, text)        ... and has been done
--   j.best(source) j.script(text) j.state(state) j.finish(state, result)
--   j.fail(state, why) j.close()

local lists = require "kernelband.base.lists"
local archive = require "kernelband.store.archive"
local core = require "kernelband.core"
local format = require "kernelband.store.run_format"
local json = require "kernelband.base.json"
local piece = require("kernelband.base.template").piece

local journal = {}
local with = lists.with

local MIN_FREE_BYTES = 8 << 20

-- What the world refused while the run was being written.
function journal.broken(folder, why)
  error(("%s: %s; what was written before stays readable. Make room, then: "
         .. "kernelband resume %s"):format(folder, why, folder), 0)
end

-- Raises while what is there can still be closed in good order.
function journal.check_room(folder)
  local free = core.system.disk_free(folder)
  if free and free < MIN_FREE_BYTES then
    journal.broken(folder, ("its disk is full (%d MiB left)"):format(free >> 20))
  end
end

-- The database, but that it raises what it refuses.
local function raising(db, folder)
  local function checked(method)
    return function(_, ...)
      local result, why = method(db, ...)
      if result then return result end
      db:exec "ROLLBACK"
      journal.broken(folder, why)
    end
  end
  return { rows = checked(db.rows), exec = checked(db.exec) }
end

-- Reading back -----------------------------------------------------------------

-- In which order pulls ended: those with a row, and those whose worker was lost.
local function read_order(j, sql)
  local ended = sql:rows "SELECT n, landed FROM pulls"
  for _, e in ipairs(sql:rows "SELECT text FROM events WHERE kind = 'not evaluated'") do
    local why, n, landed = e.text:match "^(pull (%d+) .*) @ (%d+)$"
    if why then
      n = tonumber(n)
      ended[#ended + 1], j.lost_pulls[n] = { n = n, landed = tonumber(landed) }, why
    end
  end
  ended = lists.sorted(ended, function(e) return e.landed end)
  j.order = lists.collect(ended, "n")
end

local function read_back(j, sql)
  local function found(query, ...) return sql:rows(piece("store/queries." .. query), ...) end
  read_order(j, sql)
  local so_far = found "so_far" [1]
  j.last, j.logged, j.before_s = so_far.last, so_far.logged, so_far.seconds
  j.recorded_machine = json.decode(so_far.machine).device
  function j.past(n)
    local row = n <= j.last and sql:rows("SELECT * FROM pulls WHERE n = ?", n)[1]
    if not row then return nil end
    row.attempts = format.evaluations(found("attempts", n))
    return row
  end
  local recorded = { baseline = {}, confirm = {} }
  for _, e in ipairs(format.evaluations(found "measured")) do
    recorded[e.kind][e.kernel] = e.evaluation
  end
  j.recorded_baseline, j.confirmed = recorded.baseline[1], recorded.confirm
  j.lost = found "lost" [1]
  for i, c in ipairs(found "recalled") do j.recalled[i] = type(c.usd) == "number" and c.usd end
  j.steers = sql:rows "SELECT id, text FROM events WHERE kind = 'steer' ORDER BY id"
  function j.answer(kind)
    local row = found("answer", kind)[1]
    return row and row.text
  end
  local began = core.system.now_ns()
  function j.elapsed_s() return j.before_s + (core.system.now_ns() - began) / 1e9 end
end

-- Writing ------------------------------------------------------------------------

local function add_writing(j, db, sql)
  local function insert(name, row) format.insert(sql, name, row) end

  local function kernel(k, pull, evaluation)
    insert("kernels", with(k, { pull = pull }))
    local e, profile = evaluation.evidence or {}, evaluation.profile
    if next(e) or profile then
      insert("profiles", { kernel = k.id, phi = e.phi, rho = e.rho, h = e.h,
        signature = e.signature, profile = profile, bound = profile and profile.bound })
    end
  end

  local function evaluated(kind, k, evaluation)
    insert("evaluations", { kind = kind, kernel = k.id, params = k.params,
                            verdict = evaluation.verdict, json = evaluation })
  end

  function j.at_once(fn)
    sql:exec "SAVEPOINT one"
    fn()
    sql:exec "RELEASE one"
  end

  function j.baseline(k, evaluation)
    j.at_once(function()
      kernel(k, nil, evaluation)
      evaluated("baseline", k, evaluation)
    end)
  end

  function j.machine(machine)
    sql:exec("UPDATE experiment SET machine = json_set(machine, '$.device', json(?))",
         json.encode(machine))
  end

  function j.pull(p, attempts)
    local terms, child = p.terms or {}, p.child
    journal.check_room(j.folder)
    j.at_once(function()
      if child then kernel(child, p.n, p.evaluation) end
      insert("pulls", with(with(p, p.cost), { parent = p.parent.id, strategy = p.strategy_name,
        child = child and child.id, at_s = j.elapsed_s(), mean = terms.mean, psi = terms.psi,
        exploration = terms.exploration, cluster = terms.cluster, score = terms.score }))
      for _, a in ipairs(attempts) do
        insert("evaluations", { kind = a.kind, pull = p.n,
          kernel = child and a == p.kept and child.id, params = a.candidate.params,
          source = a.candidate.source, verdict = a.evaluation.verdict, json = a.text })
      end
    end)
  end

  function j.confirm(k, evaluation) evaluated("confirm", k, evaluation) end

  function j.event(kind, what)
    insert("events", { at_s = j.elapsed_s(), kind = kind, text = what })
  end

  local function blob(bytes) return bytes and archive.blob(sql, bytes) end

  function j.call(r)
    j.at_once(function()
      insert("calls", with(r, { request = blob(r.request), answer = blob(r.answer) }))
    end)
  end

  -- Steering arrives in the same file, from another process (cli/steer.lua).
  local seen = 0                        -- so that the first look is a look
  function j.asked()
    local version = sql:rows "PRAGMA data_version" [1].data_version
    if version == seen then return {} end
    seen = version
    return sql:rows "SELECT id, text FROM events WHERE kind = 'asked' ORDER BY id"
  end

  function j.steered(id, what)
    sql:exec("UPDATE events SET kind = 'steer', at_s = ?, text = ? WHERE id = ?", j.elapsed_s(),
             what, id)
  end

  local function write(path, bytes)
    local ok, why = core.system.write_file(path, bytes)
    if not ok then journal.broken(j.folder, why) end
  end

  function j.best(source) write(j.best_path, source) end
  function j.script(source) write(j.folder .. "/script.lua", source) end

  -- The state another process may have to know of.
  function j.state(state) sql:exec("UPDATE experiment SET state = ?", state) end

  function j.finish(state, result)
    write(j.folder .. "/result.json", json.encode(result) .. "\n")
    j.event(state, ("%d pulls%s"):format(result.pulls, result.reason and ": " .. result.reason
                                                       or ""))
    j.state(state)
  end

  -- For the way out after a failure: the disk may be the reason for it.
  function j.fail(state, why)
    db:exec "ROLLBACK"                  -- what it broke off, if anything
    format.insert(db, "events", { at_s = j.elapsed_s(), kind = state, text = why })
    db:exec("UPDATE experiment SET state = ?", state)
  end
end

function journal.new(db, folder, ext, resumed, lock)
  local j = { folder = folder, best_path = ("%s/best.%s"):format(folder, ext),
              resumed = resumed, lost_pulls = {}, recalled = {} }
  local sql, open = raising(db, folder), true
  if resumed then                       -- pulls that never landed will be made anew
    sql:exec "UPDATE calls SET pull = NULL WHERE pull NOT IN (SELECT n FROM pulls)"
  end
  read_back(j, sql)
  add_writing(j, db, sql)

  function j.source(id)
    local from = open and db or assert(core.store(folder .. "/run.db", "read"))
    local rows, why = from:rows("SELECT source FROM kernels WHERE id = ?", id)
    if not open then from:close() end
    if not rows then journal.broken(folder, why) end
    return rows[1] and rows[1].source
  end

  function j.close()
    open = false
    db:close()
    lock:close()
  end
  return j
end

return journal
