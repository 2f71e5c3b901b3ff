-- search/many.lua - kb.search_all: many searches over one loop, so that all of them
-- think while some are measured.
--
--   results = kb.search_all { { task = .., budget = .., .. }, { .. }, workers = 1 }
--
-- One result a search, in their order; a search that fails has { task, error } and
-- takes no other down. Options of the whole beside the list: workers (processors that
-- time kernels on the CPU at once, 1), quiet, progress.

local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local jobs     = require "kernelband.base.jobs"
local loop     = require "kernelband.base.loop"
local progress = require "kernelband.search.progress"
local schema   = require "kernelband.base.schema"
local search   = require "kernelband.search.search"
local setup    = require "kernelband.search.setup"
local state    = require "kernelband.search.state"

local many = {}

local collect, with = lists.collect, lists.with

local rules = schema.declare("kb.search_all", {
  { "workers", "integer", default = 1, at_least = 1, at_most = 64,
    doc = "searches that time kernels on the CPU at once" },
  setup.quiet, setup.progress,
})

local function failed(s, i, why)
  local text = tostring(why)
  io.stderr:write(("search %d, %s: %s\n"):format(i, s.task.name, text))
  return { task = s.task.name, error = text, state = "failed" }
end

-- Sets search i up. Kernels that share a processor are timed one after the other.
local function set_up(group, i, options)
  local lane = (i - 1) % #group.lanes + 1
  local s = setup.search(with(options, { lane = #group.lanes > 1 and lane or nil }), group.loop,
                         group.view.member(i))
  if s.task.language == "c" then
    local evaluate = s.evaluate
    function s.evaluate(...) return group.lanes[lane].use(evaluate, ...) end
  end
  return s
end

-- All up to their baselines: one after the other, as baselines are timed.
local function begin_all(group, list)
  local searches, results = {}, group.results
  for i, options in ipairs(list) do
    local ok, s = pcall(set_up, group, i, options)
    if not ok then
      for j, other in ipairs(searches) do
        if not results[j] then search.close(other, "another search could not be set up") end
      end
      error(s, 0)
    end
    searches[i] = s
    local why
    ok, why = xpcall(search.begin, schema.trace_own, s)
    if not ok then
      search.close(s, why)
      results[i] = failed(s, i, why)
    end
  end
  return searches
end

function many.run(options)
  schema.must_at_call(type(options) == "table" and type(options[1]) == "table", "kb.search_all",
    "expected a list of searches, each a table of kb.search's options")
  local named_options = with(options)
  for i = 1, #options do named_options[i] = nil end
  local opt = schema.options(named_options, rules, "kb.search_all")
  local group = { loop = loop.new(), lanes = {}, results = {},
                  view = progress.new { group = true, quiet = opt.quiet, mode = opt.progress } }
  for i = 1, math.min(opt.workers, #core.system.cpus()) do
    group.lanes[i] = jobs.places(group.loop, 1)
  end
  local searches = begin_all(group, options)
  local running = collect(searches, function(s, i)
    return not group.results[i] and group.loop:spawn(function()
      local ok, result = pcall(search.finish, s)
      group.results[i] = ok and result or failed(s, i, result)
    end)
  end)
  for _, one in ipairs(running) do
    while not one:done() do state.turn(group.loop) end
  end
  group.view.close()
  return group.results
end

return many
