-- report/journal.lua - run.db for reading: one transaction, so that what is read
-- belongs together while the run goes on.
--
--   local j <close> = journal.open "runs/a"     raises when there is no run
--   j:rows(sql, ...)   j:experiment()   j.folder   j.format   j:close()
--   j.damage        a sentence, where the file is damaged and these are its remains
local format = require "kernelband.store.run_format"
local run    = require "kernelband.store.run"
local schema = require "kernelband.base.schema"

local journal = {}
journal.__index = journal
journal.__close = function(self) self:close() end

function journal:rows(...) return self.reader:rows(...) end

-- The experiment's row; what is JSON in it is a table, {} where it is broken.
function journal:experiment()
  local e = self.reader:experiment()
  for _, name in ipairs { "args", "identity", "options", "machine", "hashes", "clocks" } do
    if type(e[name]) ~= "table" then e[name] = {} end
  end
  return e
end

function journal:close() self.reader:close() end

function journal.open(folder, how)
  local reader = run.reader(folder, how or "anyway")
  local j = setmetatable({ reader = reader, folder = reader.folder, damage = reader.damage },
                         journal)
  local ok, why = reader.db:exec "BEGIN"
  if ok then j.format, why = format.of(reader.db, reader.folder) end
  if not j.format then
    reader:close()
    schema.raise("%s", why)
  end
  return j
end

return journal
