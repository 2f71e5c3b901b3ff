-- device.lua - which device a name means for a task.
--
--   name, language = device.resolve("auto", task)
--
-- "auto" is the first GPU where there is one and the task has a kernel for it,
-- else the CPU.
local core   = require "kernelband.core"
local schema = require "kernelband.schema"

local device = {}

local families = { "auto", "cpu", "cuda" }

function device.resolve(name, task)
  if name == "auto" then
    local fits = task.baseline and task.baseline.cuda and task.reference.cuda
    name = fits and core.gpus() > 0 and "cuda:0" or "cpu"
  end
  local language = core.language(name)
  if not language then
    schema.raise_at_call("kb.search", "there is no device '%s'%s", name,
                         schema.hint(name, families))
  end
  return name, language
end

-- How many GPUs a search could use.
device.gpus = core.gpus

return device
