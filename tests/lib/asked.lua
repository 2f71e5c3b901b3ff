-- An evaluator that is asked by tickets, so that a test may look at it while it works:
--   e = asked(worker.start { .. })
--   e.submit(ticket, candidate, how)
--   e.next(timeout_ns) -> ticket, evaluation | nil, text, code: ETIME, EINTR, EEMPTY; another
--                         when no worker can be had
local core = require "kernelband.core"

return function(e)
  local results, asked, failure = {}, 0, nil

  function e.submit(ticket, candidate, how)
    asked = asked + 1
    e.loop:spawn(function()
      local ok, evaluation, why, code = pcall(e.evaluate, candidate, how)
      if not ok then
        failure = evaluation
      else
        results[#results + 1] = { ticket, evaluation, why, code }
      end
    end)
  end

  function e.next(timeout_ns)
    local limit = core.system.now_ns() + timeout_ns
    while true do
      local r = table.remove(results, 1)
      if r then
        asked = asked - 1
        if r[2] then return r[1], r[2] end
        return nil, r[3], r[4]
      end
      if failure then
        if not tostring(failure):find "^the worker is lost" then error(failure, 0) end
        return nil, (tostring(failure):gsub("^the worker is lost: ", "")), "ELOST"
      end
      if asked == 0 then return nil, "nothing was asked", "EEMPTY" end
      local left = limit - core.system.now_ns()
      local ok, why, code = e.loop:turn(math.max(0, left))
      if #results == 0 and not failure and not ok and (code ~= "ETIME" or left <= 0) then
        return nil, why, code
      end
    end
  end

  return e
end
