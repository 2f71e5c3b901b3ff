-- kernelband report RUN... [-o FILE] - a page about one run, or about several.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local report  = require "kernelband.report"

local usage = "kernelband report RUN... [-o FILE]"

local opts = {
  { "out", "FILE", short = "o", file = true, doc = "the page; RUN/report.html, or report.html "
    .. "for several runs, unless given" },
}

return {
  summary = "writes a self-contained page about a run, or several",
  usage = usage, options = opts, folders = true,
  help = [[
One HTML file that opens from disk, without network or JavaScript. Of one run: best so far,
search tree, strategies and clusters, roofline, profile, source with its diffs, and where
each number comes from. Of several: their curves with bands, fast_p, intervals, pulls an arm.]],
  run = function(args)
    local opt, folders = options.parse(args, { usage = usage, options = opts, least = 1 })
    local html, damage = report.html(folders)
    for _, text in ipairs(damage) do io.stderr:write("kernelband: ", text, "\n") end
    local file = opt.out or (#folders == 1 and folders[1]:gsub("(.)/+$", "%1") .. "/report.html"
                             or "report.html")
    local ok, why = core.system.write_file(file, html)
    if not ok then error("kernelband report: " .. why, 0) end
    print(file)
    return #damage > 0 and 1 or 0
  end,
}
