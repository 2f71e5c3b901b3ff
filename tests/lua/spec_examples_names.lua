-- What the examples use of our modules is there: most of them run only in benchmarks.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local path = require "kernelband.base.path"

-- The code of a file without comments and strings, and the modules that it requires, by the names
-- that it gives them.
local function code_of(file)
  local text = assert(core.system.read_file(file)):gsub("%-%-[^\n]*", "")
  local required = {}
  for name, module in text:gmatch "local ([%w_]+) *= require \"(kernelband[%w_.]*)\"\n" do
    required[name] = module
  end
  return text:gsub("\"[^\"\n]*\"", "''"), required
end

t.test("the examples use only what our modules have", function()
  local seen = 0
  for _, folder in ipairs { "examples", "examples/lab", "tests/bench" } do
    for _, file in ipairs(path.files(folder, ".lua")) do
      local code, required = code_of(file)
      for name, module in pairs(required) do
        local fields = require(module)
        for field in code:gmatch("%f[%w_.]" .. name .. "%.([%a_][%w_]*)") do
          seen = seen + 1
          local _, found = pcall(function() return fields[field] end)
          if found == nil then error(("%s: %s has no %s"):format(file, module, field), 0) end
        end
      end
    end
  end
  assert(seen > 50, seen)
end)

t.finish()
