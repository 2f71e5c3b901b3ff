-- This file tests lua/kernelband/base/schema.lua, which checks tables and options against rules. It
-- checks the default values, the refused values and the text of the error messages.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local schema = require "kernelband.base.schema"

local shape = { { "rows", "integer", at_least = 1 } }
local rules = {
  { "name", "string" },
  { "steps", "integer", default = 20, at_least = 1, at_most = 100 },
  { "target", "string", optional = true, one_of = { "sm", "dram" } },
  { "policy", { "table", "string" }, optional = true },
  { "shapes", "table", optional = true, rules = {
    { "timed", "list", item = { type = "table", rules = shape }, at_least = 1 } } },
  { "even", "number", optional = true,
    check = function(v) return v % 2 == 0, "an even number" end },
}

local function refused(sentence, given, message)
  t.test(sentence, function()
    local e = t.raises(message, schema.check, given, rules, "task.lua: softmax")
    t.equal(schema.is_config_error(e), true)
    t.equal(tostring(e), message)
    t.equal("x " .. e, "x " .. message)
  end)
end

t.test("a good table is copied with its defaults", function()
  local given = { name = "a", shapes = { timed = { { rows = 3.0 } } } }
  local got = schema.check(given, rules, "f")
  t.equal(got, { name = "a", steps = 20, shapes = { timed = { { rows = 3 } } } })
  t.equal(math.type(got.shapes.timed[1].rows), "integer")
  t.equal(given.steps, nil)
end)

refused("an unknown field names the nearest", { name = "a", setps = 1 },
        "task.lua: softmax: unknown field 'setps' (did you mean 'steps'?)")
refused("or all there are", { name = "a", quux = 1 },
        "task.lua: softmax: unknown field 'quux' (known: name, steps, target, "
        .. "policy, shapes, even)")
refused("the first unknown in byte order is told", { name = "a", zz = 1, nmae = 1 },
        "task.lua: softmax: unknown field 'nmae' (did you mean 'name'?)")
refused("a missing field is named", {}, "task.lua: softmax: missing field 'name' (a string)")
refused("a type is told with the value", { name = 3 },
        "task.lua: softmax: name: expected a string, got 3")
refused("two types are both told", { name = "a", policy = true },
        "task.lua: softmax: policy: expected a table or a string, got true")
refused("a nested field is told by its path",
        { name = "a", shapes = { timed = { { rows = 1 }, { rows = "x" } } } },
        "task.lua: softmax: shapes.timed[2].rows: expected an integer >= 1, "
        .. 'got "x"')
refused("an unknown nested field too",
        { name = "a", shapes = { timed = { { rows = 1, row = 1 } } } },
        "task.lua: softmax: unknown field 'shapes.timed[1].row' (did you mean 'rows'?)")
refused("bounds hold below", { name = "a", steps = 0 },
        "task.lua: softmax: steps: expected an integer 1..100, got 0")
refused("and above", { name = "a", steps = 101 },
        "task.lua: softmax: steps: expected an integer 1..100, got 101")
refused("a fraction is no integer", { name = "a", steps = 1.5 },
        "task.lua: softmax: steps: expected an integer 1..100, got 1.5")
refused("a string is no integer", { name = "a", steps = "5" },
        "task.lua: softmax: steps: expected an integer 1..100, "
        .. 'got "5"')
refused("NaN is no number", { name = "a", even = 0 / 0 },
        "task.lua: softmax: even: expected a number, got nan")
refused("values are listed", { name = "a", target = "l3" },
        "task.lua: softmax: target: expected one of 'sm', 'dram', got \"l3\"")
refused("a check says what it wants", { name = "a", even = 3 },
        "task.lua: softmax: even: expected an even number, got 3")
refused("a table with names is no list", { name = "a", shapes = { timed = { x = 1 } } },
        "task.lua: softmax: shapes.timed: expected a list of length >= 1, got a table")
refused("an empty list is too short", { name = "a", shapes = { timed = {} } },
        "task.lua: softmax: shapes.timed: expected a list of length >= 1, got a list of length 0")
refused("a file must return a table", "x",
        'task.lua: softmax: must return a table, got "x"')

t.test("wrong options are reported with the line of the call", function()
  local line = debug.getinfo(1, "l").currentline + 1
  local _, e = pcall(function() schema.options({ naem = "" }, rules, "kb.search") end)
  t.contains(e, ("spec_schema.lua:%d: kb.search: unknown option 'naem' "
                 .. "(did you mean 'name'?)"):format(line))
end)

t.test("options must be a table, nothing is none", function()
  t.raises('kb.x: expected a table of options, got "a"', schema.options, "a", {}, "kb.x")
  t.equal(schema.options(nil, {}, "kb.x"), {})
end)

t.test("the nearest name is two edits away at most", function()
  local list = { "policy", "parallel", "c", "l2" }
  t.equal(schema.nearest("polcy", list), "policy")
  t.equal(schema.nearest("poilcy", list), "policy")
  t.equal(schema.nearest("Policy", list), "policy")
  t.equal(schema.nearest("pol", list), "policy")
  t.equal(schema.nearest("budget", list), nil)
  t.equal(schema.nearest("d", list), nil)
  t.equal(schema.nearest("l3", list), "l2")
  t.equal(schema.nearest("x", {}), nil)
end)

t.test("a formatted message takes per cent signs from values only", function()
  t.raises("100%", schema.raise, "100%")
  t.raises("a 5% b", schema.raise, "a %s b", "5%")
end)

t.finish()
