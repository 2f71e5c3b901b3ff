-- cli/doc/changes.lua - what changed in this version: changes.md, and the old names that are still
-- accepted, from the tables that accept them.
local fence = require "kernelband.base.fence"
local kb    = require "kernelband"
local lists   = require "kernelband.base.lists"
local path  = require "kernelband.base.path"

local changes = {}

function changes.markdown()
  local removed, old = {}, getmetatable(kb).old_names
  local folder = path.find "policies"
  for _, file in ipairs(folder and path.files(folder, ".lua") or {}) do
    local gone = fence.load(file).removed or {}
    for _, name in ipairs(lists.keys(gone)) do
      removed[#removed + 1] = ("- `%s` of policies/%s: %s"):format(name, path.base(file),
                                                                 gone[name])
    end
  end
  local renamed = lists.collect(lists.keys(old), function(name)
    return ("- `kernelband.%s` is `kernelband.%s`"):format(name, old[name])
  end)
  return path.own("cli/doc/changes.md", { VERSION = kb.version,
    REMOVED = table.concat(removed, "\n"), MODULES = table.concat(renamed, "\n") })
end

return changes
