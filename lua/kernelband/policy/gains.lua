-- policy/gains.lua - what a pull may be expected to give where nobody can list its
-- children: they gain on their parent what children gained up to now.
--
--   local law = gains.new { gain =, spread = }     log time, before anything was seen
--   law.learn(pull)
--   law.worth(kernel)       expected improvement of a child over the best in log time, of a
--                           logistic law
local gains = {}

local prior = 4                         -- pulls that gain and spread count for

function gains.new(o)
  local n, sum, squares, best = 0, 0, 0, 1
  local law = {}

  -- A gain within both intervals is none.
  function law.learn(pull)
    local k, child = pull.parent, pull.child
    n = n + 1
    if not child then return end
    best = math.max(best, child.speedup)
    if child.speedup_low > k.speedup_high or child.speedup_high < k.speedup_low then
      local gain = math.log(child.speedup / k.speedup)
      sum, squares = sum + gain, squares + gain ^ 2
    end
  end

  function law.worth(kernel)
    local mean = (prior * o.gain + sum) / (prior + n) + math.log(kernel.speedup / best)
    local w = 0.55 * math.sqrt((prior * o.spread ^ 2 + squares) / (prior + n))
    return mean > 30 * w and mean or w * math.log(1 + math.exp(mean / w))
  end

  return law
end

return gains
