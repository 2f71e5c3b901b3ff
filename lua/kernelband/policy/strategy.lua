-- policy/strategy.lua - strategy files: what to ask of a generator, and for which
-- kernels. A file is a strategy, a folder is a set. What it says of the kernel at hand
-- it lists as facts; its prompt is a function only where that does not do.
--
--   facts = { "dram", "occupancy", { 8, "% of loads and stores are contiguous" } }
--
-- Below the prompt stands the figure of each in percent and where that is from: measured,
-- derived, .. What is missing is not told. Times by shape, and what stands out, every question
-- has by itself. A fact is a name below or a feature's number, 1 to 9 (kernel.phi), with words of
-- the strategy's own where it has better ones, or where there are none: what a feature
-- means depends on the device. Words have one %, where the figure goes, and no full stop.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local fence   = require "kernelband.base.fence"
local path    = require "kernelband.base.path"
local schema  = require "kernelband.base.schema"

local strategy = {}

local collect = lists.collect

local call_steps = 1e7

-- Facts --------------------------------------------------------------------------------

-- Name, where it is, words. Percent of peak stands in kernel.h, features of a GPU (those
-- of a CPU mean something else: see evidence.lua) as shares in kernel.phi.
local known = {
  { "sm", "h", "sm", "Arithmetic is at % of its peak" },
  { "dram", "h", "dram", "Memory bandwidth is at % of its peak" },
  { "l2", "h", "l2", "Second-level cache traffic is at % of its peak" },
  { "l2_hits", "phi", 1, "% of second-level accesses hit" },
  { "issue", "phi", 3, "Multiprocessors issue in % of cycles" },
  { "lanes", "phi", 4, "% of the lanes of an issued warp are active" },
  { "occupancy", "phi", 5, "Achieved occupancy is %" },
  { "registers", "phi", 6, "Registers take % of what a thread may have" },
  { "bank_conflicts", "phi", 7, "Shared-memory bank conflicts: %" },
  { "coalesced", "phi", 8, "% of loads and stores are coalesced" },
  { "tensor", "phi", 9, "Tensor cores are at % of their peak" },
}

strategy.facts = collect(known, 1)

-- Where the figure is (key and index in a kernel) and its words; nil and what a fact must be.
local function read(fact)
  local pair = type(fact) == "table"
  local name = pair and fact[1] or fact
  local number = type(name) == "number" and math.tointeger(name)
  local f = number and number >= 1 and number <= 9 and { name, "phi", number }
            or lists.find(known, function(f) return f[1] == name end)
  local words = pair and fact[2] or f and f[4]
  local must = pair and (#fact ~= 2 or type(fact[2]) ~= "string")
               and 'a pair such as { "occupancy", "Occupancy is %" }'
    or not f and "a feature's number 1..9, or a name"
                 .. schema.hint(type(name) == "string" and name or "", strategy.facts)
    or not words and 'its words too: { 2, "% of the bandwidth is used" }'
    or not words:find "^[^%%]*%%[^%%]*$" and "words with one % where the figure goes"
  if must then return nil, must end
  return { key = f[2], at = f[3], words = words }
end

-- A fact as a sentence: its figure and where that is from; nil when missing. Kernels may come
-- from elsewhere: anything may stand anywhere.
local function sentence(kernel, f)
  local values, kinds = kernel[f.key], kernel[f.key .. "_kind"]
  local value = type(values) == "table" and values[f.at]
  local kind = type(kinds) == "table" and kinds[f.at] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  local figure = ("%.0f%%%%"):format(f.key == "phi" and value * 100 or value)
  return f.words:gsub("%%", figure) .. (" (%s)."):format(
    type(kind) == "string" and kind or type(kind))
end

-- A prompt, a text or a function, with the facts it asked for below it.
local function with_facts(prompt, list)
  local wanted = collect(list, function(fact) return assert(read(fact)) end)
  return function(kernel, ...)
    local text = type(prompt) == "function" and prompt(kernel, ...) or prompt
    if type(kernel) ~= "table" then return text end
    local known_facts = collect(wanted, function(f) return sentence(kernel, f) end)
    return table.concat({ text, table.unpack(known_facts) }, "\n")
  end
end

-- Files --------------------------------------------------------------------------------

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
  { "facts", "list", optional = true,
    doc = "metrics appended to the prompt, where they are known",
    item = { type = { "string", "number", "table" }, check = function(fact)
      local fine, must = read(fact)
      return fine ~= nil, must
    end } },
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

-- One file, checked and read-only: name, target, summary, prompt (a function when it
-- has facts), moves, path, and facts and applies when the file has them.
function strategy.load(name)
  schema.must_at_call(type(name) == "string", "kb.strategy", "expected a path, got %s",
    schema.show(name))
  local file = path.found(name, "kb.strategy", "no such file or folder: %s")
  schema.must_at_call(core.system.exists(file) ~= "dir", "kb.strategy",
    "'%s' is a folder; kb.strategies loads a set", file)
  local s = schema.check(fence.load(file), rules, file)
  s.path = file
  s.applies = s.applies and fenced(s.applies)
  if type(s.prompt) == "function" then
    local call = fenced(s.prompt)
    s.prompt = function(...)            -- anything but text would reach a model
      local text = call(...)
      if type(text) == "string" then return text end
      error(("%s: prompt must return a string, got %s"):format(file, schema.show(text)), 0)
    end
  end
  if s.facts then s.prompt = with_facts(s.prompt, s.facts) end
  return fence.freeze(s)
end

local function refuse_twins(set)
  local named, moved = {}, {}
  for _, s in ipairs(set) do
    schema.must(not named[s.name], "%s: strategy '%s' is already defined in %s", s.path, s.name,
      named[s.name])
    named[s.name] = s.path
    for _, move in ipairs(s.moves[1] == "*" and {} or s.moves) do      -- anew: all of them
      schema.must(not moved[move],
        "%s: parameter '%s' is already moved by %s; one strategy owns it", s.path, move,
        moved[move])
      moved[move] = s.path
    end
  end
end

-- The strategies of a folder or a file; a loaded strategy is one.
local function members(source)
  if type(source) == "table" and source.prompt and source.path then return { source } end
  if type(source) ~= "string" then return { strategy.load(source) } end         -- which raises
  local place = path.found(source, "kb.strategies", "no such file or folder: %s")
  if core.system.exists(place) ~= "dir" then return { strategy.load(place) } end
  local files, why = path.files(place, ".lua")
  if files and files[1] then return collect(files, strategy.load) end
  schema.raise_at_call("kb.strategies", "%s", why or ("no strategy (*.lua) in '%s'"):format(place))
end

-- A set: a folder, its files in byte order of their names, or a list of folders, files
-- and loaded strategies, in the order given. A list of read-only strategies.
function strategy.set(source)
  schema.must_at_call(type(source) == "string" or type(source) == "table", "kb.strategies",
    "expected a folder or a list of files, got %s", schema.show(source))
  local set = {}
  for _, member in ipairs(type(source) == "table" and source or { source }) do
    for _, s in ipairs(members(member)) do set[#set + 1] = s end
  end
  if #set == 0 then schema.raise_at_call("kb.strategies", "the list is empty") end
  refuse_twins(set)
  return set
end

return strategy
