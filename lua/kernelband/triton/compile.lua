-- triton/compile.lua - device code in Triton for the native CUDA worker: one
-- @triton.jit kernel, compiled by worker/ in a jail, its cubin inspected, launched,
-- timed, checked and profiled by our own code like any CUDA kernel. The line
--
--   # kb: triton softmax_rows grid=(rows) args=(x, y, cols) BLOCK=1024 warps=8 stages=2
--
-- stands for a launch line of plan.lua: grid and args are its expressions, names in
-- capitals are tl.constexpr parameters, warps and stages the compiler's options.
--
--   compile.is(source)         -> does it hold such a line?
--   compile.build(s, source)   -> { object =, plan = } | nil, text, code
local collect = require("kernelband.base.lists").collect
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local python = require "kernelband.triton.python"
local text_lines = require("kernelband.base.text").lines

local compile = {}

local types = { f64 = "fp64", f32 = "fp32", f16 = "fp16", bf16 = "bf16", i8 = "i8", u8 = "u8",
                i32 = "i32", i64 = "i64" }

local pattern = "^[ \t]*#[ \t]*kb:[ \t]*triton[ \t]+(.-)[ \t]*$"

local function lines_of(source)
  return collect(text_lines(source), function(line) return line:match(pattern) end)
end

function compile.is(source)
  return #source < 4 << 20 and source:find("# kb: triton", 1, true) ~= nil
end

-- { name =, grid = "(..)", args = { words }, constants = { BLOCK = 1024 }, warps =, stages = }
local function read(line)
  local l = { constants = {}, args = {} }
  l.name = line:match "^([%a_][%w_]*)"
  l.grid = line:match "%f[%w]grid=(%b())"
  local args = line:match "%f[%w]args=(%b())"
  if not l.name or not l.grid or not args or #line > 2048 then
    return nil, "the line must be '# kb: triton NAME grid=(..) args=(..) BLOCK=64 warps=4'"
  end
  for word in args:sub(2, -2):gmatch "[^,]+" do
    l.args[#l.args + 1] = word:match "^%s*(.-)%s*$"
  end
  local rest = line:gsub("%f[%w]grid=%b()", ""):gsub("%f[%w]args=%b()", ""):sub(#l.name + 1)
  for word in rest:gmatch "%S+" do
    local key, value = word:match "^([%a_][%w_]*)=(%-?%d+)$"
    value = math.tointeger(tonumber(value))
    if not value or math.abs(value) >= 1 << 31 then
      return nil, ("'%s' is no NAME=INTEGER"):format(word:sub(1, 60))
    end
    if key == "warps" or key == "stages" then l[key] = value else l.constants[key] = value end
  end
  if #l.args > 32 then return nil, "more than 32 arguments" end
  return l
end

-- What Triton calls the type of each argument passed.
local function signature(s, words)
  local by_name = {}
  for _, a in ipairs(s.task.args) do by_name[a.name] = a end
  return collect(words, function(word)
    local a = by_name[word]
    return a and (a.mode ~= "scalar" and "*" or "") .. types[a.dtype] or "i32"
  end)
end

local function ask(s, source, l)
  local name, wanted = python.name(s.python)
  if not name then return nil, "there is no " .. wanted .. " to compile Triton kernels with" end
  local text, why = python.run({ name, python.worker(), "compile" }, json.encode {
    source = source, name = l.name, args = signature(s, l.args), constants = l.constants,
    warps = l.warps, stages = l.stages, arch = s.machine.arch })
  if not text then return nil, why end
  local reply = json.table(text)
  if not reply then return nil, "Triton's compiler broke off" end
  if reply.error then
    return nil, tostring(reply.text), reply.error == "cheated" and "EDENIED" or "EBUILD"
  end
  local shared, warps = math.tointeger(reply.shared), math.tointeger(reply.warps)
  if not shared or not warps or type(reply.cubin) ~= "string" or shared < 0 or warps < 1
     or warps > 32 or type(reply.name) ~= "string" or not reply.name:find "^[%a_][%w_]*$" then
    return nil, "Triton's compiler gave no kernel"
  end
  return { shared = shared, warps = warps, name = reply.name,
           ptx = tostring(reply.ptx), cubin = compile.from_hex(reply.cubin) }
end

-- What core/cuda/compile/ptx.h forbids, in the text that Triton's compiler gives beside it.
local forbidden = { "L2::evict_last", "L2::cache_hint", "discard.", "%globaltimer" }

local function reach(ptx)
  for _, word in ipairs(forbidden) do
    if ptx:find(word, 1, true) then
      return ("its PTX says %s: it would reach over from one run to the next"):format(word)
    end
  end
end

function compile.from_hex(text)
  return (text:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- Triton's kernels take two pointers more, to scratch memory that these have none of.
local function launch_line(l, k)
  local args = table.move(l.args, 1, #l.args, 1, {})
  for _ = 1, k.extra do args[#args + 1] = "0" end
  return ("// kb: launch %s grid=%s block=(%d) shared=%d args=(%s)"):format(k.name, l.grid,
    32 * k.warps, k.shared, table.concat(args, ", "))
end

function compile.build(s, source)
  local lines = lines_of(source)
  if #lines ~= 1 then
    return nil, ("%d lines '# kb: triton ..'; one kernel is launched"):format(#lines), "EPLAN"
  end
  local l, why = read(lines[1])
  if not l then return nil, why, "EPLAN" end
  local k, text, code = ask(s, source, l)
  if not k then return nil, text, code or "EBUILD" end
  text = reach(k.ptx)
  if text then return nil, text, "EDENIED" end
  local entries, refused = core.cubin(k.cubin, s.machine.arch)
  if not entries then return nil, refused, "EDENIED" end
  k.extra = -1
  for _, e in ipairs(entries) do
    if e.name == k.name then k.extra = e.params - #l.args end
  end
  if k.extra < 0 or k.extra > 2 then
    return nil, ("%s takes other parameters than are passed"):format(l.name), "EPLAN"
  end
  local launches
  launches, why = s.planner.parse(launch_line(l, k), s.task)
  if not launches then return nil, why, "EPLAN" end
  if not s.device then return { plan = launches, entries = entries } end
  local object
  object, text, code = s.device:build { cubin = k.cubin }
  if not object then return nil, text, code end
  return { object = object, plan = launches }
end

return compile
