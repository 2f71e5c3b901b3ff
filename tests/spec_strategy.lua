local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"

local dir = assert(core.system.temp_dir())

local function write(name, text)
  local path = dir .. "/" .. name
  assert(core.system.write_file(path, text))
  return path
end

local function clear()
  for _, name in ipairs(core.system.list(dir)) do os.remove(dir .. "/" .. name) end
end

local good = 'return { name = "%s", target = "sm", summary = "s", prompt = "p", moves = { "%s" } }'

t.test("a strategy is checked and read-only", function()
  local s = kb.strategy(write("tiling.lua", [[
    return { name = "tiling", target = "dram", summary = "s",
             prompt = function(kernel) return "it is " .. kernel.id end,
             applies = function(kernel) return kernel.depth > 1 end,
             moves = { "tile_m", "tile_n" } }]]))
  t.equal(s.name, "tiling")
  t.equal(#s.moves, 2)
  t.equal(s.moves[2], "tile_n")
  t.equal(s.prompt { id = 4 }, "it is 4")
  t.equal(s.applies { depth = 1 }, false)
  t.contains(s.path, "tiling.lua")
  t.raises("read-only", function() s.name = "x" end)
end)

local function refused(sentence, text, why)
  t.test(sentence, function()
    local e = t.raises(why, kb.strategy, write("bad.lua", text))
    t.contains(e, "bad.lua")
    t.equal(e.config, true)
  end)
end

refused("a misspelt field is named",
        'return { name = "a", target = "sm", summary = "s", prompt = "p", aplies = 1 }',
        "unknown field 'aplies' (did you mean 'applies'?)")
refused("a target must be known",
        'return { name = "a", target = "gpu", summary = "s", prompt = "p" }',
        "one of 'sm', 'dram', 'l2'")
refused("a prompt is needed", 'return { name = "a", target = "sm", summary = "s" }',
        "missing field 'prompt'")
refused("a file must return a table", "return 1", "must return a table, got 1")
refused("a file cannot reach out", "os.exit(9)", "global 'os'")

t.test("a prompt function must return text", function()
  local s = kb.strategy(write("odd.lua", 'return { name = "odd", target = "sm", '
    .. 'summary = "s", prompt = function() return nil end }'))
  t.raises("prompt must return a string, got nothing", s.prompt, {})
end)

t.test("a strategy cannot change a kernel", function()
  local s = kb.strategy(write("odd.lua", 'return { name = "odd", target = "sm", summary = "s", '
    .. 'prompt = "p", applies = function(k) k.phi[1] = 9 return true end }'))
  t.raises("read-only", s.applies, { phi = { 1 } })
end)

t.test("a folder is a set in the order of its names", function()
  clear()
  write("b.lua", good:format("two", "y"))
  write("a.lua", good:format("one", "x"))
  write("notes.txt", "not Lua")
  local set = kb.strategies(dir)
  t.equal(#set, 2)
  t.equal(set[1].name .. set[2].name, "onetwo")
  local again = kb.strategies { dir .. "/b.lua", set[1] }
  t.equal(again[1].name .. again[2].name, "twoone")
end)

t.test("two of one name are refused, both files told", function()
  write("c.lua", good:format("one", "z"))
  local e = t.raises("strategy 'one' is already defined in", kb.strategies, dir)
  t.contains(e, "c.lua")
  t.contains(e, "a.lua")
end)

t.test("two owners of one parameter are refused, both files told", function()
  write("c.lua", good:format("three", "x"))
  local e = t.raises("parameter 'x' is already moved by", kb.strategies, dir)
  t.contains(e, "c.lua")
  t.contains(e, "a.lua")
end)

t.test("what is not there is told with the line of the call", function()
  t.contains(t.raises("no such file or folder: nosuch", kb.strategy, "nosuch"),
             "kb.strategy")
  local line = debug.getinfo(1, "l").currentline + 1
  local _, e = pcall(function() kb.strategies "nosuch" end)
  t.contains(e, ("spec_strategy.lua:%d: kb.strategies"):format(line))
  clear()
  t.raises("no strategy (*.lua) in", kb.strategies, dir)
  t.raises("the list is empty", kb.strategies, {})
  t.raises("expected a folder or a list of files", kb.strategies, 3)
end)

clear()
os.remove(dir)
t.finish()
