-- A run of 100,000 pulls is read, reported and exported, within the memory a script has.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local journals = require "journals"
local markup = require "markup"
local report = require "kernelband.report"
local worlds = require "worlds"

local exe = core.system.exe()

t.test("a run of 100,000 pulls reports", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 100000, usd = 0.001 })
  local start = core.system.now_ns()
  local html = report.html { folder }
  local seconds = (core.system.now_ns() - start) / 1e9
  local count = markup.harmless(html)
  print(("100,000 pulls: %.2f s, %.2f MB, %d drawings"):format(seconds, #html / 1e6, count.svg))
  assert(#html <= 5e6, #html)
  for _, format in ipairs { "jsonl", "csv", "t4" } do
    t.equal(os.execute(("%s export %s --%s -o %s/out"):format(exe, folder, format, folder)), true)
  end
end)

worlds.clean()
t.finish()
