-- worker/server.lua - the process that judges candidates, or compiles them ahead.
--
-- Frames are JSON objects. Requests: { op = "warm" }, { op = "open", task =, known = }, { op =
-- "evaluate", source =, options = }, to a builder { op = "build", source =, target = }. Replies:
-- { warm = true }, { ready = evaluation of the baseline, machine = }, { evaluation = },
-- { built = }, { refused = text } for a task or device that cannot work, { failed = text }.
local core     = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local json     = require "kernelband.base.json"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"

local server = {}

-- Serves until its stdin ends. Returns an exit code.
function server.serve(name)
  local channel = assert(core.channel())
  local device, session, compiler
  local answer = {}

  function answer.warm()
    device = device or evaluate.device(name)
    return { warm = true }
  end

  function answer.open(request)
    answer.warm()
    session = evaluate.open(task.load(request.task), device, request.known)
    return { ready = session.baseline, machine = session.machine }
  end

  function answer.evaluate(request)
    return { evaluation = session:evaluate(request.source, request.options) }
  end

  function answer.build(request)
    compiler = compiler or assert(core.nvrtc())
    return { built = compiler:make(request.source, request.target) ~= nil }
  end

  while true do
    local text, why, code = channel:read()
    if not text then return code == "EEMPTY" and 0 or error(why) end
    local request = json.decode(text)
    local judges = request.op == "evaluate"
    local ok, reply = pcall(answer[request.op], request)
    if not ok then
      -- Others broke the GPU's context: the engine tries once more on a fresh worker.
      if (judges or request.known) and device and device:lost() then return 1 end
      reply = judges and { failed = tostring(reply) }
              or { refused = tostring(reply), config = schema.is_config_error(reply) }
    end
    assert(channel:write(json.encode(reply)))
  end
end

return server
