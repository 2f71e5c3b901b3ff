-- looped.lua - looped(fn): what fn(L) returns, run in a coroutine of a loop to its end.
local loop = require "kernelband.base.loop"

return function(fn)
  local L, got = loop.new(), nil
  local h = L:spawn(function() got = table.pack(fn(L)) end)
  while not h:done() do L:turn(200 * 1000 * 1000) end
  return table.unpack(got, 1, got.n)
end
