-- generator/command.lua - children from a program: the question on its standard
-- input, the answer on its standard output. Any coding agent's command line works.
--
--   kb.generator.command { "claude", "-p" }
--   kb.generator.command { "sh", "-c", "my-model --stdin", timeout_s = 600 }
--
-- The command runs in a process group of its own, which is ended at its deadline. A
-- command that fails is tried again once and then pauses the search, one that cannot
-- be started stops it: a failure of the world is no pull.
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local prompt = require "kernelband.generator.prompt"
local reply  = require "kernelband.llm.reply"
local schema = require "kernelband.base.schema"
local ask    = require "kernelband.generator.ask"

local who <const> = "kb.generator.command"
local most_bytes <const> = 4 << 20

local rules = schema.declare("kb.generator.command", {
  { "timeout_s", "number", default = 900, at_least = 0.001, doc = "seconds for one answer" },
  { "attempts", "integer", default = 2, at_least = 1, at_most = 20,
    doc = "tries of a command that fails" },
  { "retry_s", "number", default = 2, at_least = 0, doc = "seconds until the next try" },
  ask.repair, ask.prompt, ask.record,
  { "directory", "string", optional = true, doc = "where the command runs; else here" },
})

-- The list part is the command, the named part its options.
local function split(options)
  local argv, named = ask.split(options)
  for i, word in ipairs(argv) do
    if type(word) ~= "string" or word:find "%z" then
      schema.raise_at_call(who, "argument %d of the command must be a text, got %s", i,
                           schema.show(word))
    end
  end
  if #argv == 0 then
    schema.raise_at_call(who, "the command is missing: kb.generator.command { \"program\", .. }")
  end
  return argv, schema.options(named, rules, who)
end

local now_ns = core.system.now_ns

local function ns(s) return math.tointeger(math.floor(math.min(s, 1e9) * 1e9)) end

-- nil when it went well, else what went wrong.
local function fault(program, timeout_s, r, why, code)
  local what, words = nil, ""
  if not r then
    what = code == "ETIME" and ("gave no answer in %g s"):format(timeout_s)
    why = tostring(why)
    return what and program .. " " .. what or why:find(program, 1, true) and why
           or ("%s: %s"):format(program, why)
  elseif r.signal and r.signal ~= 0 then
    what, words = ("was ended by signal %d"):format(r.signal), r.errors or ""
  elseif r.status ~= 0 then
    what = ("ended with status %d"):format(r.status)
    words = (r.errors ~= "" and r.errors or r.output) or ""
  end
  return what and ("%s %s%s"):format(program, what, words ~= "" and ": "
                                     .. reply.excerpt(words:sub(-400), 300) or "")
end

local function new(options)
  local argv, opt = split(options)
  local g = { name = "command", identity = json.encode { kind = "command", argv = argv,
    repair = opt.repair, prompt = prompt.identity(opt.prompt) } }

  local function exchange(L, question)
    local record, began = { provider = "command", model = argv[1], attempts = 0 }, now_ns()
    while true do
      record.attempts = record.attempts + 1
      local r, why, code, said = L:command { argv = argv, input = question.text,
        timeout_ns = ns(opt.timeout_s), max_bytes = most_bytes, directory = opt.directory }
      record.total_s = (now_ns() - began) / 1e9
      if code == "ECANCELED" then return nil, why, code, record end
      if code == "EFULL" then         -- a whole answer no reader takes: not the world's fault
        r = { status = 0, output = said and said.output or "" }
      end
      record.error = fault(argv[1], opt.timeout_s, r, why, code)
      if not record.error then
        record.finish = "stop"
        return { text = reply.utf8(r.output), finish = "stop" }, nil, nil, record
      elseif record.attempts >= opt.attempts then
        local begun = r or code == "ETIME"
        return nil, record.error .. "; mend it, then resume", begun and "EPAUSE" or "ESTOP", record
      end
      if not L:sleep(ns(opt.retry_s)) then return nil, "cancelled", "ECANCELED", record end
    end
  end

  function g.start(task, ctx)
    return ask.instance { name = "command", identity = g.identity, origin = "command " .. argv[1],
                          task = task, ctx = ctx, options = opt, exchange = exchange,
                          priced = false }
  end
  return g
end

return { new = new }
