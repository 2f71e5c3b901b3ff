-- store/run_reader.lua - what a run folder holds, as tables, for whoever reports, exports or
-- verifies. One transaction, so that what is read belongs together while a search goes on.
--
--   local r = run.reader(folder)          raises a configuration error, also where the file is
--                                         damaged
--   run.reader(folder, "anyway")          reads what is left of a damaged one, in memory;
--                                         r.damage says in a sentence what is wrong
--   run.reader(folder, "unchecked")       for who looks often
--   r:experiment()      the one row; args, identity, options, machine, hashes and
--                       clocks decoded, {} where they are broken
--   r:kernels() r:pulls() r:calls() r:events() r:profiles()
--                       lists of rows as run.db has them, by id; params and the profiles'
--                       columns decoded
--   r:evaluations(kind, kernel)   nil: all; row.evaluation is row.json decoded when first
--                       asked for
--   r:blob(hash)        its bytes          r:rows(sql, ...)   anything else
--   r:close()

local core = require "kernelband.core"
local format = require "kernelband.store.run_format"
local json = require "kernelband.base.json"
local salvage = require "kernelband.store.salvage"
local schema = require "kernelband.base.schema"

local reader = {}
reader.__index = reader
reader.__close = function(self) self:close() end

function reader:rows(...)
  local rows, why = self.db:rows(...)
  return schema.must(rows, "%s/run.db: %s", self.folder, why)
end

function reader:experiment()
  local e = self:rows("SELECT * FROM experiment")[1]
  for _, name in ipairs { "args", "identity", "options", "machine", "hashes", "clocks" } do
    e[name] = json.table(e[name]) or {}
  end
  return e
end

-- Tables, in which order their rows come, and which columns are JSON.
for name, how in pairs {
  kernels = { "id", "params" }, pulls = { "n" }, calls = { "id" }, events = { "id" },
  profiles = { "kernel", "phi", "rho", "h", "signature", "profile" },
} do
  reader[name] = function(self)
    local rows = self:rows(("SELECT * FROM %s ORDER BY %s"):format(name, how[1]))
    for _, row in ipairs(rows) do
      for i = 2, #how do row[how[i]] = json.table(row[how[i]]) end
    end
    return rows
  end
end

function reader:evaluations(kind, kernel)
  return format.evaluations(self:rows([[SELECT * FROM evaluations WHERE (?1 IS NULL OR kind = ?1)
    AND (?2 IS NULL OR kernel = ?2) ORDER BY id]], kind, kernel))
end

function reader:blob(hash)
  local row = self:rows("SELECT bytes FROM blobs WHERE hash = ?", hash)[1]
  return row and row.bytes
end

function reader:close() self.db:close() end

-- The database and, where it is damaged and something could be read, a sentence that says so.
local function open_db(file, folder, how)
  local db, why, damaged = salvage.open(file, "read", how == "unchecked")
  if db then return db end
  schema.must(damaged, "%s: %s", file, why)
  schema.must(how == "anyway", "%s is damaged (%s); kernelband export %s --jsonl writes what can "
              .. "be read of it", file, why, folder)
  local left, what = salvage.read(file)
  schema.must(left, "%s is damaged (%s), and nothing of it can be read", file, why)
  return left, ("%s is damaged (%s): %s, and what they say may have changed")
               :format(file, why, what)
end

local function open(folder, how)
  folder = folder:gsub("(.)/+$", "%1")
  local file = folder .. "/run.db"
  schema.must(core.system.exists(file) == "file", "%s holds no run (there is no run.db in it)",
              folder)
  local db, damage = open_db(file, folder, how)
  local ok, why = pcall(function()
    local found = db:exec "BEGIN" and db:rows "SELECT id FROM experiment"
    schema.must(found and found[1], "%s/run.db is not the journal of a run", folder)
    format.check(db, folder)
  end)
  if ok then return setmetatable({ db = db, folder = folder, damage = damage }, reader) end
  db:close()
  error(why, 0)
end

return { open = open }
