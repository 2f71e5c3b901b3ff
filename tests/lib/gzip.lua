-- gzip.lua - what the program gzip makes of a text.
local core = require "kernelband.core"

return function(text)
  local command <close> = assert(core.command { argv = { "gzip", "-9nc" }, input = text })
  while not command:result() do core.wait({ command }, 1000000000) end
  local r = command:result()
  assert(r.status == 0 and not r.signal and not r.code, r.errors)
  return r.output
end
