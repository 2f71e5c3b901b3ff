-- kernelband list tasks|strategies|policies - what can be named in a script.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local fence   = require "kernelband.base.fence"
local json    = require "kernelband.base.json"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local tasks   = require "kernelband.task"
local text    = require "kernelband.base.text"

-- Folders that may hold them: below the current folder, then the installed.
local function roots()
  local here, lib = core.system.realpath ".", core.system.realpath(core.system.lib_dir())
  if here == lib then return { "" } end
  return { "", core.system.lib_dir() .. "/" }
end

local function folders(dir)
  return lists.collect(core.system.list(dir) or {}, function(name)
    local full = path.join(dir, name)
    return core.system.exists(full) == "dir" and full
  end)
end

-- An entry; a file that does not load is listed with what is wrong.
local function entry(file, load)
  local ok, value = pcall(load, file)
  local why = not ok and tostring(value)
              or type(value) ~= "table" and file .. ": does not return a table" or nil
  if why then value = {} end
  return { path = file, name = value.name or path.base(file), summary = value.summary,
           target = value.target, error = why }
end

-- Calls add(path, set of a strategy) for each of a kind below a root.
local kinds = {}

function kinds.tasks(root, add)
  for _, dir in ipairs(folders(root .. "examples/tasks")) do
    if core.system.exists(dir .. "/task.lua") then add(dir) end
  end
end

function kinds.strategies(root, add)
  for _, dir in ipairs(folders(root .. "strategies")) do
    for _, file in ipairs(path.files(dir, ".lua") or {}) do add(file, path.base(dir)) end
  end
end

function kinds.policies(root, add)
  for _, file in ipairs(path.files(root .. "policies", ".lua") or {}) do add(file) end
end

-- The same relative path below two roots is the same thing: the first counts.
local function collect(kind)
  local found, seen = {}, {}
  for _, root in ipairs(roots()) do
    kinds[kind](root, function(file, set)
      local key = file:sub(#root + 1)
      if seen[key] then return end
      local e = entry(file, kind == "tasks" and tasks.load or fence.load)
      seen[key], e.set, found[#found + 1] = true, set, e
    end)
  end
  return found
end

local function show(found, kind)
  io.write(text.table(lists.collect(found, function(e)
    local words = e.error and "cannot be loaded: " .. e.error or e.summary or ""
    return { e.path, e.target and ("[%s] %s"):format(e.target, words) or words }
  end), { most = 60 }))
  if #found == 0 then
    io.stderr:write(("no %s here; kernelband new writes a first one\n"):format(kind))
  end
end

return options.verb { "list",
  summary = "list tasks, strategies or policies",
  args = "tasks|strategies|policies", options = { options.json },
  run = function(opt, rest)
    local kind = rest[1]
    local found = collect(kind)
    if opt.json then
      print(json.encode { [kind] = #found > 0 and found or json.empty_list })
    else
      show(found, kind)
    end
    return 0
  end,
}
