-- cli - the command line: finds the verb, runs it, turns its end into an exit
-- code and its errors into messages on stderr. A verb is lua/kernelband/cli/<verb>.lua, a table
-- as options.lua has it, whose run(opt, rest, verb) gets the parsed options and the other words.
local kb      = require "kernelband"      -- and its searcher
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local schema  = require "kernelband.base.schema"

local cli = {}
local done <const>, failed <const>, usage <const>, interrupted <const> = 0, 1, 2, 130

-- In the order of --help; the manual page and the completion have the same.
cli.verbs = { "run", "resume", "steer", "report", "serve", "export", "import", "eval", "profile",
              "verify", "record", "compare", "lab", "list", "new", "doctor", "doc", "worker" }

function cli.verb(name)
  local verb = require("kernelband.cli." .. name)
  return verb.usage and verb or options.verb(verb)
end

-- Prints a text of help.in. Its module is loaded for this alone: a search does without.
local function help(name, values)
  print(require("kernelband.base.template").fill("cli/help." .. name, values))
end

-- What a script raised as a text: Lua's own list of the places of a module is left out, and
-- what is no text gets a line.
local function text_of(err)
  local meta = getmetatable(err)
  if type(err) == "string" then
    return (err:gsub("\n\tno [^\n]*", ""):gsub("(module '[^\n]*' not found):",
                                                "%1: expected a Lua file of that name"))
  end
  if type(meta) == "table" and meta.__tostring then return tostring(err) end
  return ("%s: raised %s, expected a text that says what is wrong"):format(
         schema.call_site() or "kernelband", schema.show(err))
end

-- The way to an error, down to the verb, is shown where it is the engine's own, or when it is
-- asked for.
local function explain(err)
  local text = text_of(err)
  if schema.is_own(err) or os.getenv "KERNELBAND_TRACE" == "1" then
    text = debug.traceback(text, 2):gsub("\n[^\n]*in function 'xpcall'.*$", "")
  end
  if not schema.is_config_error(err) then return text end
  err.message = text
  return err
end

-- name: what stands where a verb is expected; args: the words behind it.
local function run(name, args)
  if not name or name == "--help" or name == "-h" or name == "help" then
    help("overview", { verbs = lists.collect(cli.verbs, cli.verb) })
    return name and done or usage
  elseif name == "--version" then
    return print("kernelband " .. kb.version)
  elseif not lists.contains(cli.verbs, name) then
    schema.raise("kernelband: unknown verb '%s'%s", name, schema.hint(name, cli.verbs))
  end
  local verb = cli.verb(name)
  local opt, rest = options.parse(args, verb)
  if opt then return verb.run(opt, rest, verb) end
  help("verb", lists.with(verb, { choices = options.help(verb.options) }))
end

-- args: the words after the program's name.
function cli.main(args)
  local ok, code = xpcall(run, explain, table.remove(args, 1), args)
  if not ok then
    io.stdout:flush()
    io.stderr:write(tostring(code), "\n")
    code = schema.is_config_error(code) and usage or failed
  end
  return core.system.interrupts() > 0 and interrupted or code or done
end

return cli
