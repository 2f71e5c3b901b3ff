-- generator/ask.lua - what all generators that ask somebody have in common: the question,
-- the exchange kept, the candidate read from the answer, one repair.
--
--   ask.generator { name =, identity =, origin =, options =, priced =, begin = }
--     begin(ctx) -> exchange [, left], for one search: left() tells whether answers are left
--     exchange(question, rng, about) -> answer | nil, why, code; then record
--         answer = { text =, finish = }; record as client.lua fills it;
--         about = { pull =, kind =, attempt = }
--     options.repair (times), options.prompt, options.record (a folder)
local answer = require "kernelband.llm.answer"
local lists  = require "kernelband.base.lists"
local prompt = require "kernelband.generator.prompt"
local record = require "kernelband.llm.record"
local reply  = require "kernelband.llm.reply"

local ask = {}

-- Options that generators which ask have in common.
ask.repair = { "repair", "integer", default = 1, at_least = 0, at_most = 8,
  doc = "how often a candidate that failed is sent back to be mended" }
ask.prompt = { "prompt", "table", optional = true, rules = prompt.rules,
  doc = "parts of the prompt: a text, function(facts) returning one, or false" }
ask.record = { "record", "string", optional = true,
  doc = "a folder that keeps every exchange, for replay" }

-- The list part of options, and the named part.
function ask.split(options)
  local list, named = {}, {}
  for k, v in pairs(type(options) == "table" and options or {}) do
    if math.type(k) == "integer" then list[k] = v else named[k] = v end
  end
  return list, named
end

local function start(self, task, ctx)
  local options = self.options
  local questions = prompt.new(task, options.prompt, ctx.device, ctx.baseline)
  local keep = options.record and record.open(options.record)
  local ask_for, left = self.begin(ctx)

  -- An answer; or nil, reason [, code, seconds to wait].
  local function exchange(kind, attempt, question, rng, here)
    local about = { kind = kind, pull = here.pull, attempt = attempt }
    local got, why, code, rec = ask_for(question, rng, about)
    rec = lists.with(rec, lists.with(about, { request = question.text, answer = got and got.text,
                                              usd_source = rec.usd_source or "unknown" }))
    if keep and got then keep(rec) end
    if here.call then here.call(rec) end
    if not got then return nil, why, code, rec.wait_s end
    if got.finish ~= "refusal" then return got end
    return nil, "the model refused: " .. reply.excerpt(got.refusal or got.text, 200)
  end

  -- A candidate, or nil, reason [, code, seconds to wait]. base: the source that is shown.
  local function put(kind, attempt, question, rng, here, base, strategy)
    local got, why, code, wait_s = exchange(kind, attempt, question, rng, here)
    if not got then return nil, why, code, wait_s end
    local source, fault, declined = answer.read(got.text, { language = task.language or "c",
      entry = task.name, finish = got.finish, base = base })
    if not source then return nil, fault, declined end
    return { source = source, origin = self.origin,
             by = { strategy = strategy, repaired = attempt - 1 } }
  end

  -- Recorded answers run out; a model does not.
  local instance = { name = self.name, identity = self.identity, repairs = options.repair,
                     priced = self.priced, recorded = left and true, asks = true,
                     open = left or function() return true end, seen = function() end }

  function instance.ending() return left and "the recorded answers are used up" end

  function instance.propose(parent, strategy, rng, here)
    return put("propose", 1, questions.propose(parent, strategy, here), rng:split "call", here,
               parent.source, strategy)
  end

  function instance.repair(candidate, evaluation, rng, here)
    local by = candidate.by or {}
    local done = by.repaired or 0
    if done >= options.repair then return nil, "it was repaired before" end
    return put("repair", done + 2, questions.repair(candidate, evaluation, by.strategy),
               rng:split("repair " .. done), here, candidate.source, by.strategy)
  end

  -- Sets of a schedule's parameters to begin with: a list of anything; or nil, why [, code,
  -- seconds]. What was answered before a stop is not asked for again.
  function instance.points(parameters, file, parent, rng, here)
    local text = ctx.answered "first"
    if not text then
      local got, why, code, wait_s = exchange("first", 1,
        questions.first(parent, parameters, file, here), rng:split "first", here)
      if not got then return nil, why, code, wait_s end
      text = got.text
    end
    return answer.points(text)
  end

  return instance
end

-- A generator of kernelband.generator, whose instances ask.
function ask.generator(self)
  function self.start(task, ctx) return start(self, task, ctx) end
  return self
end

return ask
