-- Every Lua file parses as text. Run by make lint.
local core = require "kernelband.core"
local system = core.system
local files, bad = 0, 0

local function walk(dir)
  for _, name in ipairs(assert(system.list(dir))) do
    local path = dir .. "/" .. name
    if system.exists(path) == "dir" then
      walk(path)
    elseif name:match "%.lua$" then
      files = files + 1
      local ok, why = loadfile(path, "t")
      if not ok then
        bad = bad + 1
        io.stderr:write("lint: ", why, "\n")
      end
    end
  end
end

for _, dir in ipairs { "lua", "strategies", "policies", "examples", "tests" } do walk(dir) end
print(("lint: %d Lua files parse"):format(files))
assert(bad == 0, "some Lua files do not parse")
