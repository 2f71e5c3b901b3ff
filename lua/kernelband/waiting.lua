-- waiting.lua - how a search waits: its coroutines, whoever evaluates for it, and a
-- world that refuses for a while.

local core = require "kernelband.core"

local waiting = {}

local TICK_NS = 200 * 10 ^ 6 // 1
local TALK_NS = 10 ^ 6                  -- between two looks at an evaluator that is asked
local now_ns = core.system.now_ns

-- One turn of the loop of S, for those of the evaluators that are asked too. A
-- coroutine may wait for what only they know, so they are asked first.
local function turn(S, timeout_ns)
  local L, asked, some = S.loop, false, false
  local _, why, code = L:turn(0)
  if not why then return end
  local alone = code == "EEMPTY" and #S.polls == 1
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

-- A generator may say that the world refuses (EPAUSE: quota, network, key): that is no
-- pull. The search waits for patience_s seconds and then stops, to be gone on with.
function waiting.patience(S, patience_s)
  local since_ns, why

  function S.pause(reason)
    if since_ns then return end
    since_ns, why = now_ns(), tostring(reason)
    S.paused_for = why
    S.journal.event("paused", why)
    S.progress.note(("waiting: %s (tried again for %g minutes, then the run pauses)"):format(
      why, patience_s / 60))
  end

  function S.unpause()
    if not since_ns then return end
    since_ns, S.paused_for = nil, nil
    S.progress.note "going on"
  end

  function S.out_of_patience()
    return since_ns and now_ns() - since_ns >= patience_s * 1e9
  end
end

return waiting
