-- base/path.lua - finds what a script names: as given below the current folder,
-- else in the folder the engine was installed with.
local collect = require("kernelband.base.lists").collect
local core = require "kernelband.core"
local schema = require "kernelband.base.schema"

local path = {}

local system = core.system

-- The path to use, or nil and the places looked at.
function path.find(name)
  if system.exists(name) then return name end
  if name:sub(1, 1) == "/" then return nil, name end
  local installed = system.lib_dir() .. "/" .. name
  if system.exists(installed) then return installed end
  return nil, name .. ", " .. installed
end

-- The path to use of what a call of the user's cannot do without: who ("kb.task") complains by
-- form, which gets the places looked at.
function path.found(name, who, form)
  local file, looked = path.find(name)
  if file then return file end
  schema.raise_at_call(who, form, looked)
end

-- The text of a file of the engine's own, named from lua/kernelband; with values, @NAME@ in it is
-- values.NAME.
function path.own(name, values)
  local text = assert(system.read_file(system.lib_dir() .. "/lua/kernelband/" .. name))
  return values and text:gsub("@(%u+)@", values) or text
end

function path.join(dir, name)
  if name:sub(1, 1) == "/" then return name end
  return dir:sub(-1) == "/" and dir .. name or dir .. "/" .. name
end

-- "a/b/c.lua" -> "a/b"; "c.lua" -> "."; "/c" -> "/".
function path.dir(name)
  local dir = name:match "^(.*)/[^/]*$" or "."
  return dir == "" and "/" or dir
end

-- "a/b/c.lua" -> "c.lua"; "a/b/" -> "b".
function path.base(name) return name:match "([^/]+)/*$" or name end

-- Paths of the files of a folder that end so, in byte order of their names.
function path.files(dir, ending)
  local names, why, code = system.list(dir)
  if not names then return nil, why, code end
  return collect(names, function(name)
    local full = path.join(dir, name)
    return name:sub(-#ending) == ending and name:sub(1, 1) ~= "."
           and system.exists(full) == "file" and full
  end)
end

return path
