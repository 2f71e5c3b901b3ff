-- kernelband report RUN... [-o FILE] - a page or a picture of one run, a page of several.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local report  = require "kernelband.report"
local schema  = require "kernelband.base.schema"

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
each number comes from. Of several: their curves with bands, fast_p, intervals, pulls an arm.
A FILE that ends in .svg is a picture of one run instead: best so far and the search tree.]],
  run = function(args)
    local opt, folders = options.parse(args, { usage = usage, options = opts, least = 1 })
    local picture = opt.out and opt.out:find "%.svg$"
    if picture and #folders > 1 then
      schema.raise "kernelband report: a picture (-o FILE.svg) is of one run; name one, or an .html"
    end
    local html, damage = (picture and report.svg or report.html)(picture and folders[1] or folders)
    for _, text in ipairs(damage) do io.stderr:write("kernelband: ", text, "\n") end
    local file = opt.out or (#folders == 1 and folders[1]:gsub("(.)/+$", "%1") .. "/report.html"
                             or "report.html")
    local ok, why = core.system.write_file(file, html)
    if not ok then error("kernelband report: " .. why, 0) end
    print(file)
    return #damage > 0 and 1 or 0
  end,
}
