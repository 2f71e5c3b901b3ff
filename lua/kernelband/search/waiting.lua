-- search/waiting.lua - how a search waits: its coroutines, whoever evaluates for it, and a
-- world that refuses for a while.

local core = require "kernelband.core"

local waiting = {}

local TICK_NS = 200 * 10 ^ 6 // 1
local TALK_NS = 10 ^ 6                  -- between two looks at an evaluator that is asked
local MOST_PAUSE_NS = 60 * 10 ^ 9 // 1  -- between two tries of a world that refuses
local now_ns = core.system.now_ns

-- One turn of the loop of S, for those of the evaluators that are asked too. A
-- coroutine may wait for what only they know, so they are asked first.
local function turn(S, timeout_ns)
  local L, asked, some = S.loop, false, false
  local alone = #S.polls == 0
  local _, why, code = L:turn(alone and timeout_ns or 0)
  if alone and code ~= "EEMPTY" then return end
  if not why then return end
  alone = code == "EEMPTY" and #S.polls == 1
  for _, poll in ipairs(S.polls) do
    local got, open = poll(alone and timeout_ns or 0)
    some, asked = some or got, asked or open
  end
  if some then
    L:turn(0)
  elseif code ~= "EEMPTY" then
    L:turn(asked and TALK_NS or timeout_ns)
  elseif not asked then
    core.system.sleep_ns(timeout_ns)
  end
end

-- An evaluator that is asked for results (submit, next), as one that a coroutine
-- waits for.
local function asking(S)
  local tickets, asked, last = {}, 0, 0

  S.polls[#S.polls + 1] = function(timeout_ns)
    if asked == 0 or S.closed then return false, false end
    local ticket, result, code = S.evaluator.next(timeout_ns)
    if ticket then
      local p = tickets[ticket]
      tickets[ticket], asked = nil, asked - 1
      p:resolve(result)
      return true
    elseif code ~= "ETIME" and code ~= "EINTR" then
      S.failure = ("the worker is lost: %s"):format(tostring(result))
      S.wake()                          -- raised where this search waits
    end
    return false, true
  end

  return function(candidate, how)
    last, asked = last + 1, asked + 1
    local p = S.loop:promise()
    tickets[last] = p
    S.evaluator.submit(last, candidate, how)
    return p:await()
  end
end

-- Sets S.evaluate(candidate, how) -> evaluation, for coroutines; S.arrive(pull);
-- S.wait(): until something happened or a moment has passed; S.wake(): ends it.
-- In a coroutine of its own (kb.search_all) a search waits there, and who runs the
-- coroutines turns the loop.
function waiting.new(S)
  S.hand = { first = 1, last = 0 }
  local awake

  function S.wake()
    if awake then awake:resolve(true) end
  end

  function S.arrive(p)
    S.hand.last = S.hand.last + 1
    S.hand[S.hand.last] = p
    S.wake()
  end

  local function sleep()
    awake = S.loop:promise()
    local timer = S.loop:at(now_ns() + TICK_NS, S.wake)
    awake:await()
    S.loop:drop(timer)
    awake = nil
  end

  function S.wait()
    if S.loop:inside() then sleep() else turn(S, TICK_NS) end
    if S.failure then error(S.failure, 0) end
  end

  function S.attach(evaluator)
    S.evaluator = evaluator
    if evaluator.evaluate then
      if evaluator.attach then evaluator.attach(S.loop) end
      S.evaluate = evaluator.evaluate
    else
      S.evaluate = asking(S)
    end
  end
end

waiting.turn = turn

-- Whether a search of this process had to stop because the world refused.
waiting.refused = false

-- A generator may say that the world refuses: EPAUSE (quota, network) or ESTOP (key,
-- model: no waiting helps). That is no pull. The search waits for patience_s seconds and
-- then stops, to be gone on with; at once where it would have to wait for longer.
-- While it waits one pull at a time asks again, each time after twice as long as before.
function waiting.patience(S, patience_s)
  local since_ns, next_ns, delay_ns, changed, hopeless

  local function wake_all()
    if changed then changed:resolve(true) end
    changed = nil
  end

  -- wait_s: how long it says it will refuse, if it does.
  function S.pause(reason, wait_s)
    local now, text = now_ns(), tostring(reason)
    delay_ns = since_ns and math.min(2 * delay_ns, math.max(S.pause_ns, MOST_PAUSE_NS))
               or S.pause_ns
    local wait_ns = math.max(delay_ns, math.min(wait_s or 0, 1e6) * 1e9 // 1 | 0)
    next_ns = now + wait_ns
    if not since_ns then
      since_ns, S.paused_for = now, text
      S.journal.event("paused", text)
      S.progress.note(wait_s == math.huge and text
        or ("waiting: %s (tried again for %g minutes, then the run pauses)"):format(text,
                                                                                 patience_s / 60))
    end
    hopeless = wait_s and next_ns > since_ns + patience_s * 1e9
    wake_all()
    S.wake()
  end

  -- In the coroutine of a pull: true when it is its turn to ask again.
  function S.await_world()
    while since_ns and now_ns() < next_ns do
      changed = changed or S.loop:promise()
      local mine = changed
      local timer = S.loop:at(next_ns, function() mine:resolve(true) end)
      local ok = mine:await()
      S.loop:drop(timer)
      if changed == mine then changed = nil end
      if not ok then return false end
    end
    if since_ns then next_ns = math.maxinteger end      -- the others wait for what comes of it
    return true
  end

  function S.unpause()
    if not since_ns then return end
    since_ns, S.paused_for, hopeless = nil, nil, nil
    S.progress.note "going on"
    wake_all()
  end

  -- Why a search ends early is told by one that is quiet too.
  function S.out_of_patience()
    local over = since_ns and (hopeless or now_ns() - since_ns >= patience_s * 1e9)
    if over and S.quiet and not S.told then
      S.told = true
      io.stderr:write(S.paused_for, "\n")
    end
    return over
  end
end

return waiting
