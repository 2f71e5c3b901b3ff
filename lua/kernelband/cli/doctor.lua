-- kernelband doctor - what this machine can do, what is missing, what to do.
local core    = require "kernelband.core"
local cjson   = require "cjson"
local json    = require "kernelband.base.json"
local options = require "kernelband.cli.options"
local text    = require "kernelband.base.text"
local toolkit = require "kernelband.base.toolkit"

local host = core.system.host()

local least_free_bytes = 1 << 30

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

local library_dirs = { "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib" }
local include_dirs = { "include", "targets/x86_64-linux/include", "targets/sbsa-linux/include" }

-- Where NVRTC is, with the version that the name of its builtins tells.
local function find_nvrtc()
  for _, name in ipairs { "libnvrtc.so.13", "libnvrtc.so.12" } do
    local file = toolkit.find(library_dirs, name)
    if file then
      local dir = (core.system.realpath(file) or file):match "^(.*)/"
      local version
      for _, beside in ipairs(core.system.list(dir) or {}) do
        version = beside:match "^libnvrtc%-builtins%.so%.(%d+%.%d+)" or version
      end
      return version and ("%s (CUDA %s)"):format(file, version) or file
    end
    if not os.getenv "KERNELBAND_CUDA" and core.system.has_library(name) then return name end
  end
end

-- "580.65.06", of the driver in the kernel.
local function driver_version()
  local version = core.system.read_file "/proc/driver/nvidia/version"
  return version and version:match "Kernel Module[%a%s]*%s([%d.]+)"
end

local function find_driver()
  local version = driver_version()
  if not core.system.has_library "libcuda.so.1" then
    return nil, version and "the kernel has driver " .. version .. ", but libcuda.so.1 is missing"
  end
  return version and ("libcuda.so.1, driver %s"):format(version) or "libcuda.so.1"
end

-- Each probe: found, or find() -> what was found, or nil and what was seen instead; need: true
-- where nothing runs without it, or a function that decides; means: the effect of its absence;
-- mend: how to install it.
local probes = {
  { name = "cpu", found = host.cpu,
    means = "the processor cannot be named in reports", mend = "mount /proc" },
  { name = "cores", found = ("%d usable of %d"):format(host.usable_cores, host.cores) },
  { name = "kernel", found = host.kernel },
  { name = "compiler", find = compiler,
    need = function() return not (find_driver() and find_nvrtc()) end,
    means = "candidates in C cannot be built",
    mend = "install gcc or clang (Debian: apt install gcc libc6-dev)" },
  { name = "objdump", find = function() return first_line "objdump --version" end,
    means = "instructions of a kernel cannot be counted: less evidence for policies",
    mend = "apt install binutils" },
  { name = "landlock",
    find = function()
      local abi = host.landlock_abi
      if abi == 0 then return nil end
      local lacks = abi < 3 and ", without truncation, TCP and signals"
                    or abi < 4 and ", without TCP and signals"
                    or abi < 6 and ", without signals" or ""
      return ("ABI %d: files%s"):format(abi, lacks ~= "" and lacks or ", TCP, signals")
    end,
    need = true, means = "candidates cannot be kept from files, so none is run",
    mend = "use Linux 5.13 or later with landlock among its security modules" },
  { name = "seccomp", need = true, found = host.seccomp and "filters available" or nil,
    means = "untrusted candidates cannot be jailed",
    mend = "use a kernel with CONFIG_SECCOMP_FILTER" },
  { name = "jail user", found = host.root and "candidates run as nobody" or "not root: candidates "
      .. "run as the same user, kept apart by Landlock and the filter" },
  { name = "counters",
    find = function()
      if host.perf then return "cycles can be counted" end
      return nil, "perf_event_open: " .. host.perf_error
    end,
    means = "profiles are derived from times and instructions, not measured",
    mend = "sysctl kernel.perf_event_paranoid=2; virtual machines often have none" },
  { name = "disk",
    find = function()
      local bytes = core.system.disk_free "."
      if not bytes then return nil end
      local free = ("%.1f GiB free here"):format(bytes / 2 ^ 30)
      if bytes < least_free_bytes then return nil, free end
      return free
    end,
    means = "a long run may not fit", mend = "free 1 GiB or use another folder" },
  { name = "cuda", find = find_driver,
    means = "only kernels in C can be searched",
    mend = "on a machine with an NVIDIA GPU, install its driver" },
  { name = "nvrtc", find = find_nvrtc,
    means = "kernels in CUDA cannot be compiled",
    mend = "install the CUDA toolkit, or set KERNELBAND_CUDA to the folder that holds its "
           .. "lib and include" },
  { name = "headers",
    find = function()
      local file = toolkit.find(include_dirs, "cuda_fp16.h")
        or core.system.exists "/usr/include/cuda_fp16.h" and "/usr/include/cuda_fp16.h"
      return file and file:match "^(.*)/"
    end,
    means = "kernels in CUDA must do without #include: no half precision, no tensor cores",
    mend = "install the CUDA toolkit's headers" },
  { name = "nvdisasm", find = function() return toolkit.program "nvdisasm" end,
    means = "questions about kernels in CUDA hold no machine code",
    mend = "install the CUDA toolkit's nvdisasm" },
  { name = "python",
    find = function()
      local python = require "kernelband.triton.python"
      local found, why = python.probe()
      if not found then return nil, why end
      local versions = ("%s %s, torch %s, triton %s"):format(found.executable, found.python,
        found.torch or "missing", found.triton or "missing")
      if not found.torch or not found.triton then return nil, versions end
      if found.why then return nil, versions .. ": " .. found.why end
      return versions
    end,
    means = "Triton kernels cannot be judged: TritonBench and KernelBench tasks will not run",
    mend = "install torch and triton in a Python 3, or set KERNELBAND_PYTHON to one that has "
           .. "them" },
  { name = "records",
    find = function()
      local library = require "kernelband.triton.python".inject()
      return library, not library and "libkb_inject.so was not built" or nil
    end,
    means = "kernels that a Python candidate starts are not recorded and counted",
    mend = "build with CUPTI's headers: install the CUDA toolkit" },
  { name = "lua", found = _VERSION }, { name = "sqlite", found = host.sqlite },
  { name = "cjson", found = cjson._VERSION },
  { name = "built by", found = host.compiler .. ", " .. host.libc },
}

local function examine()
  local report, fit = {}, true
  for i, probe in ipairs(probes) do
    local found, seen = probe.found, nil
    if probe.find then found, seen = probe.find() end
    local r = { name = probe.name, ok = found ~= nil, found = found or seen }
    if not found then
      local need = probe.need or false
      if type(need) == "function" then need = need() end
      r.need, r.means, r.mend = need, probe.means, probe.mend
      if need then fit = false end
    end
    report[i] = r
  end
  return report, fit
end

local function show(report, fit)
  local rows = {}
  for _, r in ipairs(report) do
    rows[#rows + 1] = { r.name, r.ok and "ok" or "missing", r.found or "" }
    if not r.ok then
      rows[#rows + 1] = { "", "", r.means }
      rows[#rows + 1] = { "", "", "to do: " .. r.mend }
    end
  end
  io.write(text.table(rows))
  print(fit and "this machine can run searches"
             or "this machine cannot run searches until the above is mended")
end

return options.verb { "doctor",
  summary = "report what this machine can do and what to install",
  options = { options.json },
  run = function(opt)
    local report, fit = examine()
    if opt.json then
      print(json.encode { ok = fit, probes = report })
    else
      show(report, fit)
    end
    return fit and 0 or 1
  end,
}
