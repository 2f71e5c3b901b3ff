-- kernelband doctor - what this machine can do, what is missing, what to do.
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local template = require "kernelband.base.template"
local text     = require "kernelband.base.text"
local toolkit  = require "kernelband.base.toolkit"

local least_free_bytes <const> = 1 << 30

-- First line of a command's output, nil when there is none.
local function first_line(command)
  local pipe <close> = io.popen(command .. " 2>/dev/null", "r")
  local line = pipe and pipe:read "l"
  return line ~= "" and line or nil
end

local function compiler()
  for _, name in ipairs { "cc", "gcc", "clang" } do
    local line = first_line(name .. " --version")
    if line then return name .. ": " .. line end
  end
end

-- Where NVRTC is, with the version that the name of its builtins tells.
local function nvrtc()
  local folders = { "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib" }
  for _, name in ipairs { "libnvrtc.so.13", "libnvrtc.so.12" } do
    local file = toolkit.find(folders, name)
    if file then
      local dir = (core.system.realpath(file) or file):match "^(.*)/"
      local beside = table.concat(core.system.list(dir) or {}, "\n")
      local version = beside:match "libnvrtc%-builtins%.so%.(%d+%.%d+)"
      return version and ("%s (CUDA %s)"):format(file, version) or file
    end
    if not os.getenv "KERNELBAND_CUDA" and core.system.has_library(name) then return name end
  end
end

local function headers()
  local folders = { "include", "targets/x86_64-linux/include", "targets/sbsa-linux/include" }
  local file, usual = toolkit.find(folders, "cuda_fp16.h"), "/usr/include/cuda_fp16.h"
  return (file or core.system.exists(usual) and usual or ""):match "^(.*)/"
end

-- The driver: its library, and the version of what is in the kernel ("580.65.06").
local function driver()
  local about = core.system.read_file "/proc/driver/nvidia/version" or ""
  local version = about:match "Kernel Module[%a%s]*%s([%d.]+)"
  if core.system.has_library "libcuda.so.1" then
    return "libcuda.so.1" .. (version and ", driver " .. version or "")
  end
  return nil, version and "the kernel has driver " .. version .. ", but libcuda.so.1 is missing"
end

local function landlock(abi)
  if abi == 0 then return nil end
  return ("ABI %d: files%s"):format(abi, abi < 3 and ", without truncation, TCP and signals"
    or abi < 4 and ", without TCP and signals" or abi < 6 and ", without signals"
    or ", TCP, signals")
end

local function disk()
  local bytes = core.system.disk_free "."
  local free = bytes and ("%.1f GiB free here"):format(bytes / 2 ^ 30)
  return bytes and bytes >= least_free_bytes and free, free
end

local function python()
  local found, why = require("kernelband.triton.python").probe()
  if not found then return nil, why end
  local versions = ("%s %s, torch %s, triton %s%s"):format(found.executable, found.python,
    found.torch or "missing", found.triton or "missing", found.why and ": " .. found.why or "")
  return found.torch and found.triton and not found.why and versions, versions
end

-- What was found of everything, and whether searches can run here.
local function examine()
  local host, report, fit = core.system.host(), {}, true
  local needed = { compiler = not (driver() and nvrtc()), landlock = true, seccomp = true }
  -- seen: what was found instead of what was sought.
  local function add(name, found, seen)
    local row = { name = name, ok = found and true or false, found = found or seen or nil }
    if not found then
      row.means, row.mend = template.piece("cli/doctor." .. name):match "(.*)\n(.*)\n"
      row.need = needed[name] or false
      fit = fit and not row.need
    end
    report[#report + 1] = row
  end
  add("cpu", host.cpu)
  add("cores", ("%d usable of %d"):format(host.usable_cores, host.cores))
  add("kernel", host.kernel)
  add("compiler", compiler())
  add("objdump", first_line "objdump --version")
  add("landlock", landlock(host.landlock_abi))
  add("seccomp", host.seccomp and "filters available")
  add("jail user", host.root and "candidates run as nobody"
      or "not root: candidates run as the same user, kept apart by Landlock and the filter")
  add("counters", host.perf and "cycles can be counted",
      "perf_event_open: " .. tostring(host.perf_error))
  add("disk", disk())
  add("cuda", driver())
  add("nvrtc", nvrtc())
  add("headers", headers())
  add("nvdisasm", toolkit.program "nvdisasm")
  add("python", python())
  add("records", require("kernelband.triton.python").inject(),
      "libkb_inject.so was not built")
  add("lua", _VERSION)
  add("sqlite", host.sqlite)
  add("cjson", require "cjson"._VERSION)
  add("built by", host.compiler .. ", " .. host.libc)
  return report, fit
end

local function show(report, fit)
  local rows = {}
  for _, r in ipairs(report) do
    rows[#rows + 1] = { r.name, r.ok and "ok" or "missing", r.found or "" }
    for _, words in ipairs(r.ok and {} or { r.means, "to do: " .. r.mend }) do
      rows[#rows + 1] = { "", "", words }
    end
  end
  io.write(text.table(rows))
  print(fit and "this machine can run searches"
             or "this machine cannot run searches until the above is mended")
end

return { "doctor", options = { "json" },
  run = function(opt)
    local report, fit = examine()
    if opt.json then print(json.encode { ok = fit, probes = report }) else show(report, fit) end
    return fit and 0 or 1
  end,
}
