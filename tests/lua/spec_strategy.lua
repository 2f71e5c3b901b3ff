-- This file tests lua/kernelband/policy/strategy.lua. It checks how strategy files and folders are
-- loaded, which of them are refused, and which facts about a kernel are added to a prompt.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"

local dir = t.folder()

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

local function with_facts(list, prompt)
  return kb.strategy(write("facts.lua", ('return { name = "f", target = "sm", summary = "s", '
    .. "prompt = %s, facts = { %s } }"):format(prompt or '"Do it.\\n"', list)))
end

local measured = {
  time_ns = 12500, speedup = 4, phi = { 0.5, 0.25, 1, 0, 0.126, 0, 0, 0.75, 0 },
  phi_kind = { "measured", "derived", "measured", "missing", "measured", "missing", "missing",
               "derived", "missing" },
  h = { sm = 12, dram = 71, l2 = 0 },
  h_kind = { sm = "derived", dram = "measured", l2 = "missing" },
}

t.test("known facts stand below the prompt, in the order asked for", function()
  local s = with_facts '"occupancy", "dram", "l2", "lanes", { 2, "Of the bandwidth % is used" }'
  t.equal(s.prompt(measured), "Do it.\n\nAchieved occupancy is 13% (measured).\n"
    .. "Memory bandwidth is at 71% of its peak (measured).\n"
    .. "Of the bandwidth 25% is used (derived).")
  t.equal(s.prompt {}, "Do it.\n")
  t.equal(with_facts('{ "sm", "% busy" }').prompt { h = { sm = 3 } },
          "Do it.\n\n3% busy (unknown origin).")
  t.equal(with_facts("").prompt { time_ns = 1e3, h = { sm = 1 } }, "Do it.\n")
end)

t.test("facts follow what a prompt function says too", function()
  local s = with_facts('"sm"', 'function(k, profile) return k.id .. profile.x .. "." end')
  t.equal(s.prompt({ id = 4, h = { sm = 12 }, h_kind = { sm = "derived" } }, { x = 7 }),
          "47.\nArithmetic is at 12% of its peak (derived).")
  local odd = with_facts('"sm"', "function() return 1 end")
  t.raises("prompt must return a string, got 1", odd.prompt, {})
end)

t.test("a text without facts stays the text it is", function()
  t.equal(kb.strategy(write("plain.lua", good:format("plain", "x"))).prompt, "p")
end)

t.test("a kernel with any value in any field is described without an error", function()
  local s = with_facts '"sm", "dram", "l2", "l2_hits", "issue", "occupancy", { 9, "%" }'
  local nan, odd = 0 / 0, { "5", "x%s%", {}, true, false, print, 0 / 0, math.huge, -1,
                            math.mininteger }
  for _, v in ipairs(odd) do
    local nine = { v, v, v, v, v, v, v, v, v }
    for _, w in ipairs { v, nine, { sm = v, dram = v, l2 = v }, {} } do
      local text = s.prompt { time_ns = v, speedup = v, phi = w, h = w, phi_kind = w, h_kind = w }
      assert(not text:find "0x", text)
      s.prompt { phi = nine, phi_kind = w, h = { sm = nan, dram = v, l2 = 1 }, h_kind = w }
    end
    t.equal(type(s.prompt(v)), "string")
  end
  t.equal(s.prompt { time_ns = "5", speedup = {}, phi = { "1" }, h = { sm = "1" } }, "Do it.\n")
  t.equal(s.prompt(nil), "Do it.\n")
end)

for _, case in ipairs {
  { '"ocupancy"', "facts[1]: expected a feature's number 1..9, or a name (did you mean 'occ" },
  { '"sm", 10', "facts[2]: expected a feature's number 1..9, or a name (known: sm, dram" },
  { "2", "expected its words too" },
  { '{ "sm" }', "expected a pair such as" },
  { '{ "sm", 3 }', "expected a pair such as" },
  { '{ 8, "% of %" }', "expected words with one %" },
  { '{ "sm", "busy" }', "expected words with one %" },
  { "true", "facts[1]: expected a string or a number or a table, got true" },
  { "dram = true", "facts: expected a list, got a table" } } do
  t.test("a fact must be one there is: " .. case[1], function()
    t.contains(t.raises(case[2], with_facts, case[1]), "facts.lua")
  end)
end

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

t.test("a list may name folders, and anew owns every parameter beside any set", function()
  for _, language in ipairs { "c", "cuda", "triton" } do
    local set = kb.strategies { "strategies/" .. language, "strategies/anew.lua" }
    t.equal(#set, #kb.strategies("strategies/" .. language) + 1)
    t.equal({ set[#set].name, set[#set].moves[1] }, { "anew", "*" })
  end
end)

t.test("two strategies of one name are refused, and both files named", function()
  write("c.lua", good:format("one", "z"))
  local e = t.raises("strategy 'one' is already defined in", kb.strategies, dir)
  t.contains(e, "c.lua")
  t.contains(e, "a.lua")
end)

t.test("two owners of one parameter are refused, and both files named", function()
  write("c.lua", good:format("three", "x"))
  local e = t.raises("parameter 'x' is already moved by", kb.strategies, dir)
  t.contains(e, "c.lua")
  t.contains(e, "a.lua")
end)

t.test("a missing file is reported with the line of the call", function()
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
