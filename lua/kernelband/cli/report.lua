-- kernelband report RUN... [-o FILE] - a page or a picture of one run, a page of several.
local report  = require "kernelband.report"
local schema  = require "kernelband.base.schema"

return { "report", args = "RUN...", folders = true,
  options = { { "out",
                doc = "where to write; else RUN/report.html, or report.html for several" } },
  run = function(opt, folders, verb)
    local picture = opt.out and opt.out:find "%.svg$"
    schema.must(not picture or #folders == 1, "kernelband report: a picture (-o FILE.svg) is of "
      .. "one run; name one, or an .html")
    local page, damage = (picture and report.svg or report.html)(picture and folders[1] or folders)
    for _, text in ipairs(damage) do io.stderr:write("kernelband: ", text, "\n") end
    local file = opt.out or (#folders == 1 and folders[1]:gsub("(.)/+$", "%1") .. "/report.html"
                             or "report.html")
    verb:write(page, file)
    print(file)
    return #damage > 0 and 1 or 0
  end,
}
