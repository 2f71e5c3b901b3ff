-- kernelband run FILE [ARGS] - an experiment, or any other script.
local core     = require "kernelband.core"
local path     = require "kernelband.base.path"
local progress = require "kernelband.search.progress"
local runs     = require "kernelband.store.run"
local schema   = require "kernelband.base.schema"
local waiting  = require "kernelband.search.waiting"

local usage = "kernelband run [--resume] [--force] [--progress auto|always|never|json] "
              .. "FILE [ARGS]"

local function load_script(name)
  local file, looked = path.find(name)
  if not file then
    schema.raise("kernelband: no such script: %s", looked)
  elseif core.system.exists(file) == "dir" then
    schema.raise("kernelband: '%s' is a folder, expected a Lua script", file)
  end
  return schema.load_file(file), file
end

-- args: the script and its own arguments. A search that had to stop because a model was
-- refused is not done, whatever the script made of it.
local function start(args)
  local chunk, file = load_script(args[1])
  local dir = path.dir(file)
  package.path = ("%s;%s/?.lua;%s/?/init.lua"):format(package.path, dir, dir)
  arg = table.move(args, 2, #args, 1, { [0] = file }) -- luacheck: globals arg
  chunk(table.unpack(arg))
  return waiting.refused and 1 or 0
end

-- Options of ours stand before FILE; --resume, which people add to a line they
-- repeat, and --force are also ours at its end.
local function split(args)
  local opt, words, i = {}, table.move(args, 1, #args, 1, {}), 1
  while words[#words] == "--resume" or words[#words] == "--force" do
    opt[table.remove(words):sub(3)] = true
  end
  while words[i] and words[i]:sub(1, 1) == "-" do
    local name, value = words[i]:match "^%-%-(%l+)=?(.*)$"
    if (name == "resume" or name == "force") and value == "" then
      opt[name] = true
    elseif name == "progress" then
      if value == "" then
        i = i + 1
        value = words[i]
      end
      opt.progress = value or ""
    else
      schema.raise("kernelband: unknown option '%s'%s\nusage: %s", words[i], schema.hint(words[i],
        { "--resume", "--force", "--progress", "--help" }), usage)
    end
    i = i + 1
  end
  return opt, table.move(words, i, #words, 1, {})
end

local function run(args)
  local opt, words = split(args)
  if not words[1] then schema.raise("kernelband: which script?\nusage: %s", usage) end
  if opt.force and not opt.resume then
    schema.raise("kernelband: --force goes with --resume\nusage: %s", usage)
  end
  progress.mode(opt.progress)
  if opt.resume then runs.resuming { force = opt.force } end
  return start(words)
end

local opts = {
  { "resume", doc = "searches whose `out` holds a run go on with it" },
  { "force", doc = "with --resume: though task, policy or strategies changed" },
  { "progress", "HOW", one_of = { "auto", "always", "never", "json" },
    doc = "auto, always, never or json" },
}

return {
  summary = "runs an experiment script",
  usage = usage,
  help = [[
FILE is Lua with ARGS as ... and as the global arg; require also finds modules
beside it. Interrupt once to end in good order, twice to give up waiting. Progress is a
block that is rewritten on a terminal, lines elsewhere, with json an object a line.]],
  script = true, options = opts,
  run = run, start = start,
}
