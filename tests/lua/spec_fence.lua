-- This file tests lua/kernelband/base/fence.lua. It checks which globals a policy or strategy file
-- can use, and that the fence limits the steps and the memory of the file.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local fence = require "kernelband.base.fence"

local dir = t.folder()
local path = dir .. "/file.lua"

local function load(text, globals, steps)
  assert(core.system.write_file(path, text))
  return fence.load(path, globals, steps or 1e5)
end

local function refused(sentence, text, why, steps)
  t.test(sentence, function()
    local e = t.raises(why, load, text, nil, steps)
    t.contains(e, "file.lua:")
  end)
end

refused("a file has no os", "os.exit(1)", "file.lua:1: global 'os' is not available")
for _, name in ipairs { "io", "require", "load", "loadfile", "dofile", "debug",
                        "coroutine", "pcall", "xpcall", "setmetatable", "getmetatable",
                        "rawset", "rawget", "next", "collectgarbage", "_G", "package",
                        "print", "utf8", "warn" } do
  refused("a file has no " .. name, "\nreturn " .. name, ("file.lua:2: global '%s'"):format(name))
end
refused("a global cannot be made", "x = 1", "file.lua:1: global 'x' cannot be set")
refused("a global cannot be redefined", "math = {}", "global 'math' cannot be set")
refused("_ENV is the fence itself", "_ENV.y = 1", "global 'y' cannot be set")
refused("a library cannot be changed", "math.max = nil", "'max' cannot be set")
refused("a library cannot be changed by a library",
        "table.insert(math, 1)", "cannot be set")
refused("there is no randomness", "return math.random()", "attempt to call a nil value")
refused("functions cannot be dumped", "return ('').dump(function() end)",
        "attempt to call a nil value")
refused("methods of strings cannot be changed", "('').upper = 1", "attempt to index a string")
refused("a loop for ever is stopped", "local i = 0\nwhile true do i = i + 1 end",
        "file.lua:2: step budget spent")
refused("a loop in a comparator is stopped",
        "table.sort({3, 2, 1}, function() while true do end end)", "step budget spent")
refused("a loop in a gsub callback is stopped",
        "('x'):gsub('x', function() while true do end end)", "step budget spent")
refused("recursion is stopped", "local function f() return 1 + f() end\nf()", "stack overflow",
        1e9)
t.test("a stack that overflows while the budget is looked at is the file's", function()
  local function locals(n) return ("local _; "):rep(n) end
  local function overflow(...)          -- whose arguments fill most of the stack
    t.equal((...), nil)
    for n = 0, 60, 4 do                 -- the deepest call leaves other room each time
      local fn = load("local function f(x) " .. locals(60) .. ("x = x + 1; "):rep(900)
                      .. "return 1 + f(x) end return function(n) " .. locals(n)
                      .. "for _ = 1, n do end return 1 + f(0) end")
      for steps = 0, 800, 400 do        -- the budget is looked at elsewhere in it each time
        t.raises("file.lua:1: stack overflow", fence.call, 1e6, fn, steps)
      end
    end
  end
  overflow(table.unpack({}, 1, 995000))
end)
refused("recursion through C is stopped",
        "local function f() ('x'):gsub('x', f) end\nf()", "C stack overflow", 1e9)
refused("a giant string is refused", "return ('x'):rep(1e9)", "too large")
refused("many empty strings are refused", "return string.rep('', 1 << 60)", "too large")
refused("a giant move is refused", "table.move({}, 1, 1 << 60, 2)", "too many elements")
refused("a memory bomb is caught",
        "local s = ('x'):rep(1 << 24)\nlocal u = {}\nfor i = 1, 64 do u[i] = s end\n"
        .. "return table.concat(u)",
        "not enough memory", 1e9)
refused("addresses are not shown", "return ('%p'):format({})", "'%p' is an address")
refused("nor by width", "return ('%-20p'):format({})", "'%p' is an address")
refused("bytecode is refused", "\27Lua", "attempt to load a binary chunk")
refused("an error object becomes text", "error({})", "error object is a table")
refused("what does not parse says where", "return {\n  a = = 1 }", "file.lua:2:")
refused("pairs over table keys is refused", "for _ in pairs { [{}] = 1 } do end",
        "no order that could be replayed")

t.test("the state survives a memory bomb", function()
  t.equal(load("return ('ab'):rep(3)"), "ababab")
end)

t.test("a file can compute", function()
  local v = load [[
    local out, sum = {}, 0
    for i, x in ipairs { 4, 5, 6 } do sum = sum + i * x end
    for k in pairs { b = 1, a = 2, [2] = 3, [1] = 4 } do out[#out + 1] = tostring(k) end
    table.sort(out, function(a, b) return a > b end)
    return { sum = sum, keys = table.concat(out), text = ("%5.2f %s %%"):format(1, {}),
             up = ("a"):upper(), root = math.sqrt(9), name = tostring({}) }]]
  t.equal(v, { sum = 32, keys = "ba21", text = " 1.00 table %", up = "A", root = 3,
               name = "table" })
end)

t.test("pairs goes numbers first, then strings, each in order", function()
  local v = load [[
    local out = {}
    for k, v in pairs { z = 1, a = 2, [3] = 3, [-1] = 4, [true] = 5 } do
      out[#out + 1] = tostring(k) .. v
    end
    return table.concat(out, " ")]]
  t.equal(v, "true5 -14 33 a2 z1")
end)

t.test("globals given are read-only, deep", function()
  t.equal(load("return given.a.b", { given = { a = { b = 7 } } }), 7)
  t.raises("'b' cannot be set", load, "given.a.b = 1", { given = { a = { b = 7 } } })
end)

t.test("what a file does to string methods ends with it", function()
  load "return 1"
  t.equal(("").pack, string.pack)
end)

t.test("a frozen table reads as its original", function()
  local f = fence.freeze { 1, 2, { x = 3 }, name = "n" }
  t.equal(#f, 3)
  t.equal(f[3].x, 3)
  t.equal(f[3] == f[3], true)
  t.equal(fence.freeze(f) == f, true)
  local keys = {}
  for k in pairs(f) do keys[#keys + 1] = tostring(k) end
  t.equal(table.concat(keys, " "), "1 2 3 name")
  t.raises("read-only", function() f.name = "m" end)
  t.raises("read-only", function() f[3].y = 1 end)
  t.raises("read-only", function() table.insert(f, 4) end)
end)

t.test("a call has its own budget each time", function()
  local spin = load "return function(n) for i = 1, n do local _ = i end return n end"
  for _ = 1, 5 do t.equal(fence.call(1e5, spin, 2e4), 2e4) end
  t.raises("step budget spent", fence.call, 1e5, spin, 1e6)
end)

t.test("results and arguments pass, nils included", function()
  local r = table.pack(fence.call(1e4, function(...) return ... end, nil, 2, nil))
  t.equal(r.n, 3)
  t.equal(r[2], 2)
end)

t.test("nested calls are charged to the call around them", function()
  local inner = fence.wrap(1e4, function() for _ = 1, 2000 do end end)
  t.raises("step budget spent", fence.call, 1e5, function()
    for _ = 1, 1000 do inner() end
  end)
end)

t.test("empty nested calls cannot hide a loop", function()
  local inner = fence.wrap(1e4, function() end)
  t.raises("step budget spent", fence.call, 1e5, function() while true do inner() end end)
  t.equal(("").pack, string.pack)
  t.equal(debug.gethook(), nil)
end)

t.test("an inner failure leaves the outer call watched", function()
  local bad = fence.wrap(1e4, function() error "bad" end)
  t.raises("step budget spent", fence.call, 1e5, function()
    pcall(bad)
    while true do end
  end)
end)

t.test("budgets hold inside coroutines", function()
  local co = coroutine.wrap(function()
    local ok, why = pcall(fence.call, 1e4, function() while true do end end)
    coroutine.yield(ok, why)
    return debug.gethook()
  end)
  local ok, why = co()
  t.equal(ok, false)
  t.contains(why, "step budget spent")
  t.equal(co(), nil)
end)

t.test("a large budget costs nothing at first, and a loop without end is found anyway", function()
  local hooked = fence.call(1e7, function() return debug.gethook() end)
  t.equal(hooked, nil)
  t.raises("step budget spent (2000000 VM steps)", fence.call, 2e6,
           function() while true do end end)
  t.equal(debug.gethook(), nil)
  local inner = fence.wrap(1e4, function() end)
  t.raises("step budget spent", fence.call, 2e6, function()
    local quick = fence.wrap(5e6, function() for _ = 1, 100 do end end)
    quick()
    while true do inner() end
  end)
  t.raises("step budget spent", fence.call, 2e6, function()
    pcall(fence.call, 1.5e6, function() while true do end end)
    while true do end
  end)
end)

t.test("time that passes outside of a call is no call's", function()
  for _ = 1, 3 do
    fence.call(1e7, function() end)
    local spent = os.clock() + 0.12
    while os.clock() < spent do end
    t.equal(debug.gethook(), nil)
  end
  local calls, until_s = 0, os.clock() + 0.3
  while os.clock() < until_s do         -- many short ones are no long one
    calls = calls + fence.call(1e7, function() return debug.gethook() and 1000000 or 1 end)
  end
  t.equal(calls < 1000000 * 3, true)
end)

os.remove(path)
os.remove(dir)
t.finish()
