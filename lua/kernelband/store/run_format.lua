-- store/run_format.lua - the tables of a run.db (run.sql), their version, what goes into a row
-- and what a row of evaluations holds.
local json = require "kernelband.base.json"
local schema = require "kernelband.base.schema"

local format = { version = 2 }

-- What makes a new one.
format.create = require("kernelband.base.path").own "store/run.sql"
                .. "PRAGMA user_version = " .. format.version .. ";"

-- Raises where an open file is not of this format.
function format.check(db, folder)
  local found, why = db:rows "PRAGMA user_version"
  local version = schema.must(found, "%s/run.db: %s", folder, why)[1].user_version
  schema.must(version == format.version, "%s/run.db has format %d, this kernelband reads format %d",
              folder, version, format.version)
end

-- What a column of each type takes of a value: a table as JSON, NULL for what does not fit.
local fitted = {
  INTEGER = function(v) return type(v) == "number" and math.tointeger(v) or nil end,
  REAL = function(v) return type(v) == "number" and v == v and v + 0.0 or nil end,
  TEXT = function(v)
    if type(v) == "table" then return json.encode(v) end
    return v ~= nil and tostring(v) or nil
  end,
}

local columns = {}                      -- of each table, in order

-- Adds a row: a table whose fields are named as its columns. Returns as db:exec does.
function format.insert(db, name, row)
  columns[name] = columns[name] or assert(db:rows(("PRAGMA table_info(%s)"):format(name)))
  local values, n = {}, #columns[name]
  for i, column in ipairs(columns[name]) do values[i] = fitted[column.type](row[column.name]) end
  return db:exec(("INSERT INTO %s VALUES (%s)"):format(name, ("?,"):rep(n):sub(1, -2)),
                 table.unpack(values, 1, n))
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
