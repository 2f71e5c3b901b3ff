-- toolkit.lua - files of a CUDA toolkit: where they are looked for, as core/cuda/compile/nvrtc.h
-- has it, less what only the dynamic linker knows.
local core = require "kernelband.core"

local toolkit = {}

-- The folders a toolkit may be in.
function toolkit.folders()
  local only = os.getenv "KERNELBAND_CUDA"
  if only and only ~= "" then return { only } end
  local out = { (core.system.exe() or ""):gsub("/[^/]*/[^/]*$", "") .. "/cuda" }
  for _, name in ipairs { "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX" } do
    local dir = os.getenv(name)
    if dir and dir:find "^/" then out[#out + 1] = dir end
  end
  out[#out + 1] = "/usr/local/cuda"
  local names = core.system.list "/usr/local" or {}
  for i = #names, 1, -1 do
    if names[i]:find "^cuda%-" then out[#out + 1] = "/usr/local/" .. names[i] end
  end
  return out
end

-- The first of folders x dirs that holds name, or nil.
function toolkit.find(dirs, name)
  for _, folder in ipairs(toolkit.folders()) do
    for _, dir in ipairs(dirs) do
      local file = ("%s/%s/%s"):format(folder, dir, name)
      if core.system.exists(file) then return file end
    end
  end
end

-- A program of the toolkit, there or in PATH, or nil.
function toolkit.program(name)
  local found = toolkit.find({ "bin", name }, name)
  if found then return found end
  for dir in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local file = dir .. "/" .. name
    if dir:find "^/" and core.system.exists(file) == "file" then return file end
  end
end

return toolkit
