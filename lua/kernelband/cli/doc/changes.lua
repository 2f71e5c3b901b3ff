-- cli/doc/changes.lua - what changed in this version: changes.in, and the old names that are still
-- accepted, from the tables that accept them.
local fence    = require "kernelband.base.fence"
local kb       = require "kernelband"
local keys     = require("kernelband.base.lists").keys
local path     = require "kernelband.base.path"
local template = require "kernelband.base.template"

local changes = {}

function changes.markdown()
  local removed, folder = {}, path.find "policies"
  for _, file in ipairs(folder and path.files(folder, ".lua") or {}) do
    local gone = fence.load(file).removed or {}
    for _, name in ipairs(keys(gone)) do
      removed[#removed + 1] = { name = name, file = path.base(file), why = gone[name] }
    end
  end
  return template.fill("cli/doc/changes.text", { version = kb.version, removed = removed,
    old_names = getmetatable(kb).old_names, keys = keys }) .. "\n"
end

return changes
