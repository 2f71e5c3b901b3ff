-- triton/words.lua - the parts of a prompt about Triton tasks, in place of those of prompt.lua for
-- C and CUDA: system.md and contract.md.
local prose = require("kernelband.base.path").prose

local words = { tag = "python" }

local keep = {
  kernelbench = "Define class ModelNew with the constructor and forward of Model; keep Model,\n"
    .. "  get_inputs and get_init_inputs as they are.",
  tritonbench = "Keep every function and class that the file defines for its callers: names, "
    .. "arguments,\n  results, and what is written in place.",
}

function words.system() return prose "triton/system.md" end

function words.task(about)
  local t = about.task
  return ("# Task\n\n%s: %s"):format(t.name, t.instruction or t.summary or "")
end

function words.contract(about)
  return prose("triton/contract.md", { KEEP = keep[about.task.kind] or keep.tritonbench })
end

return words
