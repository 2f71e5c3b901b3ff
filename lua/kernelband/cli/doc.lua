-- kernelband doc man|bash|zsh|meta - texts that are made from the program's own
-- tables: the manual page, the shells' completion, the editors' definitions.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local schema  = require "kernelband.base.schema"

local usage = "kernelband doc man|bash|zsh|meta [-o FILE]"

local opts = {
  { "out", "FILE", short = "o", file = true, doc = "where to write; standard output unless given" },
}

local texts = {
  man  = function() return require("kernelband.cli.doc.man").page() end,
  bash = function() return (require("kernelband.cli.doc.completion").bash()) end,
  zsh  = function() return (require("kernelband.cli.doc.completion").zsh()) end,
  meta = function() return require("kernelband.cli.doc.meta").text() end,
}
local names = { "man", "bash", "zsh", "meta" }

return {
  summary = "prints the manual page, shell completion or editor definitions",
  usage = usage, options = opts, words = names,
  help = [[
In a shell:
  source <(kernelband doc bash)
  kernelband doc man | man -l -
meta is LuaCATS: what an editor with the Lua language server knows of experiments.]],
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1, most = 1 })
    if not texts[rest[1]] then
      schema.raise("kernelband: cannot print '%s'%s\nusage: %s", rest[1],
                   schema.hint(rest[1], names), usage)
    end
    local text = texts[rest[1]]()
    if not opt.out then
      io.write(text)
      return 0
    end
    local ok, why = core.system.write_file(opt.out, text)
    if not ok then schema.stop("kernelband doc: " .. why) end
    return 0
  end,
}
