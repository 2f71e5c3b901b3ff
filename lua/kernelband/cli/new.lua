-- kernelband new task|strategy|policy NAME - a first file that works, to edit.
local core      = require "kernelband.core"
local options   = require "kernelband.cli.options"
local schema    = require "kernelband.base.schema"
local skeletons = require "kernelband.cli.skeletons"

local usage = "kernelband new task|strategy|policy NAME"

-- NAME may have folders before it; the last word is the name.
local function split(given)
  local dir, name = given:match "^(.*/)([^/]+)$"
  if not dir then dir, name = "", given end
  name = name:gsub("%.lua$", "")
  if not name:find "^[%a][%w_]*$" then
    schema.raise("kernelband: '%s' cannot be a name: a letter, then letters, "
                 .. "digits and _ (it names a C function)", name)
  end
  return dir, name
end

local function refuse_existing(files)
  for _, file in ipairs(files) do
    if core.system.exists(file.path) then
      schema.raise("kernelband: '%s' exists already and is left as it is", file.path)
    end
  end
end

local function must(done, why)
  if not done then error("kernelband: " .. why, 0) end
end

local function run(args)
  local _, rest = options.parse(args, { usage = usage, least = 2, most = 2 })
  local kind = rest[1]
  if not skeletons[kind] then
    schema.raise("kernelband: cannot make a '%s'%s\nusage: %s", kind,
                 schema.hint(kind, { "task", "strategy", "policy" }), usage)
  end
  local dir, name = split(rest[2])
  local files, advice = skeletons[kind](dir, name)
  refuse_existing(files)
  for _, file in ipairs(files) do
    local folder = file.path:match "^(.*)/[^/]*$"
    if folder and folder ~= "" then must(core.system.mkdir_p(folder)) end
    must(core.system.write_file(file.path, file.text))
    print("wrote " .. file.path)
  end
  print(advice)
  return 0
end

return { summary = "writes a first task, strategy or policy to edit", usage = usage,
         words = { "task", "strategy", "policy" },
         help = "NAME may have folders before it: kernelband new task tasks/scale.",
         run = run }
