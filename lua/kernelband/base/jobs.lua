-- base/jobs.lua - work of which so much is done at once, and no more.
--
--   places = jobs.places(loop, n)
--   places.use(fn, ...)   in a coroutine: waits for one of n places, in turn, and returns what
--                         fn returns; nil, text, "ECANCELED" when it is cancelled before
--   jobs.run(n, requests, done)   requests of loop:command, n of them at once;
--                         done(i, result | nil, why) as each ends. false: interrupted
--   jobs.one(request)     one of them: what loop:command returns
local core  = require "kernelband.core"
local lists = require "kernelband.base.lists"
local loop  = require "kernelband.base.loop"

local jobs = {}

local LOOK_NS = 10 ^ 9 // 5

function jobs.places(L, n)
  local places, waiting, free = {}, {}, n

  local function leave()
    if #waiting > 0 then table.remove(waiting, 1):resolve(true) else free = free + 1 end
  end
  local held = setmetatable({}, { __close = leave })

  function places.use(fn, ...)
    if free > 0 then
      free = free - 1
    else
      local turn = L:promise()
      table.insert(waiting, turn)
      local ok, why, code = turn:await()
      if not ok then
        if not loop.remove(waiting, turn) then leave() end   -- its turn came as it was cancelled
        return nil, why, code
      end
    end
    local _ <close> = held
    return fn(...)
  end

  return places
end

function jobs.run(n, requests, done)
  local L, interrupts = loop.new(), core.system.interrupts
  local places = jobs.places(L, n)
  local working = lists.collect(requests, function(request, i)
    return L:spawn(function()
      places.use(function() if interrupts() == 0 then done(i, L:command(request)) end end)
    end)
  end)
  for _, job in ipairs(working) do
    while not job:done() do
      if interrupts() > 0 then job:cancel() end
      L:turn(LOOK_NS)
    end
  end
  return interrupts() == 0
end

function jobs.one(request)
  local ended = table.pack(nil, "interrupted", "ECANCELED")
  jobs.run(1, { request }, function(_, ...) ended = table.pack(...) end)
  return table.unpack(ended, 1, ended.n)
end

return jobs
