-- search/money.lua - what a search may spend and has spent: minutes, dollars, tokens.
-- Money counts when it is spent, not when the pull it was for has landed. A price
-- nobody knows is unknown and not 0: with a budget of dollars it stops the search.

local schema = require "kernelband.base.schema"

local money = {}

-- S needs budget, elapsed_s and journal. Returns
--   spend(usd, tokens [, model])  usd nil: unknown; tokens: { input, cached, output,
--                 reasoning } of numbers, all optional
--   check()       raises when a budget cannot be kept
--   over()        why no more may be spent: "usd", "tokens", "minutes"; nil
--   left()        { usd_left, tokens_left, seconds_left }: what has no budget is absent
--   known()       the sum in dollars, nil when any part of it is unknown
--   usd, tokens   sums of what is known
--   uncounted()   an answer came whose tokens nobody told: tokens_unknown
--   recall(usd)   an answer was a recorded one, which once cost that; nil: unknown
--   recorded      { answers, usd, unknown } of those, nil: there were none
function money.new(S)
  local b = S.budget
  local m = { usd = 0, unknown = false,
              tokens = { input = 0, cached = 0, output = 0, reasoning = 0 } }

  function m.spend(usd, tokens, model)
    m.usd = m.usd + (usd or 0)
    for name, sum in pairs(m.tokens) do m.tokens[name] = sum + (tokens[name] or 0) end
    if usd then return end
    m.unknown = true
    if b.usd then
      m.refused = ("budget.usd = %g cannot be kept: the price%s is not known. Give it in the "
        .. "generator's prices = { .. }, or use budget.tokens or budget.steps in its place")
        :format(b.usd, model and " of model " .. tostring(model) or "")
    end
  end

  function m.uncounted() m.tokens_unknown = true end

  function m.recall(usd)
    local r = m.recorded or { answers = 0, usd = 0 }
    m.recorded, r.answers, r.usd = r, r.answers + 1, r.usd + (usd or 0)
    r.unknown = r.unknown or not usd
  end

  -- Not raised by spend: that is called in the midst of a generator's work.
  function m.check()
    if m.refused then schema.raise("%s", m.refused) end
  end

  function m.over()
    if b.minutes and S.elapsed_s() >= b.minutes * 60 then return "minutes" end
    if b.usd and m.usd >= b.usd then return "usd" end
    if b.tokens and m.tokens.input + m.tokens.output >= b.tokens then return "tokens" end
  end

  function m.left()
    local used = m.tokens.input + m.tokens.output
    return {
      usd_left = b.usd and math.max(0, b.usd - m.usd),
      tokens_left = b.tokens and math.max(0, b.tokens - used),
      seconds_left = b.minutes and math.max(0, b.minutes * 60 - S.elapsed_s()),
    }
  end

  function m.known() return not m.unknown and m.usd or nil end

  return m
end

return money
