-- interpreter.lua - the Python that make check-triton has for the specs: its path. Raises where
-- there is none with torch and triton.
local python = require "kernelband.triton.python"

local name, wanted = python.name()
local found, why = python.probe()
if not (found and found.torch and found.triton) then
  error(("%s: %s: make check-triton has a Python with torch and triton"):format(wanted or name,
        why or "it has no torch and triton"), 0)
end
return name
