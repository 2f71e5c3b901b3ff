-- report/live.lua - the page of a run while it goes on. The journal is looked at
-- every second; sections whose HTML changed are published anew, and the page's
-- script fetches those alone. Nothing that a browser sends reaches this file.
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local model   = require "kernelband.report.model"
local page    = require "kernelband.report.page"
local report  = require "kernelband.report"
local version = require "kernelband.base.version"

local live = {}

local LOOK_NS = 1000 * 1000 * 1000
local html_type, json_type = "text/html; charset=utf-8", "application/json"

local function publish(server, view)
  local has = {}
  for _, s in ipairs(view.sections) do
    local text = page.inside(s)
    has[s.id] = core.system.hash(text)
    if view.shown[s.id] ~= has[s.id] then
      assert(server:publish("section/" .. s.id, html_type, text))
    end
  end
  view.shown = has
  assert(server:publish("", html_type, page.html { title = view.title, lead = view.lead,
    sections = view.sections, foot = ("Served by kernelband %s; read only."):format(version),
    live = { text = view.text, has = json.encode(has) } },
    page.policy(true) .. "; frame-ancestors 'none'"))
  assert(server:publish("state", json_type, json.encode { sections = has, text = view.text,
                                                        title = view.title }))
end

-- Makes the view anew; false where the run is as it was.
local function read(view, folder)
  local m = model.load(folder, "unchecked", view.stamp)
  if not m then return false end
  view.sections, view.title, view.lead = report.sections(m, true), report.title(m), report.lead(m)
  view.text = ("%s; %s%s pulls; as of %s"):format(m.state, m.pulls, m.options.budget.steps
    and (" of %d"):format(m.options.budget.steps) or "", os.date "%H:%M:%S")
  view.stamp = m.stamp
  return true
end

-- Looks once; true when there was something new. What was read last stays where the run cannot
-- be read now.
local function look(view, folder)
  local ok, new = pcall(read, view, folder)
  if ok then return new end
  local before = view.text
  view.stamp, view.text = nil, core.system.exists(folder .. "/run.db") == "file" and tostring(new)
                               or ("waiting for %s: there is no run in it yet"):format(folder)
  return view.text ~= before
end

-- Serves the run of a folder until `stopped()`; url(text) is told the address.
function live.serve(folder, port, url, stopped)
  local token = core.system.random_hex(16)
  local server, why, code = core.serve(port, token)
  if not server then return nil, why, code end
  local _ <close> = server
  local view = { title = folder, lead = "", shown = {}, sections = report.sections(nil, true) }
  local next_ns = 0
  repeat
    local now = core.system.now_ns()
    if now >= next_ns then
      if look(view, folder) then publish(server, view) end
      if next_ns == 0 then url(("http://127.0.0.1:%d/%s/"):format(server:port(), token)) end
      -- A run so large that a look takes long is looked at less often.
      next_ns = core.system.now_ns() + math.max(LOOK_NS, 10 * (core.system.now_ns() - now))
    end
    local done, text, kind = server:turn(LOOK_NS // 4)
    if not done and kind ~= "EINTR" then return nil, text, kind end
  until stopped()
  return true
end

return live
