-- trace/tuner.lua - Kernel Tuner's cache files. Times are milliseconds.
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local tuner = {}

-- Every other word is a launch that failed.
local verdicts = { CompilationFailedConfig = "build_failed" }

-- A cache still open, as a running or a killed tuner leaves it, ends in a comma.
function tuner.closed(body)
  if not body:find('"cache"', 1, true) then return body end
  local open = body:match "^(.*}),%s*$"
  return open and open .. "}}" or body
end

function tuner.claims(d) return type(d.cache) == "table" end

function tuner.axes(file, d)
  local keys = d.tune_params_keys
  if type(keys) == "table" and #keys > 0 then return keys, d.device_name end
  if type(d.tune_params) == "table" then return lists.keys(d.tune_params), d.device_name end
  schema.raise("%s: a Kernel Tuner cache without tune_params_keys", file)
end

function tuner.each(file, d, read, add)
  local objective = type(d.objective) == "string" and d.objective or "time"
  for _, key in ipairs(lists.keys(d.cache)) do
    local entry, where = d.cache[key], ("cache[%q]"):format(key)
    schema.must(type(entry) == "table", "%s: %s: expected an object, got %s", file, where,
                schema.show(entry))
    local value = entry[objective]
    local failure = type(entry.__error__) == "string" and entry.__error__
                    or type(value) == "string" and value
    add(where, entry, read.row(file, where, { told = failure, time = value, unit = 1e6,
      verdict = not failure and "ok" or verdicts[failure], samples = entry.times }))
  end
end

return tuner
