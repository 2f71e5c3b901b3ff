-- kernelband new task|strategy|policy NAME - a first file that works, to edit.
local core    = require "kernelband.core"
local path    = require "kernelband.base.path"
local schema  = require "kernelband.base.schema"

-- Of each kind the files of cli/skeletons, and what to do next. @NAME@ is the name given, @PATH@
-- its path, @QUOTED@ that path as a Lua string.
local kinds = {
  task = { "task.lua", "reference.c", "baseline.c", "schedule.lua", next = [[
next: kernelband eval @PATH@ @PATH@/baseline.c, then edit task.lua,
reference.c and baseline.c; schedule.lua is optional]] },
  strategy = { "strategy.lua", next = [[
next: edit target, prompt and moves; use it with kb.strategies { @QUOTED@, ... }
or by putting it in a folder of strategies]] },
  policy = { "policy.lua",
             next = "next: edit choose; use it with policy = kb.policy(@QUOTED@, {})" },
}

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
    print((kind.next:gsub("@(%u+)@", words)))
  end,
}
