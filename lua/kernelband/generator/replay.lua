-- generator/replay.lua - children from recorded answers; no network, no program.
--
--   kb.generator.replay "runs/matmul"            a run folder
--   kb.generator.replay { "examples/answers" }   a recording (llm/record.lua)
--
-- An exchange is found by the hash of its request; where the request is another (the
-- times in it are those of another machine), by its pull. Which one a pull gets
-- depends on nothing else, so a run that is resumed gets what it would have got.
-- An answer costs nothing now; what it cost when it was recorded is kept beside that.
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local lists  = require "kernelband.base.lists"
local prompt = require "kernelband.generator.prompt"
local record = require "kernelband.llm.record"
local schema = require "kernelband.base.schema"
local ask    = require "kernelband.generator.ask"

local who <const> = "kb.generator.replay"

local rules = schema.declare(who, { ask.repair, ask.prompt })

local function new(options)
  local list, named = ask.split(type(options) == "string" and { options } or options)
  schema.must_at_call(type(list[1]) == "string" and not list[2], who,
    "expected { \"folder\" }, got %s", schema.show(options))
  local opt = schema.options(named, rules, who)
  local entries, hash = record.load(list[1])
  local last = lists.best(entries, function(e) return e.pull end).pull
  local own = prompt.identity(opt.prompt)

  -- The exchange of this request and pull, of this request, or of this pull.
  local function find(request, about)
    return (lists.best(entries, function(e)
      local here = e.pull == about.pull and e.kind == about.kind
      if e.request == request then return here and 3 or 2 end
      return here and e.attempt == about.attempt and 1
    end))
  end

  local function exchange(question, _, about)
    local e = find(core.system.hash(question.text), about)
    if not e then
      local why = about.kind == "repair" and "no repair of this was recorded"
        or ("the recording holds no answer for pull %d"):format(about.pull)
      return nil, why, nil, { provider = "replay", attempts = 0, error = why }
    end
    local rec = { provider = e.provider or "replay", attempts = 1, model = e.model,
                  model_returned = e.model_returned, finish = e.finish, usd = 0,
                  usd_source = "recorded", recorded_usd = e.usd, total_s = 0,
                  usage = e.usd and json.encode { recorded_usd = e.usd } or nil }
    for _, field in ipairs(record.tokens) do rec[field] = e[field] end
    return { text = e.text, finish = e.finish }, nil, nil, rec
  end

  return ask.generator {
    name = "replay", origin = "replay", options = opt,
    identity = "replay " .. hash .. (own and " " .. json.encode { prompt = own } or ""),
    begin = function(ctx) return exchange, function() return ctx.chosen() < last end end,
  }
end

return { new = new }
