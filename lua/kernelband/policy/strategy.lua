-- policy/strategy.lua - strategy files: what to ask of a generator, and for which
-- kernels. A file is a strategy, a folder is a set. What it says of the kernel at hand
-- it lists as facts (facts.lua); its prompt is a function only where that does not do.
local core   = require "kernelband.core"
local facts  = require "kernelband.generator.facts"
local fence  = require "kernelband.base.fence"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"

local strategy = {}

local load_steps = 1e6
local call_steps = 1e7

local function is_name(v)
  return v:find "^[%a_][%w_-]*$" ~= nil, "a name of letters, digits, _ and -"
end

local rules = schema.declare("strategy.lua", {
  { "name", "string", doc = "a short name, unique in its set", check = is_name },
  { "target", "string", one_of = { "sm", "dram", "l2" },
    doc = "the resource it relieves: 'sm', 'dram' or 'l2'" },
  { "summary", "string", doc = "one line for people" },
  { "prompt", { "string", "function" },
    doc = "text for a model, or function(kernel, profile) returning it" },
  facts.rule,
  { "applies", "function", optional = true,
    doc = "function(kernel) returning false where it makes no sense" },
  { "moves", "list", default = {}, item = { type = "string" },
    doc = "parameters of schedule.lua it may change; \"*\" for all" },
})

-- Functions of a strategy get read-only faces of what they are given.
local function fenced(fn)
  return function(...)
    local args = table.pack(...)
    for i = 1, args.n do args[i] = fence.freeze(args[i]) end
    return fence.call(call_steps, fn, table.unpack(args, 1, args.n))
  end
end

-- A prompt function must return text: anything else would reach a model.
local function text_of(prompt, file)
  local call = fenced(prompt)
  return function(...)
    local text = call(...)
    if type(text) ~= "string" then
      error(("%s: prompt must return a string, got %s"):format(file, schema.show(text)), 0)
    end
    return text
  end
end

-- The prompt with the facts it asked for below it.
local function with_facts(prompt, list)
  local tell = facts.teller(list)
  return function(kernel, ...)
    local text = type(prompt) == "function" and prompt(kernel, ...) or prompt
    return tell(text, kernel)
  end
end

local function locate(name, what)
  local file, looked = path.find(name)
  if not file then
    schema.raise_at_call("kb." .. what, "no such file or folder: %s", looked)
  end
  return file
end

-- One file, checked and read-only: name, target, summary, prompt (a function when it
-- has facts), moves, path, and facts and applies when the file has them.
function strategy.load(name)
  if type(name) ~= "string" then
    schema.raise_at_call("kb.strategy", "expected a path, got %s", schema.show(name))
  end
  local file = locate(name, "strategy")
  if core.system.exists(file) == "dir" then
    schema.raise_at_call("kb.strategy", "'%s' is a folder; kb.strategies loads a set", file)
  end
  local s = schema.check(fence.load(file, nil, load_steps), rules, file)
  s.path = file
  s.applies = s.applies and fenced(s.applies)
  if type(s.prompt) == "function" then s.prompt = text_of(s.prompt, file) end
  if s.facts then s.prompt = with_facts(s.prompt, s.facts) end
  return fence.freeze(s)
end

local function refuse_twins(set)
  local named, moved = {}, {}
  for _, s in ipairs(set) do
    if named[s.name] then
      schema.raise("%s: strategy '%s' is already defined in %s", s.path, s.name,
                   named[s.name])
    end
    named[s.name] = s.path
    for _, move in ipairs(s.moves[1] == "*" and {} or s.moves) do      -- anew: all of them
      if moved[move] then
        schema.raise("%s: parameter '%s' is already moved by %s; one strategy owns it",
                     s.path, move, moved[move])
      end
      moved[move] = s.path
    end
  end
end

local function files_of(name)
  local dir = locate(name, "strategies")
  if core.system.exists(dir) ~= "dir" then return { dir } end
  local files, why = path.files(dir, ".lua")
  if not files then schema.raise_at_call("kb.strategies", "%s", why) end
  if #files == 0 then
    schema.raise_at_call("kb.strategies", "no strategy (*.lua) in '%s'", dir)
  end
  return files
end

local function members(source)
  local out = {}
  for _, member in ipairs(type(source) == "table" and source or { source }) do
    local files = type(member) == "string" and files_of(member) or { member }
    table.move(files, 1, #files, #out + 1, out)
  end
  return out
end

-- A set: a folder, its files in byte order of their names, or a list of folders, files
-- and loaded strategies, in the order given. A list of read-only strategies.
function strategy.set(source)
  if type(source) ~= "string" and type(source) ~= "table" then
    schema.raise_at_call("kb.strategies", "expected a folder or a list of files, got %s",
                         schema.show(source))
  end
  local set = {}
  for i, member in ipairs(members(source)) do
    local loaded = type(member) == "table" and member.prompt and member.path
    set[i] = loaded and member or strategy.load(member)
  end
  if #set == 0 then schema.raise_at_call("kb.strategies", "the list is empty") end
  refuse_twins(set)
  return set
end

return strategy
