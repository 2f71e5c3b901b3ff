-- cli/options.lua - a verb as one table: what is parsed, what --help says, the manual page and
-- the shells' completion all come from it. Its words are in the manual, doc/man.md: below its name
-- a sentence, then more.
--
--   { "profile", args = "TASK SOURCE", options = { "json", "device" },
--     run = function(opt, rest, verb) ... return exit_code end }      nothing returned is 0
--
-- args     the words that are no options: [X] may be missing, X... may be repeated, of a|b one
--          is meant
-- options  { "plain", doc = "print no table" }, or with a value
--          { "out", "FILE", short = "o", file = true, doc = "where to write" }
--            one_of = { .. }  what a completion offers
--            number = true, whole = true, least =, most =   the value is a number
--            file = true      the value is a path
--          an option that several verbs have may be its name alone, or with what differs: the
--          table common has the rest
-- script   true: options end at the first other word, and what follows it is not checked
-- folders  true: a completion offers folders
--
-- --name, --name=VALUE, --name VALUE and -o VALUE are understood, "--" ends options. A mistake
-- is an error that main turns into exit 2.
--
-- run finds verb:misuse(message, ..), which raises about the command line, and
-- verb:write(text, file).
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local path   = require "kernelband.base.path"
local schema = require "kernelband.base.schema"

local options = {}

local common = {
  json = { "json", doc = "print one JSON object" },
  device = { "device", "D", one_of = { "cpu", "cuda:0" }, doc = "cpu, cpu:N or cuda:N" },
  progress = { "progress", "HOW", one_of = { "auto", "always", "never", "json" },
               doc = "auto, always, never or json" },
  strict = { "strict", doc = "run the slow checks too" },
  out = { "out", "FILE", short = "o", file = true,
          doc = "where to write; standard output unless given" },
}

local methods = {}

function methods:misuse(message, ...)
  schema.raise("kernelband: %s\nusage: %s", message:format(...), self.usage)
end

-- Writes a text to a file, or to standard output where there is none.
function methods:write(content, file)
  if not file then return io.write(content) end
  local ok, why = core.system.write_file(file, content)
  if not ok then schema.stop(("kernelband %s: %s"):format(self[1], why)) end
end

-- The option of a verb that a word names.
local function find(spec, word)
  local known = lists.find(spec.options, function(o)
    return word == "--" .. o[1] or o.short and word == "-" .. o.short
  end)
  if known then return known end
  local names = lists.collect(spec.options, function(o) return "--" .. o[1] end)
  table.insert(names, 1, "--help")
  methods.misuse(spec, "unknown option '%s'%s", word, schema.hint(word, names))
end

-- The value of an option, checked.
local function value_of(o, word, spec)
  if not (o.number or o.whole) then return word end
  local least, n = o.least or 0, tonumber(word)
  n = math.tointeger(n) or not o.whole and n
  if n and n >= least and n <= (o.most or math.maxinteger) then return n end
  methods.misuse(spec, "--%s must be a %snumber from %d%s, got '%s'", o[1],
    o.whole and "whole " or "", least, o.most and " to " .. o.most or " up", word)
end

-- Reads an option into opt; its value may be the next of args.
local function take(word, args, spec, opt)
  local name, value = word:match "^(%-%-[%w_-]+)=(.*)$"
  local o = find(spec, name or word)
  if o[2] then
    value = value or table.remove(args, 1) or methods.misuse(spec, "--%s needs a value", o[1])
    value = value_of(o, value, spec)
  elseif value then
    methods.misuse(spec, "--%s takes no value", o[1])
  end
  opt[o[1]:gsub("-", "_")] = value or true
end

-- The options and the other words of a command line, whose words are taken away; nil where it
-- asks for help.
function options.parse(args, spec)
  local opt, rest, ended = {}, {}, false
  while #args > 0 do
    local word = table.remove(args, 1)
    if ended or word:sub(1, 1) ~= "-" or word == "-" then
      rest[#rest + 1] = word
      ended = ended or spec.script
    elseif word == "--" then
      ended = true
    elseif word == "--help" or word == "-h" then
      return nil
    else
      take(word, args, spec, opt)
    end
  end
  if #rest < (spec.least or 0) then
    methods.misuse(spec, "%s is missing", lists.words(spec.args)[#rest + 1])
  elseif #rest > (spec.most or math.huge) then
    methods.misuse(spec, "'%s' is one argument too many", rest[spec.most + 1])
  elseif spec.words and not lists.contains(spec.words, rest[1]) then
    methods.misuse(spec, "expected %s, got '%s'%s", table.concat(spec.words, "|"), rest[1],
                   schema.nearest(rest[1], spec.words) and schema.hint(rest[1], spec.words) or "")
  end
  return opt, rest
end

-- "-o, --out FILE", for --help and the manual.
function options.title(o)
  return (o.short and "-" .. o.short .. ", " or "") .. "--" .. o[1] .. (o[2] and " " .. o[2] or "")
end

-- The options of a verb as lines of --help.
function options.help(list)
  return require("kernelband.base.text").table(lists.collect(list, function(o)
    return { "  " .. options.title(o), o.doc }
  end))
end

-- "kernelband eval TASK SOURCE [--json] ..", in lines of 80 columns behind "usage: ".
local function usage_of(verb)
  local lines = { "kernelband " .. verb[1] }
  local words = lists.collect(verb.options, function(o)
    local name = (o.short and "-" .. o.short or "--" .. o[1]) .. (o[2] and " " .. o[2] or "")
    return o.required and name or "[" .. name .. "]"
  end)
  if verb.args then table.insert(words, verb.script and #words + 1 or 1, verb.args) end
  local indent = (" "):rep(#lines[1] + 7)
  for _, word in ipairs(words) do
    if #lines[#lines] + #word > 71 then lines[#lines + 1] = indent .. word
    else lines[#lines] = lines[#lines] .. " " .. word end
  end
  return table.concat(lines, "\n")
end

-- A verb's table with all that follows from it, and its words: summary, as a list of verbs has it,
-- and prose.
function options.verb(verb)
  local sentence, prose = path.own("cli/doc/man.md"):match(
    "\n### " .. verb[1] .. "\n([^\n]*)%.\n(.-)\n##")
  verb.summary, verb.prose = sentence:gsub("^%u", string.lower), prose
  local words = lists.words(verb.args or "")
  verb.options = lists.collect(verb.options or {}, function(o)
    if type(o) == "string" then return assert(common[o], o) end
    return lists.with(common[o[1]] or {}, o)
  end)
  verb.least = #lists.collect(words, function(word) return not word:find "^%[" end)
  verb.most = (verb.script or (verb.args or ""):find "%.%.%.$") and math.huge or #words
  if words[1] and words[1]:find "^%l+|[%l|]+$" then verb.words = lists.words(words[1], "[^|]+") end
  verb.usage = usage_of(verb)
  return setmetatable(verb, { __index = methods })
end

return options
