-- options.lua - the command line of a verb.
--
--   local opt, rest = options.parse(args, {
--     usage = "kernelband eval TASK SOURCE [--json]",
--     flags = { "json" }, values = { "device", "seed" },
--     least = 2, most = 2 })
--
-- --name, --name=VALUE and --name VALUE are understood, "--" ends options;
-- anything else is an error that main turns into exit 2.
local schema = require "kernelband.schema"

local options = {}

local function has(list, name)
  for _, known in ipairs(list or {}) do
    if known == name then return true end
  end
  return false
end

local function unknown(name, spec)
  local names = { "--help" }
  for _, n in ipairs(spec.flags or {}) do names[#names + 1] = "--" .. n end
  for _, n in ipairs(spec.values or {}) do names[#names + 1] = "--" .. n end
  schema.raise("kernelband: unknown option '%s'%s\nusage: %s", name,
               schema.hint(name, names), spec.usage)
end

-- Reads the option at args[i] into opt; returns the index of what follows.
local function take(args, i, spec, opt)
  local name, value = args[i]:match "^%-%-([%w_-]+)=(.*)$"
  name = name or args[i]:match "^%-%-([%w_-]+)$"
  local key = name and name:gsub("-", "_")
  if name and has(spec.flags, name) then
    if value then
      schema.raise("kernelband: --%s takes no value\nusage: %s", name, spec.usage)
    end
    opt[key] = true
    return i + 1
  elseif name and has(spec.values, name) then
    if not value then
      i = i + 1
      value = args[i]
    end
    if not value then
      schema.raise("kernelband: --%s needs a value\nusage: %s", name, spec.usage)
    end
    opt[key] = value
    return i + 1
  end
  unknown(args[i]:match "^[^=]*", spec)
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
