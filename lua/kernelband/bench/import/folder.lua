-- bench/import/folder.lua - finds its way in somebody else's checkout. What it reads is
-- bounded in size, depth and number.
local core = require "kernelband.core"
local path = require "kernelband.base.path"
local schema = require "kernelband.base.schema"

local folder = {}

local MOST_FOLDERS, MOST_DEPTH, MOST_BYTES = 4000, 7, 16 << 20

-- All folders at or below dir, nearest first, names in byte order. Links are not
-- followed twice: the number is bounded.
function folder.all(dir)
  local out, depth = { dir }, { [dir] = 0 }
  local i = 1
  while out[i] and #out < MOST_FOLDERS do
    local at = out[i]
    if depth[at] < MOST_DEPTH then
      for _, name in ipairs(core.system.list(at) or {}) do
        local full = path.join(at, name)
        if name:sub(1, 1) ~= "." and name ~= "__pycache__"
           and core.system.exists(full) == "dir" and #out < MOST_FOLDERS then
          out[#out + 1], depth[full] = full, depth[at] + 1
        end
      end
    end
    i = i + 1
  end
  return out
end

-- A text file with Unix line ends and no byte order mark; nil, why.
function folder.read(file)
  local text, why = core.system.read_file(file)
  if not text then return nil, why end
  if #text > MOST_BYTES then return nil, file .. ": too large" end
  return (text:gsub("^\239\187\191", ""):gsub("\r\n?", "\n"))
end

-- A checkout that the user named in a call of who.
function folder.checkout(who, dir)
  if type(dir) ~= "string" or core.system.exists(dir) ~= "dir" then
    schema.raise_at_call(who, "there is no folder %s", schema.show(dir))
  end
  return core.system.realpath(dir) or dir
end

-- The Python files of a folder as tasks: make(file, name) -> task | nil, why. only: names, all of
-- which must be there; noun: what one is. Returns { task .., skipped = { { name =, why = } .. } }.
function folder.tasks(who, noun, files, only, make)
  local wanted, tasks = {}, { skipped = {} }
  for _, name in ipairs(only or {}) do wanted[name] = true end
  for _, file in ipairs(files) do
    local name = path.base(file):gsub("%.py$", "")
    if name ~= "__init__" and (not only or wanted[name]) then
      wanted[name] = nil
      local task, why = make(file, name)
      if task then tasks[#tasks + 1] = task
      else tasks.skipped[#tasks.skipped + 1] = { name = name, why = why } end
    end
  end
  for _, name in ipairs(only or {}) do
    if wanted[name] then schema.raise_at_call(who, "there is no %s %s", noun, name) end
  end
  return tasks
end

return folder
