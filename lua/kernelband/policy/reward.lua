-- policy/reward.lua - what a pull was worth: f(parent, child, verdict) -> number, with
-- child nil when there is none. Negative is worse than having done nothing.

local schema = require "kernelband.base.schema"

local reward = {}

local function rules(failure)
  return { { "clip", "number", default = 1, at_least = 0 },
           { "failure", "number", default = failure } }
end

-- 1 - T(child)/T(parent), clipped to [-clip, clip] (1); failure (-1) without a
-- child. The published v1.
function reward.relative(options)
  local o = schema.options(options, rules(-1), "kb.reward.relative")
  local clip, failure = o.clip, o.failure
  return function(parent, child)
    if not child then return failure end
    local r = 1 - child.time_ns / parent.time_ns
    return math.max(-clip, math.min(clip, r))
  end
end

-- max(0, (T(parent) - T(child)) / T(parent)), at most clip (1); failure (0)
-- without a child. The published v2.
function reward.improvement(options)
  local o = schema.options(options, rules(0), "kb.reward.improvement")
  local clip, failure = o.clip, o.failure
  return function(parent, child)
    if not child then return failure end
    return math.max(0, math.min(clip, 1 - child.time_ns / parent.time_ns))
  end
end

return reward
