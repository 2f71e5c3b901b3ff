-- store/salvage.lua - a run.db that is damaged: that it is, and what of it can be read.
--
--   salvage.open(file, how, unchecked)   -> the database of core.store | nil, what is wrong, a
--                            clause, and whether that is damage
--   salvage.read(file)       -> a database in memory with the rows that can be read, a
--                            clause that counts them | nil
--
-- SQLite tells broken pages, not changed bytes inside a text: JSON is parsed, sources
-- and blobs are hashed again.

local find   = require("kernelband.base.lists").find
local core   = require "kernelband.core"
local format = require "kernelband.store.run_format"
local normal = require "kernelband.base.source".normal
local piece  = require("kernelband.base.template").piece

local salvage = {}

local MOST_TRIES = 50000                -- failed reads of a table
local PAGE = 4096

local function definitions_of(db) return db:rows(piece "store/queries.definitions")[1].sql end

local function fresh(file)
  local db = assert(core.store(file))
  assert(db:exec(format.create))
  return db
end

-- The texts that are not what their hashes say: a list of { table, rowid, sentence }.
local function changed(db)
  local out = {}
  local function each(name, wrong)
    for _, r in ipairs(db:rows("SELECT rowid AS at FROM " .. name) or {}) do
      local row = db:rows(("SELECT * FROM %s WHERE rowid = ?"):format(name), r.at)
      local what = row and row[1] and wrong(row[1])
      if what then out[#out + 1] = { name, r.at, what } end
    end
  end
  each("kernels", function(k)           -- hashed as it stands, or without what means nothing
    return k.hash and k.hash ~= core.system.hash(k.source)
           and k.hash ~= core.system.hash(normal(k.source))
           and ("the source of kernel %d is not what was recorded"):format(k.id)
  end)
  each("blobs", function(b)             -- a text whose hash another has already: "hash-2"
    return core.system.hash(b.bytes) ~= b.hash:match "^[^-]*"
           and "a recorded text (table blobs) is not what was recorded"
  end)
  return out
end

-- What is wrong in an open file; nil: nothing is.
local function damage_of(db)
  local tables, why = db:rows "SELECT count(*) AS n FROM sqlite_master"
  if not tables then return why end
  if tables[1].n == 0 then return nil end         -- killed before its first transaction
  local found
  found, why = db:rows "PRAGMA integrity_check(1)"
  if not found then return why end
  if found[1].integrity_check ~= "ok" then
    return (found[1].integrity_check:gsub("%s*%*+ in database main %*+%s*", ""):gsub("\n.*", ""))
  end
  if db:rows "PRAGMA user_version"[1].user_version ~= format.version then return nil end
  local model <close> = fresh ":memory:"
  if definitions_of(db) ~= definitions_of(model) then return "its tables are not those of a run" end
  found = db:rows(piece "store/queries.first_fault")
  if found and found[1] then return found[1].what end
  local first = changed(db)[1]
  return first and first[3]
end

function salvage.open(file, how, unchecked)
  local db, why = core.store(file, how)
  if db then
    why = not unchecked and damage_of(db)
    if not why then return db end
    db:close()
    return nil, why, true
  end
  if why:sub(1, #file + 2) == file .. ": " then why = why:sub(#file + 3) end
  return nil, why, find({ "malformed", "not a SQLite database", "unsupported file format" },
                        function(words) return why:find(words, 1, true) end) ~= nil
end

-- Reading -------------------------------------------------------------------------

-- The definitions of a run's tables fill a part of the first page, in every run.db the same: that
-- of a new one takes the place of what was damaged. The size in its header counts no more.
local function with_new_schema(bytes, model)
  return model:sub(1, 24) .. "\0\0\0\1\0\0\0\0" .. model:sub(33, 92) .. "\0\0\0\0"
         .. model:sub(97, PAGE) .. bytes:sub(PAGE + 1)
end

-- Copies what can be read of rows low to high of a table.
local function copy_rows(db, name, low, high, left)
  if left.tries == 0 then return end
  local sql = ("INSERT OR IGNORE INTO main.%s SELECT * FROM old.%s WHERE rowid BETWEEN ? AND ?")
              :format(name, name)
  if db:exec(sql, low, high) then return end
  left.tries = left.tries - 1
  if low == high then return end
  local middle = (low + high) // 2
  copy_rows(db, name, low, middle, left)
  copy_rows(db, name, middle + 1, high, left)
end

local function count(db, name)
  return assert(db:rows("SELECT count(*) AS n FROM " .. name))[1].n
end

-- The rows that can be read of a file, in a database in memory; nil: none.
local function whole_copy(dir, text)
  assert(core.system.write_file(dir .. "/old.db", text))
  local db = fresh ":memory:"
  assert(db:exec "PRAGMA foreign_keys = OFF")
  local tables = db:rows "SELECT name FROM sqlite_master WHERE type = 'table'"
  if db:exec("ATTACH ? AS old", dir .. "/old.db") then
    for _, t in ipairs(tables) do
      copy_rows(db, t.name, 1, math.max(1, #text // 16), { tries = MOST_TRIES })
    end
    for _, bad in ipairs(changed(db)) do
      assert(db:exec(("DELETE FROM %s WHERE rowid = ?"):format(bad[1]), bad[2]))
    end
    assert(db:exec(piece "store/queries.drop_implausible"))
  end
  db:exec "DETACH old"
  if find(tables, function(t) return count(db, t.name) > 0 end) then return db end
  db:close()
end

function salvage.read(file)
  local text = core.system.read_file(file)
  if not text or #text < PAGE or string.unpack(">I4", text, 61) == 1 then return nil end
  local dir = core.system.temp_dir()
  if not dir then return nil end
  fresh(dir .. "/new.db"):close()
  local model = assert(core.system.read_file(dir .. "/new.db"))
  local wal = core.system.read_file(file .. "-wal")
  if wal then core.system.write_file(dir .. "/old.db-wal", wal) end
  local ok, db = pcall(whole_copy, dir, with_new_schema(text, model))
  for _, name in ipairs(core.system.list(dir) or {}) do os.remove(dir .. "/" .. name) end
  os.remove(dir)
  if not ok then error(db, 0) end
  if not db then return nil end
  assert(db:exec(piece "store/queries.unknown_experiment"))
  return db, assert(db:rows(piece "store/queries.left"))[1].words
end

return salvage
