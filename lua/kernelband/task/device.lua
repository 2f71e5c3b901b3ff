-- task/device.lua - which device a name means for a task.
--
--   name, language = device.resolve("auto", task)
--
-- "auto" is the first GPU where there is one and the task has a kernel for it,
-- else the CPU.
local core   = require "kernelband.core"
local schema = require "kernelband.base.schema"

local device = {}

local forms = { "^cpu$", "^cpu:%d+$", "^cuda$", "^cuda:%d+$" }

local function is_name(name)
  for _, form in ipairs(forms) do
    if name:find(form) then return true end
  end
end

function device.resolve(name, task)
  if name == "auto" then
    local fits = task.baseline and task.baseline.cuda and task.reference.cuda
    name = fits and core.gpus() > 0 and "cuda:0" or "cpu"
  end
  local language = is_name(name) and core.language(name)
  if not language then
    schema.raise_at_call("device", "expected auto, cpu, cpu:N or cuda:N, got '%s'", name)
  end
  return name, language
end

-- How many GPUs a search could use.
device.gpus = core.gpus

return device
