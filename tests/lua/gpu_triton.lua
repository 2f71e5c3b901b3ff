-- The Triton specs on the first GPU: hostile and honest files. Run by make check-gpu, with the
-- Python of KERNELBAND_PYTHON, which must have torch and triton.
local core = require "kernelband.core"
local python = require "kernelband.triton.python"

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  return
end
local found = python.name() and python.probe()
if not (found and found.torch and found.triton) then
  print "triton: skipped: no Python with torch and triton: make check-gpu PYTHON=python3"
  return
end
for _, name in ipairs { "spec_triton", "spec_triton_honest" } do
  if not os.execute(("KERNELBAND_TEST_GPU=1 '%s' run tests/triton/%s.lua"):format(core.system.exe(),
                    name)) then
    error(name .. " failed on the GPU", 0)
  end
end
