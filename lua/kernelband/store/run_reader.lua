-- store/run_reader.lua - what a run folder holds, as tables, for whoever reports,
-- exports or verifies. Reads run.db of any format, while a search writes to it too.
--
--   local r = run.reader(folder)          raises a configuration error, where the file is
--                                         damaged too
--   run.reader(folder, "anyway")          reads what is left of a damaged one, in memory;
--                                         r.damage says in a sentence what is wrong
--   run.reader(folder, "unchecked")       for who looks often
--   r:experiment()      the one row; args, identity, options, machine, hashes and
--                       clocks decoded
--   r:kernels() r:pulls() r:calls() r:events() r:profiles()
--                       lists of rows as run.db has them, by id; an absent column
--                       is NULL; params and the profiles' columns decoded
--   r:evaluations(kind) kind: nil for all; row.evaluation is row.json decoded when
--                       first asked for
--   r:blob(hash)        its bytes          r:rows(sql, ...)   anything else
--   r:changes()         a number that differs once somebody has written
--   r:close()

local core = require "kernelband.core"
local format = require "kernelband.store.run_format"
local json = require "kernelband.base.json"
local salvage = require "kernelband.store.salvage"
local schema = require "kernelband.base.schema"

local reader = {}
reader.__index = reader
reader.__close = function(self) self:close() end

-- nil for what is no JSON: the file may have been damaged, and reading goes on.
local function decode(text)
  if not text then return nil end
  local ok, value = pcall(json.decode, text)
  if ok then return value end
end

local lazy = { __index = function(row, key)
  if key ~= "evaluation" then return nil end
  local value = decode(rawget(row, "json"))
  rawset(row, "evaluation", value)
  return value
end }

function reader:rows(sql, ...)
  local rows, why
  if select("#", ...) > 0 then rows, why = self.db:rows(sql, ...)
  else rows, why = self.db:rows(sql) end
  if not rows then schema.raise("%s/run.db: %s", self.folder, why) end
  return rows
end

local function decoded(rows, ...)
  for _, row in ipairs(rows) do
    for _, name in ipairs { ... } do row[name] = decode(row[name]) end
  end
  return rows
end

function reader:experiment()
  return decoded(self:rows "SELECT * FROM experiment", "args", "identity", "options",
                 "machine", "hashes", "clocks")[1]
end

function reader:kernels()
  return decoded(self:rows "SELECT * FROM kernels ORDER BY id", "params")
end

function reader:pulls() return self:rows "SELECT * FROM pulls ORDER BY n" end
function reader:calls() return self:rows "SELECT * FROM calls ORDER BY id" end
function reader:events() return self:rows "SELECT * FROM events ORDER BY id" end

function reader:profiles()
  return decoded(self:rows "SELECT * FROM profiles ORDER BY kernel", "phi", "rho", "h",
                 "signature", "profile")
end

function reader:evaluations(kind)
  local rows = kind
    and self:rows("SELECT * FROM evaluations WHERE kind = ? ORDER BY id", kind)
    or self:rows "SELECT * FROM evaluations ORDER BY id"
  for _, row in ipairs(rows) do
    row.params = decode(row.params)
    setmetatable(row, lazy)
  end
  return rows
end

function reader:blob(hash)
  local row = self:rows("SELECT bytes FROM blobs WHERE hash = ?", hash)[1]
  return row and row.bytes
end

function reader:changes() return self:rows("PRAGMA data_version")[1].data_version end

function reader:close()
  if self.db then self.db:close() end
  self.db = nil
end

-- What is left of a damaged file, and a sentence that says so.
local function rest_of(file, folder, damage, how)
  if how ~= "anyway" then
    schema.raise("%s is damaged (%s); kernelband export %s --jsonl writes what can be read of it",
                 file, damage, folder)
  end
  local db, what = salvage.read(file)
  if not db then schema.raise("%s is damaged (%s), and nothing of it can be read", file, damage) end
  return db, ("%s is damaged (%s): %s, and what they say may have changed"):format(file, damage,
                                                                                what)
end

-- A database whose damage, if there is any, is nil or a clause.
local function store_of(file, how)
  local db, why = core.store(file, "read")
  if db then return db, how ~= "unchecked" and salvage.damage(db) or nil end
  why = why:sub(1, #file + 2) == file .. ": " and why:sub(#file + 3) or why
  if not salvage.is_damage(why) then schema.raise("%s: %s", file, why) end
  return nil, why
end

local function open(folder, how)
  folder = folder:gsub("(.)/+$", "%1")
  local file = folder .. "/run.db"
  if core.system.exists(file) ~= "file" then
    schema.raise("%s holds no run (there is no run.db in it)", folder)
  end
  local db, damage = store_of(file, how)
  if damage then
    if db then db:close() end
    db, damage = rest_of(file, folder, damage, how)
  end
  local self = setmetatable({ db = db, folder = folder, damage = damage }, reader)
  local found = db:rows "SELECT id FROM experiment"
  if not found or not found[1] then
    db:close()
    schema.raise("%s/run.db is not the journal of a run", folder)
  end
  local ok, why = pcall(format.present, db, folder)
  if not ok then
    db:close()
    error(why, 0)
  end
  return self
end

return { open = open }
