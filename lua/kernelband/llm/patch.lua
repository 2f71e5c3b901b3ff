-- llm/patch.lua - a unified diff laid over the text it was made from. Models miscount lines:
-- hunks are found by their text, not by their numbers, and a place must be the only one.
--
--   text, why = patch.apply(base, { diff, .. })
local collect  = require("kernelband.base.lists").collect
local lines_of = require("kernelband.base.text").lines

local patch = {}

local most_hunks <const> = 200

-- The lines of a text, without the blanks at their ends.
local function bare(source)
  return collect(lines_of(source), function(line) return line:match "^.*%S" or "" end)
end

-- A list of { old = lines, new = lines }: context stands in both.
local function hunks_of(diff)
  local out, hunk = {}, nil
  for _, line in ipairs(bare(diff)) do
    local mark = line:sub(1, 1)
    if line:find "^@@" then
      hunk = { old = {}, new = {} }
      out[#out + 1] = hunk
    elseif line:find "^diff " or line:find "^index " or line:find "^%-%-%- "
           or line:find "^%+%+%+ " then
      hunk = nil
    elseif hunk and mark ~= "\\" then   -- "\ No newline at end of file"
      local rest = line:sub(2)
      if mark ~= "+" then hunk.old[#hunk.old + 1] = rest end
      if mark ~= "-" then hunk.new[#hunk.new + 1] = rest end
    end
  end
  return out
end

function patch.apply(base, diffs)
  local text = "\n" .. table.concat(bare(base), "\n") .. "\n"
  local hunks = hunks_of(table.concat(diffs, "\ndiff -u\n"))
  if #hunks == 0 then return nil, "the patch has no hunk (@@ .. @@)" end
  if #hunks > most_hunks then return nil, ("the patch has over %d hunks"):format(most_hunks) end
  for n, hunk in ipairs(hunks) do
    local old, new = hunk.old, hunk.new
    while old[1] and old[#old] == "" and new[#new] == "" do     -- may be the fence's
      old[#old], new[#new] = nil, nil
    end
    if #old == 0 then return nil, ("hunk %d of the patch has no context"):format(n) end
    local part = "\n" .. table.concat(old, "\n") .. "\n"
    local at, stop = text:find(part, 1, true)
    if not at or text:find(part, at + 1, true) then
      return nil, ("hunk %d of the patch fits %s of the kernel shown"):format(n, at
        and "more than one place" or "no place")
    end
    new[#new + 1] = text:sub(stop + 1)
    text = text:sub(1, at) .. table.concat(new, "\n")
  end
  return text:sub(2)
end

return patch
