-- generator/ask.lua - what all generators that ask somebody have in common: the question,
-- the exchange kept, the candidate read from the answer, one repair.
--
--   ask.instance { name =, identity =, origin =, task =, ctx =, options =, exchange = }
--     exchange(L, question, rng, about) -> answer | nil, why, code; then record
--         answer = { text =, finish =, refusal = }; record as client.lua fills it;
--         about = { pull =, kind =, attempt =, note = }
--     options.repair (times), options.prompt, options.record (a folder)
local core   = require "kernelband.core"
local answer = require "kernelband.llm.answer"
local lists  = require "kernelband.base.lists"
local loop   = require "kernelband.base.loop"
local points = require "kernelband.llm.points"
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

local function nothing() end

-- The list part of options, and the named part.
function ask.split(options)
  local list, named = {}, {}
  for k, v in pairs(type(options) == "table" and options or {}) do
    if math.type(k) == "integer" then list[k] = v else named[k] = v end
  end
  return list, named
end

-- fn(L) in a coroutine of the search's loop; where there is none, on a loop of its
-- own, to the end.
local function in_loop(L, fn)
  if L and L:inside() then return fn(L) end
  local own, got = loop.new(), nil
  local h = own:spawn(function() got = table.pack(fn(own)) end)
  while not h:done() do
    own:turn(200 * 1000 * 1000)
    if core.system.interrupts() > 1 then h:cancel() end
  end
  return table.unpack(got, 1, got.n)
end

function ask.instance(self)
  local ctx, options, task = self.ctx or {}, self.options, self.task
  local questions = prompt.new(task, options.prompt, ctx.device, ctx.baseline)
  local recorder = options.record and record.open(options.record)
  local journal = ctx.journal or {}

  -- A text, its record and the number of the call; or nil, reason [, code, seconds to wait].
  local function exchange(kind, attempt, question, rng, here)
    local about = { kind = kind, pull = here.pull, attempt = attempt, note = ctx.note or nothing }
    local got, why, code, rec = in_loop(here.loop or ctx.loop, function(L)
      return self.exchange(L, question, rng, about)
    end)
    rec = lists.with(rec or {}, { kind = kind, pull = about.pull, attempt = attempt,
                                  request = question.text, answer = got and got.text })
    rec.usd_source = rec.usd_source or "unknown"
    if recorder and got then recorder.add(rec) end
    local call = here.call or journal.call
    local id = call and call(rec)
    if not got then return nil, why, code, rec.wait_s end
    if got.refusal or got.finish == "refusal" then
      return nil, "the model refused: " .. reply.excerpt(got.refusal or got.text or "", 200)
    end
    return got, rec, id
  end

  -- A candidate, or nil, reason [, code, seconds to wait]. base: the source that is shown.
  local function put(kind, attempt, question, rng, here, base, strategy)
    local got, rec, id, wait_s = exchange(kind, attempt, question, rng, here)
    if not got then return nil, rec, id, wait_s end
    local source, why, code = answer.read(got.text, { language = task.language or "c",
      entry = task.name, finish = got.finish, base = base })
    if not source then return nil, why, code end
    return { source = source, origin = self.origin, usd = rec.usd, calls = id and { id } or {},
             by = { strategy = strategy, repaired = math.max(attempt - 1, 0) },
             prompt_hash = core.system.hash(question.text),
             tokens = { input = rec.tokens_in, cached = rec.tokens_cached,
                        output = rec.tokens_out, reasoning = rec.tokens_reasoning } }
  end

  -- always: open for every pair. Recorded answers run out; a model does not.
  local instance = { name = self.name, identity = self.identity, repairs = options.repair,
                     priced = self.priced, recorded = self.recorded, asks = true,
                     always = not self.left, open = self.left or function() return true end,
                     seen = nothing }

  function instance.ending() return self.left and "the recorded answers are used up" end

  function instance.propose(parent, strategy, rng, here)
    here = here or {}
    return put("propose", 1, questions:propose(parent, strategy, here), rng:split "call", here,
               parent.source, strategy)
  end

  function instance.repair(candidate, evaluation, rng, here)
    local by = candidate.by or {}
    local done = by.repaired or 0
    if done >= options.repair then return nil, "it was repaired before" end
    return put("repair", done + 2, questions:repair(candidate, evaluation, by.strategy),
               rng:split("repair " .. done), here or {}, candidate.source, by.strategy)
  end

  -- Sets of a schedule's parameters to begin with: a list; or nil, why [, code, seconds].
  -- What was answered before a stop is not asked for again.
  function instance.points(parameters, file, parent, rng, here)
    local text = journal.answer and journal.answer "first"
    if not text then
      local got, why, code, wait_s = exchange("first", 1,
        questions:first(parent, parameters, file, here), rng:split "first", here)
      if not got then return nil, why, code, wait_s end
      text = got.text
    end
    local list, lost = points.read(text, parameters)
    if lost > 0 and ctx.note then
      ctx.note(("%d of %d first points fit no value of the schedule"):format(lost, lost + #list))
    end
    return list
  end

  if options.repair == 0 then instance.repair = nil end
  return instance
end

return ask
