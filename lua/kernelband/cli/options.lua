-- cli/options.lua - the command line of a verb, from one table: what is parsed, what
-- --help says, the manual page and the shells' completion all come from it.
--
--   local opts = { { "json", doc = "print one JSON object" },
--                  { "out", "FILE", short = "o", doc = "where to write" },
--                  { "device", "D", one_of = { "cpu" }, doc = "where to run" } }
--   local opt, rest = options.parse(args, { usage = "kernelband eval TASK SOURCE [--json]",
--                                           options = opts, least = 2, most = 2 })
--
-- An option with a second item takes a value; one_of lists what a completion may
-- offer, strict = true refuses anything else. flags = { "json" } and values =
-- { "device" } are short for options without a text. --name, --name=VALUE, --name VALUE
-- and -o VALUE are understood, "--" ends options; anything else is an error that
-- main turns into exit 2.
local schema = require "kernelband.base.schema"

local options = {}

-- One list of options, whichever way they were declared.
local function declared(spec)
  local out = {}
  for _, o in ipairs(spec.options or {}) do out[#out + 1] = o end
  for _, name in ipairs(spec.flags or {}) do out[#out + 1] = { name } end
  for _, name in ipairs(spec.values or {}) do out[#out + 1] = { name, "VALUE" } end
  return out
end

local function find(list, word)
  local long = word:match "^%-%-([%w_-]+)$"
  local short = word:match "^%-(%a)$"
  for _, o in ipairs(list) do
    if o[1] == long or short and o.short == short then return o end
  end
end

local function unknown(name, spec)
  local names = { "--help" }
  for _, o in ipairs(declared(spec)) do names[#names + 1] = "--" .. o[1] end
  schema.raise("kernelband: unknown option '%s'%s\nusage: %s", name,
               schema.hint(name, names), spec.usage)
end

local function check(o, value, spec)
  if not (o.strict and o.one_of) then return end
  for _, known in ipairs(o.one_of) do if known == value then return end end
  schema.raise("kernelband: --%s: expected %s, got '%s'%s\nusage: %s", o[1],
    table.concat(o.one_of, "|"), value, schema.nearest(value, o.one_of)
    and schema.hint(value, o.one_of) or "", spec.usage)
end

-- Reads the option at args[i] into opt; returns the index of what follows.
local function take(args, i, spec, opt)
  local word, value = args[i]:match "^(%-%-[%w_-]+)=(.*)$"
  word = word or args[i]
  local o = find(declared(spec), word)
  if not o then unknown(word:match "^[^=]*", spec) end
  local key = o[1]:gsub("-", "_")
  if not o[2] then
    if value then
      schema.raise("kernelband: --%s takes no value\nusage: %s", o[1], spec.usage)
    end
    opt[key] = true
    return i + 1
  end
  if not value then
    i = i + 1
    value = args[i]
  end
  if not value then
    schema.raise("kernelband: --%s needs a value\nusage: %s", o[1], spec.usage)
  end
  check(o, value, spec)
  opt[key] = value
  return i + 1
end

-- "-o, --out FILE", and its text, for --help and the manual.
function options.title(o)
  return (o.short and "-" .. o.short .. ", " or "") .. "--" .. o[1]
         .. (o[2] and " " .. o[2] or "")
end

-- The options of a verb as lines of --help; "" when it declares none.
function options.help(list)
  local out, width = {}, 0
  for _, o in ipairs(list or {}) do width = math.max(width, #options.title(o)) end
  for i, o in ipairs(list or {}) do
    out[i] = ("  %-" .. width .. "s  %s"):format(options.title(o), o.doc or "")
  end
  return table.concat(out, "\n")
end

function options.parse(args, spec)
  local opt, rest, i = {}, {}, 1
  while i <= #args do
    local word = args[i]
    if word == "--" then
      table.move(args, i + 1, #args, #rest + 1, rest)
      break
    elseif word:sub(1, 1) == "-" and word ~= "-" then
      i = take(args, i, spec, opt)
    else
      rest[#rest + 1] = word
      i = i + 1
    end
  end
  if #rest < (spec.least or 0) then
    schema.raise("kernelband: too few arguments\nusage: %s", spec.usage)
  elseif #rest > (spec.most or math.huge) then
    schema.raise("kernelband: '%s' is one argument too many\nusage: %s",
                 rest[spec.most + 1], spec.usage)
  end
  return opt, rest
end

return options
