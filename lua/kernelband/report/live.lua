-- report/live.lua - the page of a run while it goes on. The journal is looked at
-- every second; sections whose HTML changed are published anew, and the page's
-- script fetches those alone. Nothing that a browser sends reaches this file.
local core    = require "kernelband.core"
local html    = require "kernelband.report.html"
local json    = require "kernelband.base.json"
local model   = require "kernelband.report.model"
local report  = require "kernelband.report"

local live = {}

local LOOK_NS = 1000 * 1000 * 1000
local html_type, json_type = "text/html; charset=utf-8", "application/json"

-- state: view, as of report.view; text, of how the run is; stamp of what was read; shown, hashes of
-- what was published by the sections' names.
local function publish(server, state)
  local has, view = {}, state.view
  for _, s in ipairs(view.sections) do
    local text = html.inside(s)
    has[s.id] = core.system.hash(text)
    if state.shown[s.id] ~= has[s.id] then
      assert(server:publish("section/" .. s.id, html_type, text))
    end
  end
  state.shown = has
  view.live = { text = state.text, has = json.encode(has) }
  assert(server:publish("", html_type, html.page(view),
                        html.policy(true) .. "; frame-ancestors 'none'"))
  assert(server:publish("state", json_type, json.encode { sections = has, text = state.text,
                                                        title = view.title }))
end

-- Makes the view anew; false where the run is as it was.
local function read(state, folder)
  local m = model.load(folder, "unchecked", state.stamp)
  if not m then return false end
  state.view, state.stamp = report.view(m, true), m.stamp
  state.text = ("%s; %s%s pulls; as of %s"):format(m.state, m.pulls, m.options.budget.steps
    and (" of %d"):format(m.options.budget.steps) or "", os.date "%H:%M:%S")
  return true
end

-- Looks once; true when there was something new. What was read last stays where the run cannot
-- be read now.
local function look(state, folder)
  local ok, new = pcall(read, state, folder)
  if ok then return new end
  local before = state.text
  state.stamp, state.text = nil, core.system.exists(folder .. "/run.db") == "file" and tostring(new)
                               or ("waiting for %s: there is no run in it yet"):format(folder)
  return state.text ~= before
end

-- Serves the run of a folder until `stopped()`; url(text) is told the address.
function live.serve(folder, port, url, stopped)
  local token = core.system.random_hex(16)
  local server, why, code = core.serve(port, token)
  if not server then return nil, why, code end
  local _ <close> = server
  local state, next_ns = { view = report.view(nil, true), shown = {} }, 0
  state.view.title = folder
  repeat
    local now = core.system.now_ns()
    if now >= next_ns then
      if look(state, folder) then publish(server, state) end
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
