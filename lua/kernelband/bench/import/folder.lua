-- bench/import/folder.lua - finds its way in somebody else's checkout. What it reads is
-- bounded in size, depth and number.
local core = require "kernelband.core"
local lists = require "kernelband.base.lists"
local path = require "kernelband.base.path"
local schema = require "kernelband.base.schema"

local folder = {}

local MOST_FOLDERS, MOST_DEPTH, MOST_BYTES = 4000, 7, 16 << 20

-- All folders at or below dir, nearest first, names in byte order. Links are not
-- followed twice: the number is bounded.
function folder.all(dir)
  local out, depth = { dir }, { [dir] = 0 }
  for _, at in ipairs(out) do           -- which grows meanwhile
    for _, name in ipairs(depth[at] < MOST_DEPTH and core.system.list(at) or {}) do
      local full = path.join(at, name)
      if name:sub(1, 1) ~= "." and name ~= "__pycache__"
         and #out < MOST_FOLDERS and core.system.exists(full) == "dir" then
        out[#out + 1], depth[full] = full, depth[at] + 1
      end
    end
    if #out >= MOST_FOLDERS then break end
  end
  return out
end

-- The files of a folder that end so; none where it cannot be read.
function folder.files(dir, ending) return path.files(dir, ending) or {} end

-- Whether fits(text, file) holds of one of the first `most` files.
function folder.any(files, most, fits)
  return lists.find(table.move(files, 1, math.min(#files, most), 1, {}), function(file)
    local text = folder.read(file)
    return text and fits(text, file)
  end) ~= nil
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
  schema.must_at_call(type(dir) == "string" and core.system.exists(dir) == "dir", who,
                      "there is no folder %s", schema.show(dir))
  return core.system.realpath(dir) or dir
end

-- The Python files of a folder as tasks: make(file, name) -> task | nil, why. only: names, all of
-- which must be there; noun: what one is. Returns { task .., skipped = { { name =, why = } .. } }.
function folder.tasks(who, noun, files, only, make)
  local tasks, seen = { skipped = {} }, {}
  for _, file in ipairs(files) do
    local name = path.base(file):gsub("%.py$", "")
    if name ~= "__init__" and (not only or lists.contains(only, name)) then
      local task, why = make(file, name)
      seen[name], tasks[#tasks + 1] = true, task
      if not task then table.insert(tasks.skipped, { name = name, why = why }) end
    end
  end
  for _, name in ipairs(only or {}) do
    schema.must_at_call(seen[name], who, "there is no %s %s", noun, name)
  end
  return tasks
end

return folder
