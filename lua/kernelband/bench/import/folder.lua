-- bench/import/folder.lua - finds its way in somebody else's checkout. What it reads is
-- bounded in size, depth and number.
local core = require "kernelband.core"
local path = require "kernelband.base.path"

local folder = {}

local MOST_FOLDERS, MOST_DEPTH, MOST_BYTES = 4000, 7, 16 << 20

-- All folders at or below dir, nearest first, names in byte order. Links are not
-- followed twice: the number is bounded.
function folder.all(dir)
  local out, depth = { dir }, { [dir] = 0 }
  local i = 1
  while out[i] and #out < MOST_FOLDERS do
    local at = out[i]
    if depth[at] < MOST_DEPTH then
      for _, name in ipairs(core.system.list(at) or {}) do
        local full = path.join(at, name)
        if name:sub(1, 1) ~= "." and name ~= "__pycache__"
           and core.system.exists(full) == "dir" and #out < MOST_FOLDERS then
          out[#out + 1], depth[full] = full, depth[at] + 1
        end
      end
    end
    i = i + 1
  end
  return out
end

-- A text file with Unix line ends and no byte order mark; nil, why.
function folder.read(file)
  local text, why = core.system.read_file(file)
  if not text then return nil, why end
  if #text > MOST_BYTES then return nil, file .. ": too large" end
  return (text:gsub("^\239\187\191", ""):gsub("\r\n?", "\n"))
end

function folder.is_identifier(name)
  return name:find "^[%a_][%w_]*$" ~= nil
end

return folder
