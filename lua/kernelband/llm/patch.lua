-- llm/patch.lua - a unified diff laid over the text it was made from. Models miscount lines:
-- hunks are found by their text, not by their numbers, and a place must be the only one.
--
--   text, why = patch.apply(base, { diff, .. })
local lines_of = require("kernelband.base.text").lines

local patch = {}

local most_hunks <const> = 200

local function bare(line) return line:match "^.*%S" or "" end

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

-- An empty line that ends a hunk may be the fence's.
local function trim(hunk)
  while #hunk.old > 0 and hunk.old[#hunk.old] == "" and hunk.new[#hunk.new] == "" do
    table.remove(hunk.old)
    table.remove(hunk.new)
  end
end

-- Where old stands in lines; nil, how often.
local function find(lines, old)
  local place, times = nil, 0
  for i = 1, #lines - #old + 1 do
    local same = true
    for k = 1, #old do
      if bare(lines[i + k - 1]) ~= bare(old[k]) then same = false break end
    end
    if same then place, times = i, times + 1 end
  end
  if times == 1 then return place end
  return nil, times
end

function patch.apply(base, diffs)
  local lines, n = lines_of(base), 0
  for _, diff in ipairs(diffs) do
    for _, hunk in ipairs(hunks_of(diff)) do
      trim(hunk)
      n = n + 1
      if n > most_hunks then return nil, ("the patch has more than %d hunks"):format(most_hunks) end
      if #hunk.old == 0 then return nil, ("hunk %d of the patch has no context"):format(n) end
      local at, times = find(lines, hunk.old)
      if not at then
        return nil, ("hunk %d of the patch %s of the kernel shown"):format(n, times == 0
          and "fits no place" or "fits more than one place")
      end
      local tail = table.move(lines, at + #hunk.old, #lines, 1, {})
      for i = at, #lines do lines[i] = nil end
      table.move(hunk.new, 1, #hunk.new, at, lines)
      table.move(tail, 1, #tail, #lines + 1, lines)
    end
  end
  if n == 0 then return nil, "the patch has no hunk (@@ .. @@)" end
  return table.concat(lines, "\n") .. "\n"
end

return patch
