-- This file tests lua/kernelband/task/plan.lua, which reads the launch plan in a CUDA source. It
-- checks how a plan is parsed, how it is resolved for a shape, and which plans are refused.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local plan = require "kernelband.task.plan"

local task = {
  name = "softmax", shape_names = { "rows", "cols" },
  args = {
    { name = "x", dtype = "f32", mode = "in", dims = { "rows", "cols" } },
    { name = "y", dtype = "f32", mode = "out", dims = { "rows", "cols" } },
    { name = "rows", dtype = "i32", mode = "scalar" },
    { name = "cols", dtype = "i64", mode = "scalar" },
    { name = "eps", dtype = "f32", mode = "scalar", value = 1e-5 },
    { name = "groups", dtype = "i32", mode = "scalar", value = 3 },
  },
}
local shape, machine = { rows = 10, cols = 1000 }, { sm_count = 132 }

local function resolved(source)
  local p, why = plan.parse(source, task)
  if not p then error("parse: " .. why) end
  return assert(plan.resolve(p, task, shape, machine))
end

t.test("the plan of the surface is what it says", function()
  local r = resolved [[
// kb: scratch partial f32[rows*8]
// kb: launch softmax_rows grid=(cdiv(rows,4)) block=(128) shared=4*cols args=(x, y, rows, cols)
extern "C" __global__ void softmax_rows() {}]]
  t.equal(r, {
    scratch = { { name = "partial", dtype = "f32", count = 80 } },
    launches = { {
      kernel = "softmax_rows", line = 2, grid = { 3, 1, 1 }, block = { 128, 1, 1 },
      shared = 4000, args = { { kind = "arg", index = 1 }, { kind = "arg", index = 2 },
                              { kind = "int", value = 10 }, { kind = "int", value = 1000 } } } } })
end)

t.test("launches keep their order; arguments are buffers, scratch, integers", function()
  local r = resolved [[
  int a;
	// kb: scratch a f16[2]
//kb:scratch b i8 [ cols % 7 + 1 ]
// kb: launch k1 args=(b,a,eps, rows*2 - 1,-3) block=(32, 2, 2) grid=( sm_count*2,rows , 5 )
// kb: launch k2 grid=(1) block=(1) args=()
// kb: launch k1 grid=(max(rows, 3, groups)) block=(min(cols, 64)) args=((rows)) shared=(4 + 4)*8]]
  t.equal(#r.launches, 3)
  local l = r.launches[1]
  t.equal(l.args, { { kind = "scratch", index = 2 }, { kind = "scratch", index = 1 },
                    { kind = "arg", index = 5 }, { kind = "int", value = 19 },
                    { kind = "int", value = -3 } })
  t.equal(l.grid, { 264, 10, 5 })
  t.equal(l.block, { 32, 2, 2 })
  t.equal(l.line, 4)
  t.equal(l.shared, 0)
  t.equal(r.launches[2].args, {})
  t.equal(r.launches[3].grid, { 10, 1, 1 })
  t.equal(r.launches[3].block, { 64, 1, 1 })
  t.equal(r.launches[3].shared, 64)
  t.equal(r.scratch[2].count, 1000 % 7 + 1)
end)

-- Shared memory's value of an expression.
local function value(e)
  return resolved("// kb: launch k grid=(1) block=(1) args=() shared=" .. e).launches[1].shared
end

local sums = {
  { "1+2*3", 7 }, { "(1+2)*3", 9 }, { "10-2-3", 5 }, { "20/3/2", 3 }, { "20%7*2", 12 },
  { "cdiv(10,3)", 4 }, { "cdiv(9,3)", 3 }, { "cdiv(0,3)", 0 }, { "min(4,2,8)", 2 },
  { "max(min(4,9),2)", 4 }, { "-3+5", 2 }, { "--3", 3 }, { "2*-3+9", 3 }, { " ( ( 7 ) ) ", 7 },
  { "rows*cols/100", 100 }, { "groups", 3 }, { "007", 7 },
  { "94906265*94906265/9007199136250225", 1 },
}
for _, s in ipairs(sums) do
  t.test(s[1] .. " is " .. s[2], function()
    t.equal(value(s[1]), s[2])
    t.equal(math.type(value(s[1])), "integer")
  end)
end

local good = "launch k grid=(1) block=(1) args=(x)"
local refused = {
  { "", "no launch plan" },
  { "launch", "line 1: expected the kernel's name after launch, got the end" },
  { "launch 3", "expected the kernel's name" },
  { "lunch k", "'lunch' is neither" },
  { "= 3", "expected 'launch' or 'scratch'" },
  { "launch k", "launch k: grid=(..) is missing" },
  { "launch k grid=(1)", "block=(..) is missing" },
  { "launch k grid=(1) block=(1)", "args=(..) is missing" },
  { good .. " grid=(2)", "grid= is given twice" },
  { good .. " cluster=(2)", "cluster= is not supported" },
  { good .. " stream=(2)", "there is no stream=" },
  { good .. " 7", "expected grid=, block=, shared= or args=, got '7'" },
  { "launch k grid=() block=(1) args=()", "needs one to three values" },
  { "launch k grid=(1,2,3,4) block=(1) args=()", "more than 3 items" },
  { "launch k grid=(1 block=(1) args=()", "a '(' is never closed" },
  { "launch k grid=(1,) block=(1) args=()", "value 2: expected a number" },
  { "launch k grid=(row) block=(1) args=()",
    "'row' is no name of the shape (known: cols, groups, rows, sm_count)" },
  { "launch k grid=(x) block=(1) args=()", "'x' is no name of the shape" },
  { "launch k grid=(f(1)) block=(1) args=()", "there is no function 'f'" },
  { "launch k grid=(cdiv(1)) block=(1) args=()", "cdiv takes 2 values, got 1" },
  { "launch k grid=(cdiv(1,2,3)) block=(1) args=()", "cdiv takes 2 values, got 3" },
  { "launch k grid=(min(1)) block=(1) args=()", "min takes 2 values or more, got 1" },
  { "launch k grid=(1.5) block=(1) args=()", "expected an integer below 2^53, got '1.5'" },
  { "launch k grid=(0x10) block=(1) args=()", "got '0x10'" },
  { "launch k grid=(99999999999999999999) block=(1) args=()", "below 2^53" },
  { "launch k grid=(1 2) block=(1) args=()", "value 1: expected an operator, got '2) block" },
  { "launch k grid=(" .. ("("):rep(40) .. "1" .. (")"):rep(40) .. ") block=(1) args=()",
    "nested more than 32 deep" },
  { "launch k grid=(" .. ("1+"):rep(130) .. "1) block=(1) args=()", "longer than 256" },
  { good .. " shared=" .. ("1+"):rep(130) .. "1", "shared: longer than 256" },
  { "launch k grid=(1) block=(1) args=(z)",
    "argument 1: 'z' is no parameter of the task, scratch buffer or name of the shape" },
  { "launch k grid=(1) block=(1) args=(x+1)", "'x' is no name of the shape" },
  { "launch k grid=(1) block=(1) args=(rows x)", "expected an operator" },
  { "launch k grid=(1) block=(1) args=(" .. ("1,"):rep(70) .. "1)", "more than 64 items" },
  { "scratch", "the buffer's name" }, { "scratch p", "an element type" },
  { "scratch p f33[1]", "no element type 'f33'" }, { "scratch p f32", "expected '['" },
  { "scratch p f32[1", "expected ']'" }, { "scratch p f32[]", "expected a number" },
  { "scratch p f32[1] x", "expected the end of the line" },
  { "scratch x f32[1]", "scratch x: the name is taken" },
  { "scratch rows f32[1]", "the name is taken" },
  { "scratch p f32[1]", "no launch plan" },
  { (" "):rep(2100), "longer than 2048" },
  { "launch \1\255 grid", "got '?? grid'" },
}
for i, r in ipairs(refused) do
  t.test("refused: " .. r[2], function()
    local p, why = plan.parse("// kb: " .. r[1] .. "\n", task)
    t.equal(p, nil)
    t.contains(why, i == 1 and "expected 'launch'" or r[2])
  end)
end

t.test("a source without plan lines is answered with how to write one", function()
  local p, why = plan.parse("int main() {}", task)
  t.equal(p, nil)
  t.contains(why, "// kb: launch softmax grid=(..) block=(..) args=(..)")
  t.equal(plan.parse("x // kb: launch k grid=(1) block=(1) args=()", task), nil)
end)

t.test("lines, launches and scratch buffers are counted", function()
  local line = "// kb: " .. good .. "\n"
  t.equal(#assert(plan.parse(line:rep(16), task)).launches, 16)
  local _, why = plan.parse(line:rep(17), task)
  t.contains(why, "line 17: launch k: more than 16 launches")
  local text = {}
  for i = 1, 9 do text[i] = ("// kb: scratch s%d f32[1]\n"):format(i) end
  _, why = plan.parse(table.concat(text), task)
  t.contains(why, "line 9: scratch s9: more than 8 scratch buffers")
  _, why = plan.parse(("//"):rep(3 << 20), task)
  t.contains(why, "longer than")
end)

local out_of_range = {
  { "grid=(0) block=(1)", "grid.x is 0, and must be from 1 to 2147483647" },
  { "grid=(rows-11) block=(1)", "grid.x is -1" },
  { "grid=(2147483648) block=(1)", "grid.x is 2147483648" },
  { "grid=(1,65536) block=(1)", "grid.y is 65536, and must be from 1 to 65535" },
  { "grid=(1,1,65536) block=(1)", "grid.z is 65536" },
  { "grid=(1) block=(1025)", "block.x is 1025" },
  { "grid=(1) block=(1,1,65)", "block.z is 65" },
  { "grid=(1) block=(64,32)", "a block of 2048 threads, and 1024 is the most" },
  { "grid=(1) block=(1) shared=0-1", "shared is -1" },
  { "grid=(1) block=(1) shared=cols*cols*cols", "shared is 1000000000" },
  { "grid=(rows/0) block=(1)", "grid.x: division by zero" },
  { "grid=(rows%(rows-10)) block=(1)", "division by zero" },
  { "grid=(cdiv(rows,0)) block=(1)", "division by zero" },
  { "grid=(" .. ("cols*"):rep(9) .. "cols) block=(1)", "a value of 2^53 or more" },
  { "grid=(94906266*94906266) block=(1)", "a value of 2^53 or more" },
  { "grid=(9007199254740991*9007199254740991*0) block=(1)", "a value of 2^53 or more" },
}
for _, r in ipairs(out_of_range) do
  t.test("out of range: " .. r[1], function()
    local p = assert(plan.parse("// kb: launch k args=() " .. r[1], task))
    local got, why = plan.resolve(p, task, shape, machine)
    t.equal(got, nil)
    t.contains(why, r[2])
    t.contains(why, "line 1: launch k")
  end)
end

t.test("scratch is bounded, each and in all", function()
  local tail = "// kb: launch k grid=(1) block=(1) args=()"
  local function scratch(...)
    local text = {}
    for i, s in ipairs { ... } do text[i] = ("// kb: scratch s%d %s\n"):format(i, s) end
    return plan.resolve(assert(plan.parse(table.concat(text) .. tail, task)), task, shape, machine)
  end
  t.equal(scratch("u8[8589934592]").scratch[1].count, 8589934592)
  t.contains(select(2, scratch "u8[8589934593]"), "s1: elements is 8589934593")
  t.contains(select(2, scratch "f64[1073741825]"), "s1: elements")
  t.contains(select(2, scratch("f32[2147483648]", "u8[1]")), "more than 8 GiB in all")
  t.contains(select(2, scratch "f32[0]"), "must be from 1")
end)

t.test("a name without a value is reported", function()
  local p = assert(plan.parse("// kb: launch k grid=(sm_count) block=(1) args=()", task))
  local got, why = plan.resolve(p, task, shape, {})
  t.equal(got, nil)
  t.contains(why, "'sm_count' has no integer value here")
  t.equal(plan.resolve(p, task, shape), nil)
end)

t.test("shapes with float integers, as from JSON, are integers", function()
  local p = assert(plan.parse("// kb: launch k grid=(rows) block=(1) args=(rows)", task))
  local r = plan.resolve(p, task, { rows = 4.0, cols = 1.0 }, machine)
  t.equal(math.type(r.launches[1].grid[1]), "integer")
  t.equal(math.type(r.launches[1].args[1].value), "integer")
end)

t.finish()
