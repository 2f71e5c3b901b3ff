-- triton/compile.lua - device code in Triton for the native CUDA worker: one
-- @triton.jit kernel, compiled by worker/ in a jail, its cubin inspected, launched,
-- timed, checked and profiled by our own code like any CUDA kernel. The line
--
--   # kb: triton softmax_rows grid=(rows) args=(x, y, cols) BLOCK=1024 warps=8 stages=2
--
-- stands for a launch line of plan.lua: grid and args are its expressions, names in
-- capitals are tl.constexpr parameters, warps and stages the compiler's options.
--
--   compile.build(s, source)   -> { object =, plan = } | nil, text, code
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local python = require "kernelband.triton.python"
local text   = require "kernelband.base.text"

local compile = {}

local pattern = "^[ \t]*#[ \t]*kb:[ \t]*triton[ \t]+(.-)[ \t]*$"

local Refusal = {}

-- Ends a build unless it holds, which it returns.
local function need(code, holds, why)
  return holds or error(setmetatable({ code = code, why = why }, Refusal), 0)
end

-- { name =, grid = "(..)", args = { words }, constants = { BLOCK = 1024 }, warps =, stages = }
local function read(line)
  local l = { name = line:match "^([%a_][%w_]*)", grid = line:match "%f[%w]grid=(%b())",
              constants = {} }
  local args = line:match "%f[%w]args=(%b())"
  need("EPLAN", l.name and l.grid and args and #line <= 2048,
       "the line must be '# kb: triton NAME grid=(..) args=(..) BLOCK=64 warps=4'")
  l.args = lists.collect(lists.words(args:sub(2, -2), "[^,]+"), function(word)
    return word:match "^%s*(.-)%s*$"
  end)
  local rest = line:gsub("%f[%w]grid=%b()", ""):gsub("%f[%w]args=%b()", ""):sub(#l.name + 1)
  for word in rest:gmatch "%S+" do
    local key, value = word:match "^([%a_][%w_]*)=(%-?%d+)$"
    value = math.tointeger(tonumber(value))
    need("EPLAN", value and math.abs(value) < 1 << 31,
         ("'%s' is no NAME=INTEGER"):format(word:sub(1, 60)))
    if key == "warps" or key == "stages" then l[key] = value else l.constants[key] = value end
  end
  need("EPLAN", #l.args <= 32, "more than 32 arguments")
  return l
end

-- What Triton calls the type of each argument passed: fp32 for f32, else as we do.
local function signature(s, words)
  return lists.collect(words, function(word)
    local a = lists.find(s.task.args, function(arg) return arg.name == word end)
    return a and (a.mode ~= "scalar" and "*" or "") .. a.dtype:gsub("^f", "fp") or "i32"
  end)
end

local function ask(s, source, l)
  local reply = need("EBUILD", python.ask(s.python, "compile", json.encode {
    source = source, name = l.name, args = signature(s, l.args), constants = l.constants,
    warps = l.warps, stages = l.stages, arch = s.machine.arch }, " to compile Triton kernels with"))
  need(reply.error == "cheated" and "EDENIED" or "EBUILD", not reply.error, tostring(reply.text))
  local shared, warps = math.tointeger(reply.shared), math.tointeger(reply.warps)
  need("EBUILD", shared and warps and type(reply.cubin) == "string" and shared >= 0 and warps >= 1
       and warps <= 32 and type(reply.name) == "string" and reply.name:find "^[%a_][%w_]*$",
       "Triton's compiler gave no kernel")
  return { shared = shared, warps = warps, name = reply.name,
           ptx = tostring(reply.ptx), cubin = compile.from_hex(reply.cubin) }
end

-- What core/cuda/compile/ptx.h forbids, in the text that Triton's compiler gives beside it.
local forbidden = { "L2::evict_last", "L2::cache_hint", "discard.", "%globaltimer" }

function compile.from_hex(digits)
  return (digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- Triton's kernels take two pointers more, to scratch memory that these have none of.
local function launch_line(l, k, extra)
  local args = lists.with(l.args)
  for _ = 1, extra do table.insert(args, "0") end
  return ("// kb: launch %s grid=%s block=(%d) shared=%d args=(%s)"):format(k.name, l.grid,
    32 * k.warps, k.shared, table.concat(args, ", "))
end

local function build(s, source)
  local lines = lists.collect(text.lines(source), function(line) return line:match(pattern) end)
  need("EPLAN", #lines == 1, #lines .. " lines '# kb: triton ..'; one kernel is launched")
  local l = read(lines[1])
  local k = ask(s, source, l)
  local word = lists.find(forbidden, function(w) return k.ptx:find(w, 1, true) end)
  need("EDENIED", not word,
       ("its PTX says %s: it would reach over from one run to the next"):format(word))
  local entries = need("EDENIED", core.cubin(k.cubin, s.machine.arch))
  local entry = lists.find(entries, function(e) return e.name == k.name end)
  local extra = entry and entry.params - #l.args or -1
  need("EPLAN", extra >= 0 and extra <= 2, l.name .. " takes other parameters than are passed")
  local launches = need("EPLAN", s.planner.parse(launch_line(l, k, extra), s.task))
  if not s.device then return { plan = launches, entries = entries } end
  local object, log, code = s.device:build { cubin = k.cubin }
  return { object = need(code, object, log), plan = launches }
end

function compile.build(s, source)
  local ok, made = pcall(build, s, source)
  if ok then return made end
  if getmetatable(made) ~= Refusal then error(made, 0) end
  return nil, made.why, made.code
end

return compile
