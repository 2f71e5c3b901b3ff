-- triton/words.lua - the parts of a prompt about Triton tasks, in place of those of
-- prompt.lua for C and CUDA.
local words = { tag = "python" }

function words.system()
  return [[
You are an expert in high-performance Triton kernels for GPUs. You are given a Python file that
is correct and asked to make it faster. Your answer is run in a process of
its own, checked against the file's own first version on inputs you do not know, and timed. A
kernel that is fast and wrong is worth nothing.]]
end

function words.task(about)
  local t = about.task
  return ("# Task\n\n%s: %s"):format(t.name, t.instruction or t.summary or "")
end

function words.contract(about)
  local model = about.task.kind == "kernelbench"
  return [[
# Answer

One fenced code block (```python) with the whole file: imports, @triton.jit kernels and wrappers,
no tests and no example of use.

- ]] .. (model and [[Define class ModelNew with the constructor and forward of Model; keep Model,
  get_inputs and get_init_inputs as they are.]]
  or [[Keep every function and class that the file defines for its callers: names, arguments,
  results, and what is written in place.]]) .. [[

- The work is done by Triton kernels of this file; a file that launches none is refused.
- Import torch, triton, math and the like only. No other streams or threads, no graphs, nothing
  kept from call to call, no change to torch or triton, no files.
- Every element of every result is compared, for all shapes and dtypes; memory from torch.empty
  holds garbage. Keep the precision: accumulate in float32 what was accumulated so.
- The direction below says where to look; it is no cage. Do what helps most within it, and with it
  whatever it needs elsewhere in the file. If it cannot help this kernel, answer with one line in
  place of code: NOT APPLICABLE: and why.]]
end

return words
