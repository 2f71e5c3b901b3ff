-- require "kernelband" - the whole public Lua interface. Parts are loaded when
-- first used, so that a tool that needs one does not pay for all.
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

-- Each name: the module that has it, and the field of that module, or nil when
-- the module itself is the value.
local parts = {
  { "core",       "kernelband.core" },
  { "task",       "kernelband.task", "load" },
  { "strategies", "kernelband.policy.strategy", "set" },
  { "strategy",   "kernelband.policy.strategy", "load" },
  { "policy",     "kernelband.policy", "load" },
  { "search",     "kernelband.search.search", "run" },
  { "search_all", "kernelband.search.many", "run" },
  { "reward",     "kernelband.policy", "rewards" },
  { "gpus",       "kernelband.core", "gpus" },
  { "synthetic",  "kernelband.task.synthetic", "new" },
  { "trace",      "kernelband.trace", "new" },
  { "sweep",      "kernelband.bench.sweep", "run" },
  { "compare",    "kernelband.bench.compare" },
  { "metrics",    "kernelband.bench.metrics" },
  { "version",    "kernelband.base.version" },
}

-- Those that are modules of one folder, each by the same function.
local function modules(folder, field, names)
  return lists.collect(names, function(name) return { name, folder .. name, field } end)
end

-- Old names of modules that scripts and schedules may still require.
local old_names = {
  json = "base.json", loop = "base.loop", path = "base.path", progress = "search.progress",
  search = "search.search", run = "store.run", emit_cuda = "emit.cuda",
  emit_rows = "emit.rows", emit_tile = "emit.tile", ["trace.features"] = "trace.walk",
}

table.insert(package.searchers, function(name)
  local now = old_names[name:match "^kernelband%.(.*)" or ""]
  return now and function() return require("kernelband." .. now) end or nil
end)

-- A table whose names are looked up, once each, in list.
local function face(who, list)
  local names = lists.collect(list, 1)
  local function refuse(name, why, ...)
    schema.raise_at_call(who .. "." .. tostring(name), why, ...)
  end
  return setmetatable({}, {
    names = names,
    __newindex = function(_, name) refuse(name, "cannot be set") end,
    __index = function(self, name)
      local part = lists.find(list, function(p) return p[1] == name end)
      if not part then refuse(name, "no such name%s", schema.hint(name, names)) end
      local value = require(part[2])
      rawset(self, name, part[3] and value[part[3]] or value)
      return self[name]
    end })
end

local kb = face("kb", parts)
rawset(kb, "generator", face("kb.generator", modules("kernelband.generator.", "new",
                             { "schedule", "llm", "command", "replay", "mixed" })))
rawset(kb, "import", face("kb.import", modules("kernelband.bench.import.", "load",
                          { "tritonbench", "kernelbench" })))
getmetatable(kb).old_names = old_names

return kb
