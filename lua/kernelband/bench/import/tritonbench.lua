-- bench/import/tritonbench.lua - TritonBench-G as tasks, from a checkout the user has:
-- as published, as corrected by GEAK-eval, or any folder of such files.
--
--   tasks = kb.import.tritonbench(DIR, { only = { "softmax_triton1" }, python = "python3",
--                                        perf = DIR })
--
-- A list of tasks, with tasks.skipped = { { name =, why = } }. An operator is a Python
-- file: kernels and wrapper, a line of 146 '#', a test. Its timed shapes are in a perf
-- script <name>_perf.py, its instruction in TritonBench_G_v1.json or the like. Nothing
-- is copied, and nothing of it is run until a worker does.
local best   = require("kernelband.base.lists").best
local cut    = require("kernelband.base.text").cut
local find   = require("kernelband.base.lists").find
local folder = require "kernelband.bench.import.folder"
local json   = require "kernelband.base.json"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"
local triton = require "kernelband.triton.task"

local rules = schema.declare("kb.import.tritonbench", {
  { "only", "list", optional = true, item = { type = "string" }, doc = "names of operators" },
  { "python", "string", optional = true, doc = "an interpreter with torch and triton" },
  { "kernels", "string", optional = true, doc = "the folder of operators" },
  { "perf", "string", optional = true, doc = "the folder of perf scripts" },
  { "instructions", "string", optional = true, doc = "a JSON file of instructions" },
})

local WIDTH, LEAST = 146, 100

-- Source and tests of a file; nil, why. The line is 146 wide as published; another
-- long one will do where none is.
local function split(text)
  text = "\n" .. text                   -- so that every line begins behind one
  local function line(hashes) return text:match("\n()" .. hashes .. "[ \t]*\n()") end
  local first, last = line(("#"):rep(WIDTH))
  if not first then first, last = line(("#"):rep(LEAST) .. "#*") end
  if not first then return nil, ("it has no separator, a line of %d '#'"):format(WIDTH) end
  local tests = text:sub(last)
  if not tests:find "%S" then return nil, "nothing stands behind its separator: it has no test" end
  if not tests:find "def%s" and not tests:find "=%s*test" then
    return nil, "it has no test behind its separator"
  end
  return text:sub(2, first - 1), tests
end

-- The folder whose files have separators; of several the one named as published.
local function kernels_folder(folders)
  return best(folders, function(dir)
    local files = folder.files(dir, ".py")
    local named = path.base(dir):find "TritonBench_G" and 1 or 0
    return folder.any(files, 8, function(text, file)
      return text:find(("#"):rep(LEAST), 1, true) and not file:find "_perf%.py$"
    end) and 1000 * named + #files
  end)
end

-- The folder with the most perf scripts; among equals one that is called
-- golden_metrics, which GEAK-eval keeps beside others.
local function perf_folder(folders)
  return best(folders, function(dir)
    local n = #folder.files(dir, "_perf.py")
    if n > 0 and dir:find "perf_T" then return 1 end
    return n > 0 and 10 * n + (path.base(dir) == "golden_metrics" and 5 or 0)
  end)
end

local text_fields = { "comp_instru", "instruction", "simp_instru", "description", "prompt" }
local name_fields = { "file", "filename", "name", "operator" }

local function squeeze(text) return (text:gsub("%s+", "")) end

local function first_text(entry, fields)
  return entry[find(fields, function(f) return type(entry[f]) == "string" end)]
end

-- Instructions by operator: a list of objects that name their file, or that hold
-- the source they are about; or a table of texts by name.
local function add_instructions(file, by_name, by_source)
  local list = json.table(folder.read(file)) or {}
  for key, entry in pairs(list) do        -- each writes a place of its own
    local words = type(entry) == "string" and entry
    local name = type(key) == "string" and key
    if type(entry) == "table" then
      words = words or first_text(entry, text_fields)
      name = name or first_text(entry, name_fields)
      if words and type(entry.output) == "string" then by_source[squeeze(entry.output)] = words end
    end
    if name and words then by_name[(name:gsub("%.py$", ""))] = words end
  end
end

-- What gives the instruction of an operator by name or source; given: its file, else those beside
-- the kernels are looked at.
local function find_instructions(kernels, given)
  local by_name, by_source, files = {}, {}, { given }
  for _, dir in ipairs(given and {} or { path.dir(kernels), kernels }) do
    for _, file in ipairs(folder.files(dir, ".json")) do
      local name = path.base(file)
      local training = name:find "_T_" or name:find "^train"
      files[#files + 1] = not training and file or nil
    end
  end
  for _, file in ipairs(files) do add_instructions(file, by_name, by_source) end
  return function(name, source) return by_name[name] or by_source[squeeze(source)] end
end

local who <const> = "kb.import.tritonbench"

local function load(dir, options)
  local opt = schema.options(options, rules, who)
  dir = folder.checkout(who, dir)
  local folders = folder.all(dir)
  local kernels = opt.kernels or kernels_folder(folders)
      or schema.raise_at_call(who, "%s holds no operators: Python files with a line "
                              .. "of %d '#' between kernels and test", dir, WIDTH)
  local perf_dir = opt.perf or perf_folder(folders)
  local instruction = find_instructions(kernels, opt.instructions)
  local files = folder.files(kernels, ".py")
  local tasks = folder.tasks(who, "operator", files, opt.only, function(file, name)
    local text, why = folder.read(file)
    if not text then return nil, why end
    if not name:find "^[%a_][%w_]*$" then return nil, "its name is no name of a Python module" end
    local source, tests = split(text)
    if not source then return nil, tests end
    local perf = perf_dir and folder.read(path.join(perf_dir, name .. "_perf.py"))
    local words = instruction(name, source)
    local t = triton.new {
      name = name, module = name, kind = "tritonbench", file = file, source = source, tests = tests,
      perf = perf, python = opt.python,
      summary = words and cut(words:match "%S[^\n]*" or "", 200, "..."),
    }
    t.instruction, t.perf_missing = words, not perf
    return t
  end)
  tasks.kernels, tasks.perf = kernels, perf_dir
  return tasks
end

return { load = load }
