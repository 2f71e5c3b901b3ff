-- kernelband doc WHAT - texts made from the program's own tables: manuals, the shells' completion,
-- the editors' definitions, what changed.

-- Of each text the module and its function.
local texts = { api = { "api", "markdown" }, ["api --man"] = { "man", "api" },
                man = { "man", "page" }, meta = { "meta", "text" },
                bash = { "completion", "bash" }, zsh = { "completion", "zsh" },
                changes = { "changes", "markdown" } }

return { "doc", args = "api|man|bash|zsh|meta|changes",
  options = { "out", { "man", doc = "with api: a manual page (roff) instead of Markdown" } },
  run = function(opt, rest, verb)
    if opt.man and rest[1] ~= "api" then verb:misuse("--man goes with api") end
    local from, name = table.unpack(texts[opt.man and "api --man" or rest[1]])
    verb:write(require("kernelband.cli.doc." .. from)[name](), opt.out)
  end,
}
