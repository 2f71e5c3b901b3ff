-- kernelband list tasks|strategies|policies - what can be named in a script.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local fence   = require "kernelband.base.fence"
local json    = require "kernelband.base.json"
local path    = require "kernelband.base.path"
local tasks   = require "kernelband.task"
local text    = require "kernelband.base.text"

-- Where they are, below the current folder and then below the installed one; * is any name.
local patterns = { tasks = "examples/tasks/*/task.lua", strategies = "strategies/*/*.lua",
                   policies = "policies/*.lua" }

-- Adds the names below a root that fit a pattern, in byte order; dir is before them all.
local function add_names(out, root, dir, pattern)
  local part, deeper = pattern:match "^([^/]+)/?(.*)$"
  local like = "^" .. part:gsub("%.", "%%."):gsub("%*", "[^.].*") .. "$"
  for _, name in ipairs(core.system.list(root .. dir) or {}) do
    if name:find(like) and deeper ~= "" then
      add_names(out, root, dir .. name .. "/", deeper)
    elseif name:find(like) then
      out[#out + 1] = dir .. name
    end
  end
end

-- An entry; a file that does not load is listed with what is wrong.
local function entry(file, kind)
  local dir = path.dir(file)
  if kind == "tasks" then file = dir end
  local ok, value = pcall(kind == "tasks" and tasks.load or fence.load, file)
  local why = not ok and tostring(value)
              or type(value) ~= "table" and file .. ": does not return a table" or nil
  if why then value = {} end
  return { path = file, name = value.name or path.base(file), summary = value.summary,
           target = value.target, error = why,
           set = kind == "strategies" and path.base(dir) or nil }
end

-- A name found below both roots is one thing, and path.find takes the nearer.
local function collect(kind)
  local names = {}
  for _, root in ipairs { "./", core.system.lib_dir() .. "/" } do
    add_names(names, root, "", patterns[kind])
  end
  return lists.collect(lists.distinct(names), function(name)
    return entry(path.find(name), kind)
  end)
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

return { "list", args = "tasks|strategies|policies", options = { "json" },
  run = function(opt, rest)
    local kind = rest[1]
    local found = collect(kind)
    if not opt.json then return show(found, kind) end
    print(json.encode { [kind] = #found > 0 and found or json.empty_list })
  end,
}
