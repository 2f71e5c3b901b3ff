-- kernelband new task|strategy|policy NAME - a first file that works, to edit.
local core    = require "kernelband.core"
local path    = require "kernelband.base.path"
local schema  = require "kernelband.base.schema"
local fill    = require("kernelband.base.template").fill

-- Of each kind the files of cli/skeletons. In them @NAME@ is the name given, @PATH@ its path.
local kinds = { task = { "task.lua", "reference.c", "baseline.c", "schedule.lua" },
                strategy = { "strategy.lua" }, policy = { "policy.lua" } }

return { "new", args = "task|strategy|policy NAME",
  run = function(_, rest, verb)
    local kind, single = kinds[rest[1]], rest[1] ~= "task"
    local folders, name = rest[2]:match "^(.-)([^/]*/?)$"
    name = name:gsub("%.lua$", "")
    schema.must(name:find "^%a[%w_]*$", "kernelband: '%s' cannot be a name: a letter, then "
      .. "letters, digits and _ (it names a C function)", name)
    local at = folders .. name .. (single and ".lua" or "")
    local words = { NAME = name, PATH = at, QUOTED = ("%q"):format(at) }
    local function place(file) return single and at or at .. "/" .. file end
    for _, file in ipairs(kind) do
      schema.must(not core.system.exists(place(file)),
        "kernelband: '%s' exists already and is left as it is", place(file))
    end
    local made, why = core.system.mkdir_p(single and path.dir(at) or at)
    if not made then schema.stop("kernelband: " .. why) end
    for _, file in ipairs(kind) do
      verb:write(path.own("cli/skeletons/" .. file .. ".in", words), place(file))
      print("wrote " .. place(file))
    end
    print(fill("cli/skeletons/next." .. rest[1], words))
  end,
}
