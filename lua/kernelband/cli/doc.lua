-- kernelband doc WHAT - texts made from the program's own tables: manuals, the shells' completion,
-- the editors' definitions, what changed.
local options = require "kernelband.cli.options"

local doc = "kernelband.cli.doc."
local texts = {
  api = function(opt) return require(doc .. "api")[opt.man and "man" or "markdown"]() end,
  man = function() return require(doc .. "man").page() end,
  bash = function() return require(doc .. "completion").bash() end,
  zsh = function() return require(doc .. "completion").zsh() end,
  meta = function() return require(doc .. "meta").text() end,
  changes = function() return require(doc .. "changes").markdown() end,
}

return options.verb { "doc",
  summary = "print a manual, a shell's completion or editor definitions",
  args = "api|man|bash|zsh|meta|changes",
  options = { options.out "where to write; standard output unless given",
              { "man", doc = "with api: a manual page (roff) instead of Markdown" } },
  run = function(opt, rest, verb)
    if opt.man and rest[1] ~= "api" then
      options.misuse(verb, "--man goes with api")
    end
    options.write("doc", texts[rest[1]](opt), opt.out)
    return 0
  end,
}
