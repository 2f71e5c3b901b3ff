-- triton/python.lua - the Python that judges Triton kernels: which, and what it has.
--
--   python.name(given)   the option's, else KERNELBAND_PYTHON, else python3: a path,
--                        or nil when there is none on PATH
--   python.worker        the folder that Python runs to judge Triton kernels
--   python.inject()      path of libkb_inject.so, or nil where it was not built
--   python.ask(given, command, input, to) -> what the worker answers, a table | nil, why
--   python.probe(given)  { python =, torch =, triton = } | nil, why
local core = require "kernelband.core"
local jobs = require "kernelband.base.jobs"
local json = require "kernelband.base.json"

local python = { worker = core.system.lib_dir() .. "/lua/kernelband/triton/worker" }

local LIMIT_NS = 60 * 10 ^ 9 // 1
local MOST_BYTES = 8 << 20

-- What records kernels in a child: beside the binary, in a bundle's lib, or installed.
function python.inject()
  local own = core.system.realpath "/proc/self/exe"
  local dir = own and own:match "^(.*)/" or "."
  for _, at in ipairs { dir, dir .. "/../lib", core.system.lib_dir() } do
    local file = core.system.realpath(at .. "/libkb_inject.so")
    if file then return file end
  end
end

function python.name(given)
  local from = os.getenv "KERNELBAND_PYTHON"
  local name = given or from ~= "" and from or "python3"
  if name:find "/" then return core.system.exists(name) and name or nil, name end
  for dir in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local path = dir .. "/" .. name
    if core.system.exists(path) == "file" then return path end
  end
  return nil, name
end

-- to: what for, after "there is no python3".
function python.ask(given, command, input, to)
  local name, wanted = python.name(given)
  if not name then return nil, ("there is no %s%s"):format(wanted, to) end
  -- Through env: a virtual environment's python is a link, and works by its own name.
  local r, why = jobs.one { argv = { "/usr/bin/env", name, python.worker, command },
                            input = input, timeout_ns = LIMIT_NS, max_bytes = MOST_BYTES }
  local found = r and r.status == 0 and json.table(r.output)
  if found then return found end
  why = not r and why
        or r.status ~= 0 and ((r.errors or ""):match "([^\n]+)\n*$" or "it ended without a word")
        or "its answer is no JSON"
  return nil, why:find(name, 1, true) and why or name .. ": " .. why
end

function python.probe(given) return python.ask(given, "probe", "", "") end

return python
