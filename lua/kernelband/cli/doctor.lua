-- kernelband doctor - what this machine can do, what is missing, what to do.
local with    = require("kernelband.base.lists").with
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local text    = require "kernelband.base.text"
local toolkit = require "kernelband.base.toolkit"

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

-- What was found of everything, and whether searches can run here. lack: need: nothing runs without
-- it; means: the effect of its absence; mend: how to install it. seen: instead of what was sought.
local function examine()
  local host, report, fit = core.system.host(), {}, true
  local function add(name, lack, found, seen)
    local row = { name = name, ok = found and true or false, found = found or seen or nil }
    report[#report + 1] = found and row or with({ need = false }, with(lack, row))
    fit = fit and not report[#report].need
  end
  add("cpu", { means = "the processor cannot be named in reports", mend = "mount /proc" }, host.cpu)
  add("cores", nil, ("%d usable of %d"):format(host.usable_cores, host.cores))
  add("kernel", nil, host.kernel)
  add("compiler", { need = not (driver() and nvrtc()), means = "candidates in C cannot be built",
      mend = "install gcc or clang (Debian: apt install gcc libc6-dev)" }, compiler())
  add("objdump", { mend = "apt install binutils",
      means = "instructions of a kernel cannot be counted: less evidence for policies" },
      first_line "objdump --version")
  add("landlock", { need = true, means = "candidates cannot be kept from files, so none is run",
      mend = "use Linux 5.13 or later with landlock among its security modules" },
      landlock(host.landlock_abi))
  add("seccomp", { need = true, means = "untrusted candidates cannot be jailed",
      mend = "use a kernel with CONFIG_SECCOMP_FILTER" }, host.seccomp and "filters available")
  add("jail user", nil, host.root and "candidates run as nobody" or "not root: candidates run as "
      .. "the same user, kept apart by Landlock and the filter")
  add("counters", { means = "profiles are derived from times and instructions, not measured",
      mend = "sysctl kernel.perf_event_paranoid=2; virtual machines often have none" },
      host.perf and "cycles can be counted", "perf_event_open: " .. tostring(host.perf_error))
  add("disk", { means = "a long run may not fit", mend = "free 1 GiB or use another folder" },
      disk())
  add("cuda", { means = "only kernels in C can be searched",
      mend = "on a machine with an NVIDIA GPU, install its driver" }, driver())
  add("nvrtc", { means = "kernels in CUDA cannot be compiled",
      mend = "install the CUDA toolkit, or set KERNELBAND_CUDA to the folder that holds its "
             .. "lib and include" }, nvrtc())
  add("headers", { mend = "install the CUDA toolkit's headers",
      means = "kernels in CUDA must do without #include: no half precision, no tensor cores" },
      headers())
  add("nvdisasm", { means = "questions about kernels in CUDA hold no machine code",
      mend = "install the CUDA toolkit's nvdisasm" }, toolkit.program "nvdisasm")
  add("python", {
      means = "Triton kernels cannot be judged: TritonBench and KernelBench tasks will not run",
      mend = "install torch and triton in a Python 3, or set KERNELBAND_PYTHON to one that has them"
      }, python())
  add("records", { means = "kernels that a Python candidate starts are not recorded and counted",
      mend = "build with CUPTI's headers: install the CUDA toolkit" },
      require("kernelband.triton.python").inject(), "libkb_inject.so was not built")
  add("lua", nil, _VERSION)
  add("sqlite", nil, host.sqlite)
  add("cjson", nil, require "cjson"._VERSION)
  add("built by", nil, host.compiler .. ", " .. host.libc)
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
