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

-- fn(L) in a coroutine of the search's loop; where there is none, on a loop of its
-- own, to the end.
local function in_loop(L, fn)
  if L and L:inside() then return fn(L) end
  local own = loop.new()
  local got
  local h = own:spawn(function() got = table.pack(fn(own)) end)
  while not h:done() do
    own:turn(200 * 1000 * 1000)
    if core.system.interrupts() > 1 then h:cancel() end
  end
  return table.unpack(got, 1, got.n)
end

-- Seconds, tokens and money of a call, on the candidate that came of it.
local function price(candidate, rec, id)
  candidate.usd = rec.usd
  candidate.tokens = { input = rec.tokens_in, cached = rec.tokens_cached,
                       output = rec.tokens_out, reasoning = rec.tokens_reasoning }
  candidate.calls = id and { id } or {}
  return candidate
end

local function read(text, finish, task, base)
  return answer.read(text, { language = task.language or "c", entry = task.name,
                             finish = finish, base = base })
end

function ask.instance(self)
  local ctx, options = self.ctx or {}, self.options
  local questions = prompt.new(self.task, options.prompt, ctx.device, ctx.baseline)
  local recorder = options.record and record.open(options.record)
  local instance = { name = self.name, identity = self.identity, repairs = options.repair,
                     priced = self.priced, recorded = self.recorded, asks = true }

  local function keep(rec, of, question, got, call)
    rec.kind, rec.pull, rec.attempt = of.kind, of.pull, of.attempt
    rec.request, rec.answer = question.text, got and got.text
    rec.usd_source = rec.usd_source or "unknown"
    if recorder and got then recorder.add(rec) end
    return call and call(rec)
  end

  -- A text, its record and the number of the call; or nil, reason [, code, seconds to wait].
  local function exchange(question, of, rng, here)
    local call = here.call or ctx.journal and ctx.journal.call
    local got, why, code, rec = in_loop(here.loop or ctx.loop, function(L)
      return self.exchange(L, question, rng, of)
    end)
    rec = rec or {}
    local id = keep(rec, of, question, got, call)
    if not got then return nil, why, code, rec.wait_s end
    if got.refusal or got.finish == "refusal" then
      return nil, "the model refused: " .. reply.excerpt(got.refusal or got.text or "", 200)
    end
    return got, rec, id
  end

  -- A candidate, or nil, reason [, code, seconds to wait].
  local function put(question, of, rng, here)
    local got, rec, id, wait_s = exchange(question, of, rng, here)
    if not got then return nil, rec, id, wait_s end
    local source, why, code = read(got.text, got.finish, self.task, of.base)
    if not source then return nil, why, code end
    return price({ source = source, origin = self.origin,
                   prompt_hash = core.system.hash(question.text) }, rec, id)
  end

  -- Recorded answers run out; a model does not.
  function instance.open() return not self.left or self.left() end
  instance.always = not self.left       -- open for every pair
  function instance.ending() return self.left and "the recorded answers are used up" end

  local function about(kind, here, attempt, base)
    return { kind = kind, pull = here.pull, attempt = attempt, note = ctx.note or nothing,
             base = base }
  end

  function instance.propose(parent, strategy, rng, here)
    here = here or {}
    local candidate, why, code, wait_s = put(questions:propose(parent, strategy, here),
      about("propose", here, 1, parent.source), rng:split "call", here)
    if candidate then candidate.by = { strategy = strategy, repaired = 0 } end
    return candidate, why, code, wait_s
  end

  function instance.repair(candidate, evaluation, rng, here)
    here = here or {}
    local by = candidate.by or {}
    local done = by.repaired or 0
    if done >= options.repair then return nil, "it was repaired before" end
    local mended, why, code, wait_s = put(questions:repair(candidate, evaluation, by.strategy),
      about("repair", here, done + 2, candidate.source), rng:split("repair " .. done), here)
    if mended then mended.by = { strategy = by.strategy, repaired = done + 1 } end
    return mended, why, code, wait_s
  end

  -- Sets of a schedule's parameters to begin with: a list; or nil, why [, code, seconds].
  -- What was answered before a stop is not asked for again.
  function instance.points(parameters, file, parent, rng, here)
    local text = ctx.journal and ctx.journal.answer and ctx.journal.answer "first"
    if not text then
      local got, why, code, wait_s = exchange(questions:first(parent, parameters, file, here),
        about("first", here, 1), rng:split "first", here)
      if not got then return nil, why, code, wait_s end
      text = got.text
    end
    local list, lost = points.read(text, parameters)
    if lost > 0 and ctx.note then
      ctx.note(("%d of %d first points fit no value of the schedule"):format(lost, lost + #list))
    end
    return list
  end

  function instance.seen() end
  if options.repair == 0 then instance.repair = nil end
  return instance
end

return ask
