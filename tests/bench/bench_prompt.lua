-- CPU time of building a question, over a made-up search of 40 pulls (at most 4 ms asked for).
package.path = "tests/lib/?.lua;" .. package.path
local core      = require "kernelband.core"
local prompt    = require "kernelband.generator.prompt"
local questions = require "questions"

local times, new = {}, prompt.new
function prompt.new(...)
  local p = new(...)
  local propose = p.propose
  function p.propose(...)
    local began = os.clock()
    local q = propose(...)
    times[#times + 1] = 1e3 * (os.clock() - began)
    return q
  end
  return p
end

local r = core.rng(3)
local _, asked = questions.search { task = "softmax", steps = 40, answer = function()
  local lines = {}
  for i = 1, 100 + r:below(200) do lines[i] = ("    v%d_%d();"):format(r:below(40), i) end
  return ("```c\nvoid softmax(const float *x, float *y, int rows, int cols)\n{\n%s SPEED %.2f;\n}"
          .. "\n```\n"):format(table.concat(lines, "\n"), 1 + 2 * r:uniform())
end }
prompt.new = new

local at_30 = times[30]
table.sort(times)
print(("prompt: a question takes %.2f ms of CPU, median of %d (%.2f to %.2f), %.2f at pull 30, "
       .. "%d bytes"):format(times[#times // 2 + 1], #times, times[1], times[#times], at_30,
       #asked[30].text))
