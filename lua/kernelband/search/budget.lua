-- search/budget.lua - what a search may spend and has spent: minutes, dollars, tokens.
-- Money counts when it is spent, not when the pull it was for is recorded. A price nobody
-- knows is unknown and not 0: with a budget of dollars it stops the search.

local schema = require "kernelband.base.schema"

local budget = {}

-- limits: { steps, minutes, usd, tokens }. clock: { elapsed_s }. Returns the budget:
--   limits, usd, tokens    the sums of what is known
--   spend(usd, tokens [, model])  usd nil: unknown; tokens: { input, cached, output,
--                 reasoning } of numbers, all optional
--   check()       raises when a budget cannot be kept
--   used_up()     which is used up: "usd", "tokens", "minutes"; nil
--   left()        { usd_left, tokens_left, seconds_left }: what has no limit is absent
--   known_usd()   the sum in dollars, nil when any part of it is unknown
--   uncounted()   an answer came without its tokens: tokens_unknown
--   recall(usd)   an answer was a recorded one, which once cost that; nil: unknown
--   recorded      { answers, usd, unknown } of those, nil: there were none
function budget.new(limits, clock)
  local b = { limits = limits, usd = 0, unknown = false,
              tokens = { input = 0, cached = 0, output = 0, reasoning = 0 } }

  function b.spend(usd, tokens, model)
    b.usd = b.usd + (usd or 0)
    for name, sum in pairs(b.tokens) do b.tokens[name] = sum + (tokens[name] or 0) end
    if usd then return end
    b.unknown = true
    if limits.usd then
      b.refused = ("budget.usd = %g cannot be kept: the price%s is not known. Give it in the "
        .. "generator's prices = { .. }, or use budget.tokens or budget.steps in its place")
        :format(limits.usd, model and " of model " .. tostring(model) or "")
    end
  end

  function b.uncounted() b.tokens_unknown = true end

  function b.recall(usd)
    local r = b.recorded or { answers = 0, usd = 0 }
    b.recorded, r.answers, r.usd = r, r.answers + 1, r.usd + (usd or 0)
    r.unknown = r.unknown or not usd
  end

  -- Not raised by spend: that is called in the midst of a generator's work.
  function b.check()
    if b.refused then schema.raise("%s", b.refused) end
  end

  function b.used_up()
    if limits.minutes and clock.elapsed_s() >= limits.minutes * 60 then return "minutes" end
    if limits.usd and b.usd >= limits.usd then return "usd" end
    if limits.tokens and b.tokens.input + b.tokens.output >= limits.tokens then return "tokens" end
  end

  function b.left()
    local used = b.tokens.input + b.tokens.output
    return {
      usd_left = limits.usd and math.max(0, limits.usd - b.usd),
      tokens_left = limits.tokens and math.max(0, limits.tokens - used),
      seconds_left = limits.minutes and math.max(0, limits.minutes * 60 - clock.elapsed_s()),
    }
  end

  function b.known_usd() return not b.unknown and b.usd or nil end

  return b
end

return budget
