-- kernelband compare ROWS|RUN...: which policy is better, and is it more than chance.
local core    = require "kernelband.core"
local compare = require "kernelband.bench.compare"
local json    = require "kernelband.base.json"
local options = require "kernelband.cli.options"
local schema  = require "kernelband.base.schema"

local usage = "kernelband compare ROWS|RUN... [--at 20,60] [--against CELL] [--json] [--tsv]\n"
  .. "                          [--html FILE] [--paper]"

local function pulls(text)
  local out = {}
  for word in text:gmatch "[^,]+" do
    local n = math.tointeger(tonumber(word))
    if not n or n < 1 then
      schema.raise("kernelband: --at takes numbers of pulls such as 20,60, got '%s'\nusage: %s",
                   text, usage)
    end
    out[#out + 1] = n
  end
  return out
end

local function print_json(t)
  for _, c in ipairs(t.cells) do
    local at = {}
    for n, e in pairs(c.at) do at[tostring(n)] = e end
    c.at = at
    if c.to90 == math.huge then c.to90 = nil end
  end
  print(json.encode(t))
end

local opts = {
  { "json", doc = "print one JSON object" },
  { "tsv", doc = "print tab-separated values" },
  { "at", "N,N..", doc = "the numbers of pulls to compare at" },
  { "against", "CELL", doc = "the policy the others are compared with" },
  { "html", "FILE", doc = "write the same as a page, with curves" },
  { "paper", doc = "the papers' metrics over tasks instead" },
}

return {
  summary = "compare policies by the rows of kb.sweep, or by runs",
  usage = usage, options = opts,
  help = [[
ROWS are files that kb.sweep wrote, RUN folders of searches. Shares of the optimum
after so many pulls, with 95 % intervals over seeds; area, the mean share; the
median pull that reached 90 %; regret against the best fixed arm; the difference to
the first policy, or to --against, over the seeds both have. A run's share is of the
best of the runs given on its task. --paper: correct, Fast@1, geometric means and
fast_p over tasks instead, of the best kernel of every run, by generator and policy.]],
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1 })
    if opt.paper then
      local metrics = require "kernelband.bench.metrics"
      io.write(metrics.text(metrics.of_runs(rest)))
      return 0
    end
    local at = opt.at and pulls(opt.at)
    local rows = compare.load(rest)
    local t = compare.table(rows, { at = at, against = opt.against })
    if opt.html then
      local text = require("kernelband.report.compare_page").html(t, rows)
      local ok, why = core.system.write_file(opt.html, text)
      if not ok then schema.raise("kernelband compare: %s", why) end
    end
    if opt.json then
      print_json(t)
    elseif opt.tsv then
      for _, words in ipairs(compare.words(t)) do print(table.concat(words, "\t")) end
    else
      print(compare.text(t, true))
    end
    return 0
  end,
}
