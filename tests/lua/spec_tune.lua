package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local tune = require "kernelband.task.tune"

t.test("a line declares a constant and its values", function()
  t.equal(tune.parse "// kb: tune BX 64 128 256\n  //kb:tune U 1, 2\r\nint x;\n",
          { { name = "BX", values = { 64, 128, 256 } }, { name = "U", values = { 1, 2 } } })
  t.equal(tune.parse "int tune;\n// tune BX 1\n", {})
end)

t.test("apply defines it in its place, the first value unless told", function()
  local s = "// kb: tune BX 64 128\nint a[BX];"
  t.equal(tune.apply(s), "#define BX 64\nint a[BX];")
  t.equal(tune.apply(s, { BX = 128 }), "#define BX 128\nint a[BX];")
  t.equal(tune.apply("int x;\n", { BX = 1 }), "int x;\n")
  t.equal(tune.point(tune.parse(s)), { BX = 64 })
end)

t.test("values reach to where a threshold means never", function()
  t.equal(tune.parse("// kb: tune A 0 2000000000 -1099511627776 1099511627776")[1].values,
          { 0, 2000000000, -1099511627776, 1099511627776 })
  t.equal(tune.apply "// kb: tune A 1099511627776", "#define A 1099511627776")
end)

t.test("a value said twice counts once", function()
  t.equal(tune.parse("// kb: tune A 2 2 4")[1].values, { 2, 4 })
end)

for _, case in ipairs {
  { "// kb: tune", "names nothing" },
  { "// kb: tune 9x 1", "'9x' is no name" },
  { "// kb: tune A", "A has no value" },
  { "// kb: tune A 1 two", "'two' is no integer" },
  { "// kb: tune A 1.5", "'1.5' is no integer" },
  { "// kb: tune A 1099511627777", "is no integer within" },
  { "// kb: tune A 1\n// kb: tune A 2", "line 2: kb: tune: A is declared twice" },
  { "// kb: tune A" .. (" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"), "more than 16 values" },
  { (function() local s = {} for i = 1, 9 do s[i] = "// kb: tune A" .. i .. " 1" end
     return table.concat(s, "\n") end)(), "more than 8 names" },
  { "// kb: tune \1\2 1", "'??' is no name" },
  { "// kb: tune A(x) 1", "is no name" },
} do
  t.test("refused: " .. case[2], function()
    local got, why = tune.parse(case[1])
    t.equal(got, nil)
    t.contains(why, case[2])
    t.equal(tune.apply(case[1]), nil)
  end)
end

t.finish()
