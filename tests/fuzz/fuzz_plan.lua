-- Seeded mutations of good plans: parse and resolve answer, whatever comes.
local core = require "kernelband.core"
local plan = require "kernelband.plan"

local rng = core.rng(20250731)
local task = {
  name = "t", shape_names = { "rows", "cols" },
  args = { { name = "x", dtype = "f32", mode = "in", dims = { "rows" } },
           { name = "y", dtype = "bf16", mode = "out", dims = { "rows", "cols" } },
           { name = "rows", dtype = "i32", mode = "scalar" },
           { name = "eps", dtype = "f32", mode = "scalar", value = 0.5 } },
}
local shapes = { { rows = 1, cols = 1 }, { rows = 8191, cols = 4097 },
                 { rows = 1 << 30, cols = 1 << 30 } }
local seeds = {
  "// kb: scratch p f32[rows*8]\n// kb: launch k grid=(cdiv(rows,4)) block=(128) "
  .. "shared=4*cols args=(x, y, rows, cols)\n",
  "// kb: scratch a i8[(rows+3)/4*4]\n// kb: scratch b bf16[max(rows,cols)]\n"
  .. "// kb: launch one grid=(rows,cdiv(cols,32),2) block=(32,8,1) args=(a,b,x,eps,-1)\n"
  .. "// kb: launch two block=(min(cols,1024)) grid=(sm_count*2) args=(b,y,rows%7) shared=0\n"
  .. 'extern "C" __global__ void one() {}\n',
}
local words = {
  "(", ")", "((", "))", "[", "]", ",", "=", "grid=", "block=(", "args=(", "shared=", "// kb: ",
  "launch ", "scratch ", "cdiv(", "min(", "max(", "rows", "cols", "sm_count", "x", "p", "eps",
  "+", "-", "*", "/", "%", "0", "1", "9007199254740991", "99999999999999999999", "0x7f", "1e9",
  "\n", "\r\n", "\0", "\255", "  ", "\t", "%d", "%s", "$", "^", "f32[", "f64[", "--", "-(",
}

local function mutate(s)
  for _ = 1, 1 + rng:below(6) do
    local at = rng:below(#s + 1)
    local kind = rng:below(5)
    if kind == 0 then                                   -- a word goes in
      s = s:sub(1, at) .. words[1 + rng:below(#words)] .. s:sub(at + 1)
    elseif kind == 1 then                               -- a piece goes
      s = s:sub(1, at) .. s:sub(at + 1 + rng:below(12))
    elseif kind == 2 then                               -- a byte changes
      s = s:sub(1, at) .. string.char(rng:below(256)) .. s:sub(at + 2)
    elseif kind == 3 then                               -- a piece again, elsewhere
      local from = rng:below(#s + 1)
      s = s:sub(1, at) .. s:sub(from, from + rng:below(60)) .. s:sub(at + 1)
    else                                                -- a piece many times
      s = s:sub(1, at) .. s:sub(at + 1, at + 1 + rng:below(4)):rep(rng:below(200)) .. s:sub(at + 1)
    end
  end
  return s
end

local seconds = tonumber(os.getenv "SECONDS" or "") or 2
local stop = core.system.now_ns() + math.floor(seconds * 1e9)
local tried, parsed, resolved, slowest = 0, 0, 0, 0
while core.system.now_ns() < stop and tried < 200000 do
  tried = tried + 1
  local text = mutate(seeds[1 + rng:below(#seeds)])
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
  tried, parsed, resolved, slowest / 1e6))
