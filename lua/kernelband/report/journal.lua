-- report/journal.lua - run.db for reading: one transaction, so that what is read
-- belongs together while the run goes on.
--
--   local j = journal.open "runs/a"     raises when there is no run
--   j:rows(sql, ...)   j:experiment()   j.format   j.has[column or table]   j:close()
local core   = require "kernelband.core"
local json   = require "kernelband.json"
local schema = require "kernelband.schema"

local journal = {}
journal.__index = journal
journal.__close = function(self) self:close() end

function journal:rows(sql, ...)
  local out, why
  if select("#", ...) > 0 then out, why = self.db:rows(sql, ...)
  else out, why = self.db:rows(sql) end
  if not out then self:damaged(why) end
  return out
end

function journal:damaged(why)
  error(("%s/run.db cannot be read: %s"):format(self.folder, tostring(why)), 0)
end

-- The experiment's row, its JSON decoded.
function journal:experiment()
  local e = self:rows("SELECT * FROM experiment")[1]
  if not e then self:damaged "it holds no experiment" end
  for _, name in ipairs { "args", "identity", "options", "machine", "hashes", "clocks" } do
    local ok, value = pcall(json.decode, e[name] or "")
    e[name] = ok and type(value) == "table" and value or {}
  end
  return e
end

function journal:close()
  if self.db then self.db:close() end
  self.db = nil
end

function journal.open(folder)
  folder = folder:gsub("(.)/+$", "%1")
  if core.system.exists(folder .. "/run.db") ~= "file" then
    schema.raise("kernelband: %s holds no run (there is no run.db in it)", folder)
  end
  local j = setmetatable({ folder = folder, has = {} }, journal)
  local why
  j.db, why = core.store(folder .. "/run.db")
  if not j.db then j:damaged(why) end
  local ok, failed = pcall(function()
    j:rows "SELECT count(*) FROM sqlite_master"         -- is it a database?
    j.db:exec "BEGIN"
    j.format = j:rows("PRAGMA user_version")[1].user_version
    if j.format ~= 1 and j.format ~= 2 then
      j:damaged(("it has format %s, this kernelband reads 1 and 2"):format(j.format))
    end
    for _, t in ipairs(j:rows "SELECT name FROM sqlite_master WHERE type = 'table'") do
      j.has[t.name] = true
    end
    for _, c in ipairs(j:rows "SELECT name FROM pragma_table_info('pulls')") do
      j.has[c.name] = true
    end
  end)
  if not ok then
    j:close()
    error(failed, 0)
  end
  return j
end

return journal
