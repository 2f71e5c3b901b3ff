-- report/origin.lua - what a reader needs to make the figures again: the machine,
-- the versions, the commands, the seeds, what happened on the way.
local chart  = require "kernelband.report.chart"
local format = require "kernelband.report.format"

local origin = {}

local escape = chart.escape

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function text_of(v)
  if type(v) == "table" then
    local parts, list = {}, #v > 0
    for _, name in ipairs(list and v or sorted(v)) do
      parts[#parts + 1] = list and text_of(name) or name .. " = " .. text_of(v[name])
    end
    return (list and "[%s]" or "{%s}"):format(table.concat(parts, ", "))
  end
  return tostring(v)
end

-- Names and values of a table; nested ones flat, deeper than two as text.
local function pairs_of(t, prefix, out, depth)
  for _, name in ipairs(sorted(t)) do
    local v = t[name]
    if type(v) == "table" and #v == 0 and depth < 2 then
      pairs_of(v, prefix .. name .. ".", out, depth + 1)
    else
      out[#out + 1] = { prefix .. name, { text_of(v), class = "wrap" } }
    end
  end
  return out
end

-- A word as a shell takes it.
local function quoted(word)
  word = tostring(word)
  if word:find "^[%w%._/=:,+-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end
origin.quoted = quoted

local function commands(m)
  local e, out = m.experiment, {}
  if e.directory then out[1] = "cd " .. quoted(e.directory) end
  if e.script then
    local words = { "kernelband run", quoted(e.script) }
    for _, w in ipairs(e.args) do words[#words + 1] = quoted(w) end
    out[#out + 1] = table.concat(words, " ") .. "        # the whole search anew"
  end
  out[#out + 1] = "kernelband verify " .. quoted(m.folder) .. "        # the winner's evidence anew"
  if m.state ~= "done" then
    out[#out + 1] = "kernelband resume " .. quoted(m.folder) .. "        # go on with it"
  end
  return "<pre>" .. escape(table.concat(out, "\n")) .. "</pre>"
end

local function details(title, t)
  local body = pairs_of(type(t) == "table" and t or {}, "", {}, 0)
  if #body == 0 then return "" end
  return ("<details><summary>%s</summary>%s</details>"):format(escape(title),
    format.table({ "", "" }, body, { left = { true, true } }))
end

-- The machine without its device, which has a table of its own.
local function machine_of(e)
  local out = {}
  for name, v in pairs(e.machine) do if name ~= "device" then out[name] = v end end
  return out
end

-- What candidates in C were jailed by, as the machine's row tells.
local function jail_of(machine)
  local abi = math.tointeger(machine.landlock_abi)
  if not abi then return "-" end
  return ("Landlock ABI %d, %s, %s"):format(abi, machine.seccomp and "seccomp" or "no seccomp",
    machine.root == nil and "user not recorded" or machine.root and "user nobody"
    or "the same user (not root)")
end

-- Of recorded answers, what they cost now and did then.
local function dollars(c)
  local answered = c.n - c.failed
  local now = c.priced == answered and format.usd(c.usd or 0) or "unknown"
  if (c.recorded or 0) == 0 then return now end
  return ("%s; %s when recorded"):format(now,
    format.usd(c.known == c.recorded and c.recorded_usd or nil))
end

local function calls(m)
  local rows = {}
  for i, c in ipairs(m.calls) do
    rows[i] = { c.provider or "-", c.model or "-", format.count(c.n), format.count(c.failed),
      format.count(c.tokens_in or 0), format.count(c.cached or 0),
      format.count(c.tokens_out or 0), dollars(c), format.duration(c.seconds or 0) }
  end
  if #rows == 0 then return "" end
  return format.table({ "provider", "model", "calls", "failed", "tokens in", "of them cached",
    "tokens out", "dollars", "waited" }, rows, { left = { true, true }, caption = "Model calls" })
end

function origin.section(m)
  local e = m.experiment
  local first = {
    { "run folder", m.folder }, { "state", m.state }, { "started", e.started or "-" },
    { "task", m.task }, { "policy", m.policy }, { "generator", m.generator },
    { "seed", ("%d"):format(m.seed) },
    { "kernelband", e.version or "not recorded" },
    { "journal", ("run.db, format %d"):format(require("kernelband.store.run_format").version) },
    { "processor", e.machine.cpu or "-" },
    { "device", m.device and tostring(m.device.name) or e.options.device or "-" },
    { "system", ("%s, %s"):format(tostring(e.machine.kernel or "-"),
                                  tostring(e.machine.libc or "-")) },
    { "jail of candidates", jail_of(e.machine) },
    { "compiler", m.device and tostring(m.device.compiler) or tostring(e.machine.compiler
                                                                      or "-") },
  }
  local out = { format.table({ "", "" }, first, { left = { true, true } }),
    calls(m), "<h3>To do it again</h3>", commands(m),
    details("Machine", machine_of(e)), details("Device and roofs", m.device),
    details("Options of the search", e.options), details("Policy parameters", m.params),
    details("Identity (what resume compares)", e.identity), details("Hashes", e.hashes),
    details("Clocks", e.clocks) }
  local rows = {}
  for i, v in ipairs(m.events) do
    rows[i] = { ("%d"):format(v.id), format.duration(v.at_s), v.kind,
                { v.text, class = "wrap" } }
  end
  if #rows > 0 then
    out[#out + 1] = format.table({ "event", "at", "kind", "" }, rows,
      { left = { true, true, true, true }, caption = "Events, the last first" })
  end
  local logged = {}
  for i, v in ipairs(m.logged) do
    logged[i] = { format.duration(v.at_s), { v.text, class = "wrap" } }
  end
  if #logged > 0 then
    out[#out + 1] = format.table({ "at", "" }, logged,
      { left = { true, true }, caption = "What the policy logged, the last first" })
  end
  return table.concat(out)
end

return origin
