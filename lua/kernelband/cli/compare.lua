-- kernelband compare ROWS|RUN...: which policy is better, and is it more than chance.
local compare = require "kernelband.bench.compare"
local json    = require "kernelband.base.json"
local lists   = require "kernelband.base.lists"

local function pulls(list, verb)
  return lists.collect(lists.words(list, "[^,]+"), function(word)
    local n = math.tointeger(tonumber(word))
    if n and n >= 1 then return n end
    verb:misuse("--at takes numbers of pulls such as 20,60, got '%s'", list)
  end)
end

-- JSON has no numbers as keys and no infinity.
local function print_json(t)
  for _, c in ipairs(t.cells) do
    local at = {}
    for n, e in pairs(c.at) do at[tostring(n)] = e end
    c.at = at
    if c.to90 == math.huge then c.to90 = nil end
  end
  print(json.encode(t))
end

return { "compare", args = "ROWS|RUN...",
  options = {
    { "at", "N,N..", doc = "the numbers of pulls to compare at" },
    { "against", "CELL", doc = "the policy the others are compared with; else the first" },
    "json",
    { "tsv", doc = "print tab-separated values" },
    { "html", "FILE", file = true, doc = "write the same as a page, with curves" },
    { "paper", doc = "print the papers' metrics over tasks instead" },
  },
  run = function(opt, rest, verb)
    if opt.paper then
      local metrics = require "kernelband.bench.metrics"
      io.write(metrics.text(metrics.of_runs(rest)))
      return
    end
    local how = { at = opt.at and pulls(opt.at, verb), against = opt.against }
    local rows = compare.load(rest)
    local t = compare.table(rows, how)
    if opt.html then
      verb:write(require("kernelband.report.compare_page").html(t, rows), opt.html)
    end
    if opt.json then
      print_json(t)
    elseif opt.tsv then
      for _, words in ipairs(compare.words(t)) do print(table.concat(words, "\t")) end
    else
      print(compare.text(t, true))
    end
  end,
}
