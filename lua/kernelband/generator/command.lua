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
    schema.must_at_call(type(word) == "string" and not word:find "%z", who,
      "argument %d of the command must be a text, got %s", i, schema.show(word))
  end
  schema.must_at_call(#argv > 0, who,
    "the command is missing: kb.generator.command { \"program\", .. }")
  return argv, schema.options(named, rules, who)
end

local now_ns = core.system.now_ns

local function ns(s) return math.tointeger(math.floor(math.min(s, 1e9) * 1e9)) end

-- What is said of a command that ended badly.
local function failure(program, r)
  local how = r.signal and "was ended by signal %d" or "ended with status %d"
  local words = r.errors ~= "" and r.errors or r.output
  return ("%s %s%s"):format(program, how:format(r.signal or r.status), words ~= "" and ": "
                            .. reply.excerpt(words:sub(-400), 300) or "")
end

local function new(options)
  local argv, opt = split(options)

  local function exchange(L, question)
    local record, began = { provider = "command", model = argv[1], attempts = 0 }, now_ns()
    repeat
      record.attempts, record.error = record.attempts + 1, nil
      local r, why, code, said = L:command { argv = argv, input = question.text,
        timeout_ns = ns(opt.timeout_s), max_bytes = most_bytes, directory = opt.directory }
      record.total_s = (now_ns() - began) / 1e9
      if code == "ECANCELED" then return nil, why, code, record end
      -- A whole answer that no reader takes is not the world's fault.
      if code == "EFULL" or r and r.status == 0 and not r.signal then
        record.finish = "stop"
        return { text = reply.utf8((r or said).output), finish = "stop" }, nil, nil, record
      end
      record.error = r and failure(argv[1], r) or why
      if record.attempts >= opt.attempts then
        local begun = r or code == "ETIME"
        return nil, record.error .. "; mend it, then resume", begun and "EPAUSE" or "ESTOP", record
      end
    until not L:sleep(ns(opt.retry_s))
    return nil, "cancelled", "ECANCELED", record
  end

  return ask.generator {
    name = "command", origin = "command " .. argv[1], options = opt, priced = false,
    identity = json.encode { kind = "command", argv = argv, repair = opt.repair,
                             prompt = prompt.identity(opt.prompt) },
    begin = function(ctx)
      return function(question) return exchange(ctx.loop, question) end
    end,
  }
end

return { new = new }
