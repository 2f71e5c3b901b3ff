-- What a search loads: whoever reads one pull from choice to learning reads no more than this.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local script = [[
local kb = require "kernelband"
local r = kb.search { task = kb.task "tests/runs/scale", device = "cpu", budget = { steps = 1 },
                      strategies = "tests/runs/strategies", quiet = true,
                      policy = "policies/%s.lua" }
assert(r.pulls == 1, r.pulls)
for name in pairs(package.loaded) do
  if name:find "^kernelband" and name ~= "kernelband.core" then print(name) end
end
]]

-- The names of our Lua modules that a search of one pull has loaded, sorted.
local function loaded(policy)
  local file = t.folder() .. "/s.lua"
  assert(core.system.write_file(file, script:format(policy)))
  local pipe = assert(io.popen(("%s run %s 2>&1"):format(core.system.exe(), file)))
  local names = {}
  for line in pipe:lines() do names[#names + 1] = line end
  assert(pipe:close(), table.concat(names, "\n"))
  table.sort(names)
  return names
end

t.test("a search of one pull on the CPU loads few modules", function()
  local names = loaded("kernelband")
  print(#names .. " modules:\n  " .. table.concat(names, "\n  "))
  assert(#names <= 22, #names)
end)

t.test("of them the search itself is five", function()
  local own = {}
  for _, name in ipairs(loaded("random")) do
    own[#own + 1] = name:match "^kernelband%.search%.(.*)"
  end
  t.equal(own, { "finish", "pull", "search", "setup", "state" })
end)

t.finish()
