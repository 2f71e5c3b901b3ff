-- generator/tried.lua - what was tried, on this kernel and on its relatives, a line each: what was
-- changed, and what that brought against the parent of that pull, or why it failed. A pull is
-- told once.
local changes = require "kernelband.base.changes"
local collect = require("kernelband.base.lists").collect
local keys    = require "kernelband.base.schema".keys
local reply   = require "kernelband.llm.reply"
local time    = require "kernelband.base.text".time
local words   = require "kernelband.generator.words"

local tried = {}

local most_line <const> = 6             -- steps from the first version
local most_here <const> = 8             -- from this kernel, from its parent, elsewhere
local most_beside <const> = 4
local most_elsewhere <const> = 3
local most_reason <const> = 140
local most_settings <const> = 10
local most_constants <const> = 160      -- bytes of their names, or of their values

local function quoted(text)
  return '"' .. reply.excerpt(tostring(text or ""), most_reason):gsub('"', "'") .. '"'
end

local function cell(list) return changes.code(table.concat(list, " "), most_constants) end

-- The settings of open constants that were measured, as a table in a line: their names, then the
-- values of each with the time.
local function settings(row)
  local tuned = row.tuned
  if not tuned then return "" end
  local names = keys(tuned[1].params or {})
  local out = collect(tuned, function(t, i)
    local values = collect(names, function(name) return tostring((t.params or {})[name]) end)
    return i <= most_settings
           and cell(values) .. " " .. (t.time_ns and time(t.time_ns) or t.verdict)
  end)
  return ("\n  open constants %s, mean time: %s"):format(cell(names), table.concat(out, ", "))
end

local function gained(g)
  if not g then return "ok" end
  local how = (g.low or g.ratio) > 1 and "faster:" or (g.high or g.ratio) < 1 and "slower:"
              or "no difference shown:"
  return ("%s %.2fx its parent%s"):format(how, g.ratio,
    g.low and words.interval(g.low, g.high) or " (one look)")
end

local said = { not_applicable = "answered NOT APPLICABLE", no_candidate = "no kernel in the answer",
  build_failed = "does not compile", launch_failed = "cannot be launched", wrong = "wrong",
  cheated = "refused", crashed = "crashed", timeout = "too slow to be judged" }

local function line(row, where)
  local ok, again = row.verdict == "ok", row.repaired and " (after a repair)" or ""
  return ("- pull %s%s, %s: %s%s%s%s"):format(row.n or "?",
    where and (" on kernel %s"):format(row.parent) or "", changes.code(row.strategy),
    row.change and row.change .. ": " or "",
    ok and gained(row.gain) or said[row.verdict] or row.verdict, again,
    ok and (", kernel %s"):format(row.child or "?") .. settings(row) or ": " .. quoted(row.reason))
end

-- The newest `most` of rows that were not told yet, in their order; of those whose field has
-- that value.
local function newest(rows, most, told, field, value)
  local out = {}
  for i = #rows, 1, -1 do
    local row = rows[i]
    if #out < most and not told[row] and (not field or row[field] == value) then
      told[row] = true
      table.insert(out, 1, row)
    end
  end
  return out
end

-- The steps from the first version to a kernel, the last ones.
local function lineage(kernel, made, told)
  local out, row = {}, made[kernel.id]
  while row and #out < most_line do
    told[row] = true
    table.insert(out, 1, row)
    row = made[row.parent]
  end
  return out
end

-- about: kernel, strategy, best, history (pulls on this kernel), rows (all), made (the row of
-- the pull that gave a kernel). nil when there is nothing to tell.
function tried.text(about)
  local told, out, made = {}, {}, about.made or {}
  local kernel, rows = about.kernel, about.rows or {}
  local function section(title, of, where)
    if #of > 0 then out[#out + 1] = title end
    for _, row in ipairs(of) do out[#out + 1] = line(row, where) end
  end
  section("How this kernel came to be:", lineage(kernel, made, told), true)
  section("From this kernel:", newest(about.history or {}, most_here, told))
  section(("From its parent, kernel %d:"):format(kernel.parent or 0),
          newest(kernel.parent and rows or {}, most_beside, told, "parent", kernel.parent))
  section("In this direction before:",
          newest(rows, most_elsewhere, told, "strategy", about.strategy.name), true)
  local best = about.best and made[about.best.id]
  section("The fastest so far:", best and not told[best] and { best } or {}, true)
  return #out > 0 and table.concat(out, "\n") or nil
end

return tried
