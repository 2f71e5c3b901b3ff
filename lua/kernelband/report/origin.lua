-- report/origin.lua - what a reader needs to reproduce the figures: machine, versions,
-- commands, seeds and events.
local format = require "kernelband.store.run_format"
local html   = require "kernelband.report.html"
local lists  = require "kernelband.base.lists"
local text   = require "kernelband.base.text"

local origin = {}

local function text_of(v)
  return type(v) == "table" and ("[%s]"):format(table.concat(lists.collect(v, text_of), ", "))
         or tostring(v)
end

-- Names and values of a table; nested ones flat.
local function values_of(t, prefix, out)
  for _, name in ipairs(lists.keys(t)) do
    local v = t[name]
    if type(v) == "table" and #v == 0 then
      values_of(v, prefix .. name .. ".", out)
    else
      out[#out + 1] = { prefix .. name, { text_of(v), class = "wrap" } }
    end
  end
  return out
end

local function commands(m)
  local e, script = m.experiment, nil
  if e.script then
    script = table.concat(lists.collect({ e.script, table.unpack(e.args) }, text.quote), " ")
  end
  local lines = html.lines("words.commands", { script = script, folder = text.quote(m.folder),
    directory = e.directory and text.quote(e.directory), state = m.state })
  return html.heading "To do it again" .. html.words("pre", table.concat(lines, "\n"))
end

function origin.section(m)
  local e, host = m.experiment, lists.with(m.experiment.machine)
  local device = type(host.device) == "table" and host.device or {}
  host.device = nil
  local values = { format = format.version, jail = html.said("jail", m.machine) }
  local out = { html.values(html.fields("provenance", lists.with(m, values))),
    html.listing("calls", m.calls, { left = 2, caption = "Model calls" }), commands(m) }
  for _, part in ipairs { { "Machine", host }, { "Device and roofs", device },
    { "Options of the search", e.options }, { "Policy parameters", m.params },
    { "Identity (what resume compares)", e.identity }, { "Hashes", e.hashes },
    { "Clocks", e.clocks } } do
    out[#out + 1] = html.details(part[1], html.values(values_of(part[2], "", {})))
  end
  return table.concat(out)
    .. html.listing("event", m.events, { left = 3, wrap = true,
      caption = "Events, the last first" })
    .. html.listing("logged", m.logged, { wrap = true,
      caption = "What the policy logged, the last first" })
end

return origin
