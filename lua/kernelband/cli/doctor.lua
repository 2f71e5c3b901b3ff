-- kernelband doctor - what this machine can do, what is missing, what to do.
local core    = require "kernelband.core"
local cjson   = require "cjson"
local options = require "kernelband.options"

local usage = "kernelband doctor [--json]"
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

-- Each probe: what it is about; find() -> what was found, or nil and what was
-- seen instead; need: without it nothing runs; means: what its absence costs;
-- mend: what to do about it.
local probes = {
  { name = "cpu", find = function() return host.cpu end,
    means = "the processor cannot be named in reports", mend = "mount /proc" },
  { name = "cores",
    find = function() return ("%d usable of %d"):format(host.usable_cores, host.cores) end },
  { name = "kernel", find = function() return host.kernel end },
  { name = "compiler", need = true, find = compiler,
    means = "candidates in C cannot be built",
    mend = "install gcc or clang (Debian: apt install gcc libc6-dev)" },
  { name = "objdump", find = function() return first_line "objdump --version" end,
    means = "instructions of a kernel cannot be counted: less evidence for policies",
    mend = "apt install binutils" },
  { name = "landlock",
    find = function()
      if host.landlock_abi > 0 then return "ABI " .. host.landlock_abi end
    end,
    means = "candidates are kept from files by seccomp and limits alone",
    mend = "use Linux 5.13 or later with landlock among its security modules" },
  { name = "seccomp", need = true,
    find = function() return host.seccomp and "filters available" or nil end,
    means = "untrusted candidates cannot be jailed",
    mend = "use a kernel with CONFIG_SECCOMP_FILTER" },
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
      local text = ("%.1f GiB free here"):format(bytes / 2 ^ 30)
      if bytes < least_free_bytes then return nil, text end
      return text
    end,
    means = "a long run may not fit", mend = "free 1 GiB or use another folder" },
  { name = "cuda",
    find = function()
      return core.system.has_library "libcuda.so.1" and "libcuda.so.1" or nil
    end,
    means = "only kernels in C can be searched",
    mend = "on a machine with an NVIDIA GPU, install its driver" },
  { name = "lua", find = function() return _VERSION end },
  { name = "sqlite", find = function() return host.sqlite end },
  { name = "cjson", find = function() return cjson._VERSION end },
  { name = "built by", find = function() return host.compiler .. ", " .. host.libc end },
}

local function examine()
  local report, fit = {}, true
  for i, probe in ipairs(probes) do
    local found, seen = probe.find()
    local r = { name = probe.name, ok = found ~= nil, found = found or seen }
    if not found then
      r.need, r.means, r.mend = probe.need or false, probe.means, probe.mend
      if probe.need then fit = false end
    end
    report[i] = r
  end
  return report, fit
end

local function show(report, fit)
  for _, r in ipairs(report) do
    print(("%-9s %-8s %s"):format(r.name, r.ok and "ok" or "missing", r.found or ""))
    if not r.ok then
      print(("%-18s %s"):format("", r.means))
      print(("%-18s to do: %s"):format("", r.mend))
    end
  end
  print(fit and "this machine can run searches"
             or "this machine cannot run searches until the above is mended")
end

local function run(args)
  local opt = options.parse(args, { usage = usage, flags = { "json" }, most = 0 })
  local report, fit = examine()
  if opt.json then
    print(cjson.encode { ok = fit, probes = report })
  else
    show(report, fit)
  end
  return fit and 0 or 1
end

return {
  summary = "says what this machine can do and what to install",
  usage = usage,
  help = "Exit status 1 when something is missing without which nothing runs.",
  run = run,
}
