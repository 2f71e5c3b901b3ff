-- kernelband new task|strategy|policy NAME - a first file that works, to edit.
local core      = require "kernelband.core"
local options   = require "kernelband.cli.options"
local path      = require "kernelband.base.path"
local schema    = require "kernelband.base.schema"
local skeletons = require "kernelband.cli.skeletons"

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

return options.verb { "new",
  summary = "write a first task, strategy or policy to edit",
  args = "task|strategy|policy NAME",
  help = "NAME may have folders before it: kernelband new task tasks/scale.",
  run = function(_, rest)
    local files, advice = skeletons[rest[1]](split(rest[2]))
    for _, file in ipairs(files) do
      if core.system.exists(file.path) then
        schema.raise("kernelband: '%s' exists already and is left as it is", file.path)
      end
    end
    for _, file in ipairs(files) do
      local made, why = core.system.mkdir_p(path.dir(file.path))
      if not made then schema.stop("kernelband: " .. why) end
      options.write("new", file.text, file.path)
      print("wrote " .. file.path)
    end
    print(advice)
    return 0
  end,
}
