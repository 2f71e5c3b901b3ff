-- Texts with holes: base/template.lua.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"

local template = require "kernelband.base.template"

t.test("no global of a script's stands in for a value that is not there", function()
  _G.quarantined = "by a script"
  local text = template.fill("cli/judged.eval", { speedups = "a table" })
  _G.quarantined = nil
  t.equal(text, "a table")
end)

t.test("a hole without a value is an error that names it, and the line of its file", function()
  t.raises("cli/judged.in:3: no value for ${speedups}", template.fill, "cli/judged.eval", {})
end)

t.test("lines of Lua choose and repeat the lines around them", function()
  t.equal(template.fill("cli/judged.eval", { speedups = "a table", weakened = { "one", "two" } }),
       "a table\nweakened: one\nweakened: two")
end)

t.test("a brace behind a backslash and a dollar is no hole", function()
  local text = template.fill("cli/doc/completion.bash",
                             { names = {}, verbs = {}, join = table.concat })
  t.contains(text, "before=${COMP_WORDS[COMP_CWORD-1]}")
end)

t.test("each line goes to who asks for lines", function()
  local lines = {}
  template.fill("cli/judged.eval", { speedups = "a table", quarantined = "twice" },
                function(line) lines[#lines + 1] = line end)
  t.equal(table.concat(lines, "|"), "a table|measured twice: twice")
end)

t.finish()
