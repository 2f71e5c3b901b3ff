-- cli/doc/man.lua - kernelband.1, from the verbs' own tables.
local cli     = require "kernelband.cli"
local options = require "kernelband.cli.options"

local man = {}

-- Text as roff takes it: no line of it is a request, no dash a hyphen.
local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

-- Paragraphs; lines that are set in by two spaces stay as they are.
local function body(text, out)
  local fixed = false
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local set_in = line:find "^  " ~= nil
    if set_in ~= fixed then
      out[#out + 1] = set_in and ".nf" or ".fi"
      fixed = set_in
    end
    out[#out + 1] = line == "" and ".PP" or roff(line)
  end
  if fixed then out[#out + 1] = ".fi" end
end

local exits = {
  { "0", "done" }, { "1", "it failed; for eval and profile: a verdict other than ok" },
  { "2", "the command line or the configuration is wrong" },
  { "130", "interrupted" },
}

local environment = {
  { "KERNELBAND_LIB", "the folder that holds lua/, strategies/ and policies/" },
  { "KERNELBAND_PYTHON", "the Python 3 with torch and triton that judges Triton kernels" },
  { "KERNELBAND_TRACE", "1: errors come with a traceback" },
  { "NO_COLOR", "set: no bold type on a terminal" },
  { "TMPDIR", "where candidates are built; /tmp unless set" },
}

local function tagged(list, out)
  for _, e in ipairs(list) do
    out[#out + 1] = ".TP\n.B " .. roff(e[1]) .. "\n" .. roff(e[2])
  end
end

function man.page()
  local out = {
    '.TH KERNELBAND 1 "" "kernelband ' .. require("kernelband").version .. '"',
    ".SH NAME", "kernelband \\- makes a compute kernel faster", ".SH SYNOPSIS",
    ".B kernelband\n.I VERB\n[\\fIARGS\\fR]", ".SH DESCRIPTION",
    "KernelBand keeps a pool of verified kernels and, pull by pull, picks one of them and an",
    "optimisation strategy with a bandit, has a child made of the two, and builds, checks, times",
    "and profiles it. Experiments, strategies and policies are Lua files.",
    ".SH VERBS" }
  for _, name in ipairs(cli.verbs) do
    local verb = cli.verb(name)
    out[#out + 1] = ".SS " .. roff((verb.usage:gsub("\n%s+", " ")))
    out[#out + 1] = roff(verb.summary:sub(1, 1):upper() .. verb.summary:sub(2)) .. "."
    for _, o in ipairs(verb.options or {}) do
      out[#out + 1] = ".TP\n.B " .. roff(options.title(o)) .. "\n" .. roff(o.doc or "")
    end
    if verb.help then
      out[#out + 1] = ".PP"
      body(verb.help, out)
    end
  end
  out[#out + 1] = ".SH EXIT STATUS"
  tagged(exits, out)
  out[#out + 1] = ".SH ENVIRONMENT"
  tagged(environment, out)
  out[#out + 1] = ".SH FILES\nA run is a folder: run.db (SQLite, the journal), best.*, "
                  .. "result.json, report.html."
  return table.concat(out, "\n") .. "\n"
end

return man
