-- bench/import/kernelbench.lua - problems of KernelBench as tasks, from a checkout the user
-- has: files with a class Model, get_inputs and get_init_inputs.
--
--   tasks = kb.import.kernelbench(DIR, 1, { only = { "1_Square_matrix_multiplication_" } })
--
-- A candidate defines ModelNew with the same constructor and forward. The reference is
-- PyTorch, without a Triton kernel to vary, so such a task wants a generator that writes.
local lists  = require "kernelband.base.lists"
local folder = require "kernelband.bench.import.folder"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"
local triton = require "kernelband.triton.task"

local rules = schema.declare("kb.import.kernelbench", {
  { "only", "list", optional = true, item = { type = "string" }, doc = "names of problems" },
  { "python", "string", optional = true, doc = "an interpreter with torch and triton" },
})

local function level_folder(dir, level)
  local wanted = "level" .. level
  return (lists.find(folder.all(dir), function(at)
    return path.base(at) == wanted and folder.any(folder.files(at, ".py"), 4, function(text)
      return text:find "class%s+Model"
    end)
  end))
end

local function lacking(text)
  for _, what in ipairs { "class Model", "def get_inputs", "def get_init_inputs" } do
    if not text:find(what:gsub(" ", "%%s+") .. "%f[%W]") then return "it has no " .. what end
  end
end

local who <const> = "kb.import.kernelbench"

local function load(dir, level, options)
  local opt = schema.options(options, rules, who)
  dir = folder.checkout(who, dir)
  local number = math.tointeger(level)
  schema.must_at_call(number and number >= 1 and number <= 9, who,
                      "expected a level such as 1, got %s", schema.show(level))
  local at = schema.must_at_call(level_folder(dir, number), who,
                                 "%s holds no folder level%d with problems", dir, number)
  local files = lists.sorted(folder.files(at, ".py"), function(f)      -- 2_Gemm.py, 12_Gemm.py
    return tonumber(path.base(f):match "^%d+") or math.huge
  end)
  local tasks = folder.tasks(who, "problem", files, opt.only, function(file, name)
    local text, why = folder.read(file)
    why = why or lacking(text)
    if why then return nil, why end
    local module = "kb_" .. name:gsub("[^%w_]", "_")
    return triton.new { name = module, module = module, kind = "kernelbench", file = file,
                        source = text, python = opt.python, summary = name }
  end)
  tasks.kernels = at
  return tasks
end

return { load = load }
