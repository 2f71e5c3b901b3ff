-- evaluate/mutants.lua - is a task's judge awake? When a task is opened for the first time,
-- wrong answers made from right ones go through its checks: zeros, the mean, a
-- copy of an input, the answer to other inputs (stale), half the precision, one
-- element off, a missing tail, the last two axes swapped. A task whose checks let
-- one through is refused: a candidate could be that mutant.
--
-- A mutant is of a kind and of one output. It applies to a shape and a draw where
-- at least one of its elements has another value than the baseline's answer, so
-- not: swap for outputs of one dimension, for a last dimension of 1, or for a
-- symmetric answer; copy where the answer is the input; mean for a constant;
-- half for integers, for values that need no more bits, and for a task that
-- declares `accumulate` in as few. A mutant that applies must be caught on one
-- shape and draw at least, by the same rules as a candidate: one verdict of a
-- candidate needs all of them to be right.
local lists   = require "kernelband.base.lists"
local check   = require "kernelband.evaluate.check"
local inputs  = require "kernelband.evaluate.inputs"
local schema  = require "kernelband.base.schema"
local task    = require "kernelband.task"
local verdict = require "kernelband.evaluate.verdict"

local mutants = {}

local kinds = { "zeros", "mean", "copy", "stale", "half", "one", "tail", "swap" }

local most_elements = 1 << 16           -- larger shapes are tried when smaller ones failed
local turn = { held_out = 1, smoke = 2, timed = 3 }     -- precision is checked on the first
local coarse = { f16 = { f32 = true, f64 = true },
                 bf16 = { f32 = true, f64 = true, f16 = true, bf16 = true } }

-- The small shapes, or those with a large output.
local function rooms_for(s, small)
  local some = lists.collect(s.rooms, function(room)
    local function is_large(i) return room.arguments[i].count > most_elements end
    return (lists.find(room.outputs, is_large) == nil) == small and room
  end)
  return lists.sorted(some, function(room) return turn[room.role] end)
end

local function must_run(s, room) verdict.of_baseline(s, check.run, s, room, room.baseline) end

-- Do the checks of this room see that what lies in its outputs is wrong?
local function caught(s, room, distribution)
  local bad, totals = verdict.try(check.compare, s, room, 1, distribution)
  if bad then return true end
  return room.role ~= "smoke" and distribution == s.timed_kinds[1] and room.mutant_share
         and verdict.try(check.refuse_coarse, s, room, 1, totals, room.mutant_share) ~= nil
end

-- Puts the mutant of an output in place. Returns whether it is another answer.
local function make(s, room, m)
  if m.kind == "half" and (coarse[s.task.accumulate] or {})[s.task.args[m.arg].dtype] then
    return false
  end
  must_run(s, room)
  local of, rows, cols = task.dims(s.task.args[m.arg], room.shape), 1, 1
  if #of > 1 then rows, cols = of[#of - 1], of[#of] end
  return room.buffers:mutate(m.arg, m.kind, room.inputs[1] or m.arg, rows, cols,
                             verdict.secret_seed()) > 0
end

local function try_made(s, room, distribution, open)
  for _, m in ipairs(open) do
    if not m.caught and m.kind ~= "stale" and make(s, room, m) then
      m.applied = m.applied or room.label
      m.caught = caught(s, room, distribution)
    end
  end
end

-- The answer to the inputs before, with the inputs and the expectation of now.
local function try_stale(s, room, distribution, open)
  must_run(s, room)
  local before = room.buffers:digest()
  inputs.fill(s, room, distribution)
  check.expect(s, room, 1)
  local wrong = caught(s, room, distribution)
  must_run(s, room)
  if room.buffers:digest() == before then return end
  for _, m in ipairs(open) do
    if m.kind == "stale" then m.applied, m.caught = m.applied or room.label, m.caught or wrong end
  end
end

local function in_room(s, room, distribution, open)
  inputs.fill(s, room, distribution)
  must_run(s, room)
  check.expect(s, room, 1)
  local bad, totals = verdict.try(check.compare, s, room, 1, distribution)
  if bad then return end                -- no right answer to change
  room.mutant_share = check.share(s, room, totals)
  try_made(s, room, distribution, open)
  if room.role ~= "timed" and #room.inputs > 0 then try_stale(s, room, distribution, open) end
end

-- Raises a configuration error with the mutant's name; else returns how many
-- were caught and which did not apply.
function mutants.refuse(s)
  local open, out = {}, { caught = 0, none = {} }
  for _, arg in ipairs(s.rooms[1].outputs) do
    for _, kind in ipairs(kinds) do open[#open + 1] = { kind = kind, arg = arg } end
  end
  for _, small in ipairs { true, false } do
    for _, distribution in ipairs(s.task.distributions or task.distributions) do
      for _, room in ipairs(rooms_for(s, small)) do
        if not lists.find(open, function(m) return not m.caught end) then break end
        in_room(s, room, distribution, open)
      end
    end
  end
  for _, m in ipairs(open) do
    local name = s.task.args[m.arg].name
    if not m.applied then
      out.none[#out.none + 1] = m.kind .. " " .. name
    elseif m.caught then
      out.caught = out.caught + 1
    else
      schema.raise("%s: refused: its checks take the mutant '%s' of output %s for right on every "
        .. "shape and distribution (%s, for one): make `tolerance` smaller or leave it out, say "
        .. "the right `reduction`, or add held_out shapes", s.task.file, m.kind, name, m.applied)
    end
  end
  return out
end

return mutants
