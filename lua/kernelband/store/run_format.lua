-- store/run_format.lua - the tables of a run.db (run.sql), their version, and what a row of
-- evaluations holds.
local json = require "kernelband.base.json"
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

local evaluation = { __index = function(row, key)
  if key ~= "evaluation" then return nil end
  local value = json.table(row.json)
  row.evaluation = value
  return value
end }

-- Rows of evaluations: their params decoded; row.evaluation is row.json, decoded when first asked
-- for.
function format.evaluations(rows)
  for _, row in ipairs(rows) do setmetatable(row, evaluation).params = json.table(row.params) end
  return rows
end

return format
