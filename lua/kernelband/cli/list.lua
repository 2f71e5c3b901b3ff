-- kernelband list tasks|strategies|policies - what can be named in a script.
local core    = require "kernelband.core"
local fence   = require "kernelband.base.fence"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local schema  = require "kernelband.base.schema"
local tasks   = require "kernelband.task"

local usage = "kernelband list tasks|strategies|policies [--json]"

-- Folders that may hold them: below the current folder, then the installed.
local function roots()
  local here, lib = core.system.realpath ".", core.system.realpath(core.system.lib_dir())
  if here == lib then return { "" } end
  return { "", core.system.lib_dir() .. "/" }
end

local function folders(dir)
  local out = {}
  for _, name in ipairs(core.system.list(dir) or {}) do
    local full = path.join(dir, name)
    if core.system.exists(full) == "dir" then out[#out + 1] = full end
  end
  return out
end

-- An entry; a file that does not load is listed with what is wrong.
local function entry(file, load)
  local ok, value = pcall(load, file)
  if not ok then return { path = file, name = path.base(file), error = tostring(value) } end
  if type(value) ~= "table" then
    return { path = file, name = path.base(file), error = file .. ": does not return a table" }
  end
  return { path = file, name = value.name or path.base(file), summary = value.summary,
           target = value.target }
end

local kinds = {}

function kinds.tasks(root, add)
  for _, dir in ipairs(folders(root .. "examples/tasks")) do
    if core.system.exists(dir .. "/task.lua") then
      add(entry(dir, tasks.load))
    end
  end
end

function kinds.strategies(root, add)
  for _, dir in ipairs(folders(root .. "strategies")) do
    for _, file in ipairs(path.files(dir, ".lua") or {}) do
      local e = entry(file, fence.load)
      e.set = path.base(dir)
      add(e)
    end
  end
end

function kinds.policies(root, add)
  for _, file in ipairs(path.files(root .. "policies", ".lua") or {}) do
    add(entry(file, fence.load))
  end
end

-- The same relative path below two roots is the same thing: the first counts.
local function collect(kind)
  local found, seen = {}, {}
  for _, root in ipairs(roots()) do
    kinds[kind](root, function(e)
      local key = e.path:sub(#root + 1)
      if not seen[key] then
        seen[key] = true
        found[#found + 1] = e
      end
    end)
  end
  return found
end

local function show(found, kind)
  local width = 0
  for _, e in ipairs(found) do width = math.max(width, #e.path) end
  for _, e in ipairs(found) do
    local text = e.error and "cannot be loaded: " .. e.error or e.summary or ""
    if e.target then text = ("[%s] %s"):format(e.target, text) end
    print(("%-" .. math.min(width, 60) .. "s  %s"):format(e.path, text))
  end
  if #found == 0 then
    io.stderr:write(("no %s here; kernelband new makes a first one\n"):format(kind))
  end
end

local opts = { { "json", doc = "print one JSON object" } }

local function run(args)
  local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1, most = 1 })
  local kind = rest[1]
  if not kinds[kind] then
    schema.raise("kernelband: cannot list '%s'%s\nusage: %s", kind,
                 schema.hint(kind, { "tasks", "strategies", "policies" }), usage)
  end
  local found = collect(kind)
  if not opt.json then
    show(found, kind)
    return 0
  end
  local cjson = require "cjson"
  local parts = {}      -- joined here because cjson writes an empty list as {}
  for i, e in ipairs(found) do parts[i] = cjson.encode(e) end
  print(("{%q:[%s]}"):format(kind, table.concat(parts, ",")))
  return 0
end

return { summary = "lists tasks, strategies or policies", usage = usage, options = opts,
         words = { "tasks", "strategies", "policies" }, run = run }
