-- require "kernelband" - the whole public Lua interface. Parts are loaded when
-- first used, so that a tool that needs one does not pay for all.
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

-- Each name, and the module that has it with, behind a colon, the field of that module; the module
-- itself is the value where there is none.
local parts = {
  { "core", "core" }, { "task", "task:load" }, { "strategies", "policy.strategy:set" },
  { "strategy", "policy.strategy:load" }, { "policy", "policy:load" },
  { "search", "search.search:run" }, { "search_all", "search.many:run" },
  { "reward", "policy:rewards" }, { "gpus", "core:gpus" },
  { "synthetic", "task.synthetic:new" }, { "trace", "trace:new" },
  { "sweep", "bench.sweep:run" }, { "compare", "bench.compare" },
  { "metrics", "bench.metrics" }, { "version", "base.version" },
}

local generators = {
  { "schedule", "generator.schedule:new" }, { "llm", "generator.llm:new" },
  { "command", "generator.command:new" }, { "replay", "generator.replay:new" },
  { "mixed", "generator.mixed:new" },
}

local importers = {
  { "tritonbench", "bench.import.tritonbench:load" },
  { "kernelbench", "bench.import.kernelbench:load" },
}

-- Old names of modules that scripts and schedules may still require.
local old_names = {
  json = "base.json", loop = "base.loop", path = "base.path", progress = "search.progress",
  search = "search.search", run = "store.run", emit_cuda = "emit.cuda",
  emit_rows = "emit.rows", emit_tile = "emit.tile",
}

table.insert(package.searchers, function(name)
  local now = old_names[name:match "^kernelband%.(.*)" or ""]
  return now and function() return require("kernelband." .. now) end or nil
end)

-- A table whose names are looked up, once each, in list.
local function face(who, list)
  local names = lists.collect(list, function(part) return part[1] end)
  local function refuse(name, why, ...)
    schema.raise_at_call(who .. "." .. tostring(name), why, ...)
  end
  return setmetatable({}, {
    names = names,
    __newindex = function(_, name) refuse(name, "cannot be set") end,
    __index = function(self, name)
      local part = lists.find(list, function(p) return p[1] == name end)
      if not part then refuse(name, "no such name%s", schema.hint(name, names)) end
      local module, field = part[2]:match "^([^:]+):?(.*)$"
      local value = require("kernelband." .. module)
      rawset(self, name, field ~= "" and value[field] or value)
      return self[name]
    end })
end

local kb = face("kb", parts)
rawset(kb, "generator", face("kb.generator", generators))
rawset(kb, "import", face("kb.import", importers))
getmetatable(kb).old_names = old_names

return kb
