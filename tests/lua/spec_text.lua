-- base/text.lua: tables of columns, cut and quoted words, numbers with units.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local lists = require "kernelband.base.lists"
local text = require "kernelband.base.text"

-- Each call with what it must give.
local function gives(name, cases)
  t.test(name, function()
    for _, case in ipairs(cases) do
      local got = text[name](table.unpack(case[1], 1, 4))
      t.equal(got, case[2], table.concat({ name, tostring(case[1][1]) }, " "))
    end
  end)
end

gives("utf8", { { { "" }, "" }, { { "caf\u{E9}" }, "caf\u{E9}" }, { { "a\xFFb" }, "a\u{FFFD}b" },
  { { "\xFF\xFE" }, "\u{FFFD}\u{FFFD}" }, { { "caf\xC3" }, "caf\u{FFFD}" } })
gives("width", { { { "caf\u{E9}" }, 4 }, { { "\xFF\xFE" }, 2 }, { { "" }, 0 } })
gives("cut", { { { "abc", 3 }, "abc" }, { { "abcd", 3 }, "abc" }, { { "abcdef", 4, ".." }, "ab.." },
  { { "\u{E9}\u{E9}\u{E9}", 2 }, "\u{E9}\u{E9}" }, { { "\u{E9}\u{E9}", 2 }, "\u{E9}\u{E9}" },
  { { "abc", 0 }, "" }, { { "a\xFFbc", 2 }, "a\u{FFFD}" }, { { "abc", 1, ".." }, ".." } })
gives("one_line", { { { "a\n\tb\27[0m" }, "a b [0m" }, { { 3 }, "3" } })
gives("lines", { { { "a\r\n\nb\r\r\nc" }, { "a", "", "b\r", "c" } }, { { "" }, {} },
  { { "\n" }, { "" } } })
gives("quote", { { { "runs/a.b" }, "runs/a.b" }, { { "it's" }, "'it'\\''s'" }, { { "" }, "''" },
  { { "$(x)" }, "'$(x)'" } })
gives("plural", { { { 1, "pull" }, "1 pull" }, { { 0, "pull" }, "0 pulls" },
  { { 2, "policy", "policies" }, "2 policies" } })
gives("fields", { { { { n = 4096, m = 1.5, s = "x" } }, "m=1.5 n=4096 s=x" },
  { { { a = true, b = 2.0 }, "," }, "a=true,b=2" } })
gives("time", { { { 12 }, "12 ns" }, { { 1200 }, "1.20 us" }, { { 2.5e6 }, "2.50 ms" },
  { { 3e9 }, "3.00 s" }, { {}, "-" }, { { 0 / 0 }, "-" }, { { 0 }, "0 ns" } })
gives("bytes", { { { 12 }, "12 bytes" }, { { 1536 }, "1.5 KiB" }, { { 3 << 30 }, "3 GiB" } })
gives("count", { { { 950 }, "950" }, { { 12345 }, "12k" }, { { 3.4e6 }, "3.4M" } })
gives("thousands", { { { 0 }, "0" }, { { 999 }, "999" }, { { 1000 }, "1,000" },
  { { -123456 }, "-123,456" }, { { 12345678 }, "12,345,678" } })
gives("percent", { { { 0.256 }, "26 %" }, { {}, "-" }, { { math.huge }, "-" } })
gives("clock", { { { 65 }, "01:05" }, { { 3605 }, "1:00:05" }, { { -1 }, "00:00" } })

t.test("columns are equal by characters, and no line ends with blanks", function()
  t.equal(text.table { { "a", "bb" }, { "\u{E9}\u{E9}", "c" }, { "d", "" } },
          "a   bb\n\u{E9}\u{E9}  c\nd\n")
  t.equal(text.table({ { "name", "n" }, { "x", "100" } }, { right = true, rule = true }),
          "name    n\n---------\nx     100\n")
  t.equal(text.table({ { "a long name", "x" }, { "b", "y" } }, { most = 3 }),
          "a long name  x\nb    y\n")
  t.equal(text.table {}, "")
  t.equal(text.table { { "a" } }, "a\n")
end)

t.test("the keys of a table come sorted as text", function()
  t.equal(lists.keys { b = 1, a = 2, c = 3 }, { "a", "b", "c" })
  t.equal(lists.keys { [2] = 1, [1] = 1 }, { 1, 2 })
end)

t.finish()
