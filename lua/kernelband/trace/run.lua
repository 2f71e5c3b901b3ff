-- trace/run.lua - a run as a recorded space: the candidates that it evaluated, by their
-- parameters. Times are the baseline's first time over the paired speed-up, as in a recording.
local core   = require "kernelband.core"
local run    = require "kernelband.store.run"
local schema = require "kernelband.base.schema"
local text   = require "kernelband.base.text"

local source = {}

-- The folder of a run that a path names, itself or its run.db; nil: it names none.
function source.folder(file)
  if core.system.exists(file) == "dir" then return file end
  return file:match "^(.*)/run%.db$" or file == "run.db" and "." or nil
end

local function profiles_of(reader)
  local out = {}
  for _, p in ipairs(reader:profiles()) do
    local e = { phi = p.phi, rho = p.rho, signature = p.signature, h = p.h or {}, h_kind = {} }
    for _, name in ipairs { "phi", "rho", "signature" } do
      local kind = {}
      for i, v in ipairs(e[name] or {}) do
        kind[i] = type(v) == "number" and "derived" or "missing"
      end
      e[name .. "_kind"] = e[name] and kind or nil
    end
    for _, name in ipairs { "sm", "dram", "l2" } do
      e.h_kind[name] = type(e.h[name]) == "number" and "derived" or "missing"
    end
    out[p.kernel] = e
  end
  return out
end

function source.read(folder, read)
  local reader <close> = run.reader(folder)
  local file, first = folder .. "/run.db", reader:kernels()[1]
  local named = first and type(first.params) == "table" and first.params or {}
  local axes = #named == 0 and text.keys(named) or {}             -- a list has no names
  local function refuse()
    schema.raise("%s: its kernels have no named parameters, so it is no tuning space: a run of "
                 .. "the built-in generator is one", file)
  end
  if #axes == 0 then refuse() end
  local space, profiles = read.space(file, "run", axes), profiles_of(reader)
  space.start = {}
  for a, name in ipairs(axes) do space.start[a] = named[name] end
  local function add(where, params, verdict, time_ns, kernel)
    for _, name in ipairs(axes) do
      if type(params) ~= "table" or params[name] == nil then return end
    end
    space.add(where, params, read.row(file, where, { verdict = verdict, time = time_ns,
                                                     evidence = profiles[kernel] }))
  end
  add("kernel 1", named, "ok", first.time_ns, 1)
  for _, e in ipairs(reader:evaluations()) do
    local found = e.evaluation
    if (e.kind == "pull" or e.kind == "repair" or e.kind == "tune") and found then
      local speedup = type(found.speedup) == "number" and found.speedup or 0
      local time_ns = speedup > 0 and first.time_ns / speedup or found.time_ns
      add("evaluation " .. e.id, e.params, e.verdict, time_ns, e.kernel)
    end
  end
  if #space.rows == 0 then refuse() end
  return space
end

return source
