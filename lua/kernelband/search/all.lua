-- search/all.lua - kb.search_all: many searches over one loop, so that all of them
-- think while some are measured.
--
--   results = kb.search_all { { task = .., budget = .., .. }, { .. }, workers = 1 }
--
-- One result a search, in their order; a search that fails has { task, error } and
-- takes no other down. Options of the whole beside the list: workers (processors that
-- time kernels on the CPU at once, 1), quiet, progress.

local core     = require "kernelband.core"
local loop     = require "kernelband.base.loop"
local progress = require "kernelband.search.progress"
local schema   = require "kernelband.base.schema"
local search   = require "kernelband.search"
local setup    = require "kernelband.search.setup"
local waiting  = require "kernelband.search.waiting"

local all = {}

local TICK_NS = 200 * 10 ^ 6 // 1

local rules = schema.declare("kb.search_all", {
  { "workers", "integer", default = 1, at_least = 1, at_most = 64,
    doc = "searches that time kernels on the CPU at once" },
  { "quiet", "boolean", optional = true, doc = "true: print nothing" },
  { "progress", "string", optional = true, one_of = { "auto", "always", "never", "json" },
    doc = "how progress is shown; else as kernelband run --progress says" },
})

-- Kernels that share a processor are timed one after the other.
local function take_turns(S, lane)
  local evaluate = S.evaluate

  local function leave()
    lane.busy = false
    local next_one = table.remove(lane.queue, 1)
    if next_one then next_one:resolve(true) end
  end

  function S.evaluate(candidate, how)
    while lane.busy do
      local p = S.loop:promise()
      table.insert(lane.queue, p)
      local ok, why, code = p:await()
      if not ok then
        for i, other in ipairs(lane.queue) do
          if other == p then table.remove(lane.queue, i) end
        end
        return nil, why, code
      end
    end
    lane.busy = true
    local r = table.pack(pcall(evaluate, candidate, how))
    leave()
    if not r[1] then error(r[2], 0) end
    return table.unpack(r, 2, r.n)
  end
end

local function named(view, name)
  local p = {}
  for key, fn in pairs(view) do p[key] = fn end
  function p.note(text) view.note(name .. ": " .. text) end
  return p
end

local function failed(S, i, why)
  local text = tostring(why)
  io.stderr:write(("search %d%s: %s\n"):format(i, S and ", " .. S.task.name or "", text))
  return { task = S and S.task.name, error = text, state = "failed" }
end

-- Sets search i up to its baseline: one after the other, as baselines are timed.
local function begin(at, i, options)
  local lane = at.lanes[(i - 1) % #at.lanes + 1]
  local own = {}
  for k, v in pairs(options) do own[k] = v end
  local on_cpu = own.device == nil or own.device == "auto" or own.device == "cpu"
  if on_cpu and #at.lanes > 1 then own.lane = lane.number end
  local S = setup.search(own, at.loop, at.view[i])
  S.progress = named(S.progress, S.task.name)
  if S.on_cpu then take_turns(S, lane) end
  for _, poll in ipairs(S.polls) do table.insert(at.polls, poll) end
  return S
end

local function close(S, why)
  if S.closed then return end
  S.closed = true
  S.evaluator.close()
  S.journal.fail("failed", tostring(why))
  S.journal.close()
end

local function start_all(at, list)
  local searches = {}
  for i, options in ipairs(list) do
    local ok, S = pcall(begin, at, i, options)
    if not ok then
      for _, other in ipairs(searches) do close(other, "another search could not be set up") end
      error(S, 0)
    end
    searches[i] = S
    local why
    ok, why = xpcall(search.begin, schema.trace_own, S)
    if not ok then
      close(S, why)
      at.results[i] = failed(S, i, why)
    end
  end
  return searches
end

function all.run(options)
  if type(options) ~= "table" or type(options[1]) ~= "table" then
    schema.raise_at_call("kb.search_all", "expected a list of searches, each a table of "
      .. "kb.search's options")
  end
  local list, named_options = {}, {}
  for k, v in pairs(options) do
    if math.type(k) == "integer" then list[k] = v else named_options[k] = v end
  end
  local opt = schema.options(named_options, rules, "kb.search_all")
  local at = { loop = loop.new(), polls = {}, lanes = {}, results = {} }
  for i = 1, math.min(opt.workers, core.system.cpu_count()) do
    at.lanes[i] = { number = i, queue = {} }
  end
  at.view = progress.new { group = true, quiet = opt.quiet, mode = opt.progress }
  local searches, left = start_all(at, list), 0
  for i, S in ipairs(searches) do
    if not at.results[i] then
      left = left + 1
      at.loop:spawn(function()
        local ok, result = pcall(search.finish, S)
        at.results[i] = ok and result or failed(S, i, result)
        left = left - 1
      end)
    end
  end
  while left > 0 do waiting.turn(at, TICK_NS) end
  at.view.close()
  return at.results
end

return all
