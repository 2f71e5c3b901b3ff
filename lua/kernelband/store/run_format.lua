-- store/run_format.lua - the tables of a run.db (run.sql) and their version.
local schema = require "kernelband.base.schema"

local format = { version = 2 }

-- What makes a new one.
format.create = require("kernelband.base.path").own "store/run.sql"
                .. "PRAGMA user_version = " .. format.version .. ";"

-- Raises where an open file is not of this format.
function format.check(db, folder)
  local found, why = db:rows "PRAGMA user_version"
  if not found then schema.raise("%s/run.db: %s", folder, why) end
  local version = found[1].user_version
  if version ~= format.version then
    schema.raise("%s/run.db has format %d, this kernelband reads format %d", folder, version,
                 format.version)
  end
end

return format
