-- cli/doc/man.lua - kernelband.1, from the verbs' own tables.
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"
local roff    = require "kernelband.cli.doc.roff"

local man = {}

local exits = {
  { "0", "done" }, { "1", "it failed; for eval and profile: a verdict other than ok" },
  { "2", "the command line or the configuration is wrong" },
  { "130", "interrupted" },
}

local environment = {
  { "KERNELBAND_LIB", "the folder that holds lua/, strategies/ and policies/" },
  { "KERNELBAND_PYTHON", "the Python 3 with torch and triton that judges Triton kernels" },
  { "KERNELBAND_TRACE", "1: errors come with a traceback" },
  { "NO_COLOR", "set: no colours and no bold type on a terminal" },
  { "TMPDIR", "where candidates are built; /tmp unless set" },
}

function man.page()
  local page = roff.page("KERNELBAND", 1)
  page.section "NAME"
  page.text "kernelband - makes a compute kernel faster"
  page.section "SYNOPSIS"
  page.text "kernelband VERB [ARGS]"
  page.section "DESCRIPTION"
  page.text("KernelBand keeps a pool of verified kernels and, pull by pull, picks one of them and "
    .. "an\noptimisation strategy with a bandit, has a child made of the two, and builds, checks, "
    .. "times\nand profiles it. Experiments, strategies and policies are Lua files; kernelband doc "
    .. "api\nprints their interface.")
  page.section "VERBS"
  for _, name in ipairs(cli.verbs) do
    local verb = cli.verb(name)
    page.subsection((verb.usage:gsub("\n%s+", " ")))
    page.text(verb.summary:sub(1, 1):upper() .. verb.summary:sub(2) .. ".")
    for _, o in ipairs(verb.options or {}) do page.item(options.title(o), o.doc or "") end
    if verb.help then
      page.paragraph()
      page.body(verb.help)
    end
  end
  page.section "EXIT STATUS"
  for _, e in ipairs(exits) do page.item(e[1], e[2]) end
  page.section "ENVIRONMENT"
  for _, e in ipairs(environment) do page.item(e[1], e[2]) end
  page.section "FILES"
  page.text "A run is a folder: run.db (SQLite, the journal), best.*, result.json, report.html."
  return page.done()
end

return man
