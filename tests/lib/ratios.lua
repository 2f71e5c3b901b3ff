-- ratios.lua - what evaluations of a kernel against itself say together.
--   ratios.row(out)    what is kept of an evaluation: log, low, high, win, seconds
--   ratios.mean(rows)  -> mean of the log ratios, its standard error, their standard deviation
--   ratios.count(rows) -> wins, intervals that contain 1, median of the seconds
local stats = require "kernelband.core".stats

local ratios = {}

function ratios.row(out)
  return { log = math.log(out.speedup), low = out.speedup_low, high = out.speedup_high,
           win = out.win, seconds = out.seconds.total }
end

function ratios.mean(rows)
  local m, v = 0, 0
  for _, r in ipairs(rows) do m = m + r.log / #rows end
  for _, r in ipairs(rows) do v = v + (r.log - m) ^ 2 / math.max(#rows - 1, 1) end
  return m, math.sqrt(v / math.max(#rows, 1)), math.sqrt(v)
end

function ratios.count(rows)
  local wins, inside, seconds = 0, 0, {}
  for i, r in ipairs(rows) do
    wins = wins + (r.win and 1 or 0)
    inside = inside + (r.low <= 1 and 1 <= r.high and 1 or 0)
    seconds[i] = r.seconds
  end
  return wins, inside, #seconds > 0 and stats.median(seconds) or 0
end

return ratios
