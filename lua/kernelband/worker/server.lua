-- worker/server.lua - the process that judges candidates, or compiles them ahead.
--
-- Frames are JSON objects. Requests: { op = "open", task =, known =, source = }, see evaluate.open;
-- { op = "evaluate", ticket =, source =, options = }, to a builder { op = "build",
-- source =, target = }. Replies: { ready = evaluation of the baseline, or of a source that does not
-- build, machine = }, { took = ticket } when a candidate has been read, { ticket =, evaluation = },
-- { built = }, { refused = text } for a task or device that cannot work.
local core     = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local json     = require "kernelband.base.json"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"

local server = {}

-- nil: the device was lost before the candidate began.
local function answer(session, request)
  if request.op ~= "evaluate" then return { refused = "unknown request" } end
  local ok, out = pcall(session.evaluate, session, request.source, request.options)
  if ok then return { ticket = request.ticket, evaluation = out } end
  return not session.device:lost() and { failed = tostring(out) } or nil
end

-- Serves until its stdin ends. Returns an exit code.
function server.serve(name)
  local channel = assert(core.channel())
  local device, session, compiler
  local function open(request)
    device = device or evaluate.device(name)
    if request.op == "warm" then return { warm = true } end
    session = evaluate.open(task.load(request.task), device, request.known, request.source)
    return { ready = session.baseline, machine = session.machine }
  end
  while true do
    local text, why, code = channel:read()
    if not text then return code == "EEMPTY" and 0 or error(why) end
    local request = json.decode(text)
    local reply
    if request.op == "open" or request.op == "warm" then
      local ok, out = pcall(open, request)
      -- Others broke the GPU's context: the engine starts a fresh worker, as the task opens.
      if not ok and request.known and device and device:lost() then return 1 end
      reply = ok and out or { refused = tostring(out), config = schema.is_config_error(out) }
    elseif request.op == "build" then
      compiler = compiler or assert(core.nvrtc())
      local ok, made, failed = pcall(compiler.make, compiler, request.source, request.target)
      reply = { built = ok and made ~= nil, why = tostring(failed or made) }
    else
      assert(channel:write(json.encode { took = request.ticket }))
      reply = answer(session, request)
      if not reply then return 1 end    -- the engine tries it once more on a fresh worker
    end
    assert(channel:write(json.encode(reply)))
  end
end

return server
