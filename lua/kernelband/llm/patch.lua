-- llm/patch.lua - a unified diff laid over the text it was made from. Models miscount lines:
-- hunks are found by their text, not by their numbers, and a place must be the only one.
--
--   text, why = patch.apply(base, { diff, .. })
local collect  = require("kernelband.base.lists").collect
local lines_of = require("kernelband.base.text").lines

local patch = {}

local most_hunks <const> = 200

-- Lines as one text, without the blanks at their ends.
local function text_of(lines)
  local bare = collect(lines, function(line) return line:match "^.*%S" or "" end)
  return "\n" .. table.concat(bare, "\n") .. "\n"
end

-- A list of { old = lines, new = lines }: context stands in both.
local function hunks_of(diff)
  local out, hunk = {}, nil
  for _, line in ipairs(lines_of(diff)) do
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

-- Where old stands in lines; nil, whether it stands there at all.
local function find(lines, old)
  local text, part = text_of(lines), text_of(old)
  local place = text:find(part, 1, true)
  if not place or text:find(part, place + 1, true) then return nil, place end
  return select(2, text:sub(1, place):gsub("\n", ""))
end

function patch.apply(base, diffs)
  local lines, n = lines_of(base), 0
  for _, diff in ipairs(diffs) do
    for _, hunk in ipairs(hunks_of(diff)) do
      local old, new = hunk.old, hunk.new
      while old[1] and old[#old] == "" and new[#new] == "" do   -- may be the fence's
        old[#old], new[#new] = nil, nil
      end
      n = n + 1
      if n > most_hunks then return nil, ("the patch has more than %d hunks"):format(most_hunks) end
      if #old == 0 then return nil, ("hunk %d of the patch has no context"):format(n) end
      local at, somewhere = find(lines, old)
      if not at then
        return nil, ("hunk %d of the patch fits %s of the kernel shown"):format(n, somewhere
          and "more than one place" or "no place")
      end
      local tail = table.move(lines, at + #old, #lines, 1, {})
      lines = table.move(new, 1, #new, at, table.move(lines, 1, at - 1, 1, {}))
      table.move(tail, 1, #tail, #lines + 1, lines)
    end
  end
  if n == 0 then return nil, "the patch has no hunk (@@ .. @@)" end
  return table.concat(lines, "\n") .. "\n"
end

return patch
