-- Seeded mutations of good plans: parse and resolve answer, whatever comes.
local core = require "kernelband.core"
local plan = require "kernelband.task.plan"
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local mutate = require "mutate"

local task = {
  name = "t", shape_names = { "rows", "cols" },
  args = { { name = "x", dtype = "f32", mode = "in", dims = { "rows" } },
           { name = "y", dtype = "bf16", mode = "out", dims = { "rows", "cols" } },
           { name = "rows", dtype = "i32", mode = "scalar" },
           { name = "eps", dtype = "f32", mode = "scalar", value = 0.5 } },
}
local shapes = { { rows = 1, cols = 1 }, { rows = 8191, cols = 4097 },
                 { rows = 1 << 30, cols = 1 << 30 } }
local words = {
  "(", ")", "((", "))", "[", "]", ",", "=", "grid=", "block=(", "args=(", "shared=", "// kb: ",
  "launch ", "scratch ", "cdiv(", "min(", "max(", "rows", "cols", "sm_count", "x", "p", "eps",
  "+", "-", "*", "/", "%", "0", "1", "9007199254740991", "99999999999999999999", "0x7f", "1e9",
  "\n", "\r\n", "\0", "\255", "  ", "\t", "%d", "%s", "$", "^", "f32[", "f64[", "--", "-(",
}

local m = mutate.new { corpus = "fuzz_plan", words = words, seed = 20250731 }
local parsed, resolved, slowest = 0, 0, 0
for text in m.texts() do
  local began = core.system.now_ns()
  local ok, p, why = pcall(plan.parse, text, task)
  if not ok then error(("parse raised on %q: %s"):format(text, tostring(p))) end
  if p then
    parsed = parsed + 1
    for _, shape in ipairs(shapes) do
      local good, r, reason = pcall(plan.resolve, p, task, shape, { sm_count = 132 })
      if not good then error(("resolve raised on %q: %s"):format(text, tostring(r))) end
      if r then resolved = resolved + 1 end
      if not r and (type(reason) ~= "string" or reason:find "[^\x20-\x7e]") then
        error(("resolve gave no sentence on %q"):format(text))
      end
    end
  elseif type(why) ~= "string" or why:find "[^\x20-\x7e]" then
    error(("parse gave no sentence on %q"):format(text))
  end
  slowest = math.max(slowest, core.system.now_ns() - began)
end
if slowest > 500000000 then error(("a plan took %.0f ms"):format(slowest / 1e6)) end
print(("fuzz_plan: %d texts, %d parsed, %d resolved, slowest %.1f ms"):format(
  m.tried, parsed, resolved, slowest / 1e6))
