-- trace/init.lua - kb.trace: a recorded tuning space as a task that needs no machine.
-- The parent is a recorded configuration; a strategy is a group of axes.
--
-- Applying a strategy draws evenly among the recorded configurations, valid or
-- failed, that differ from the parent in its axes and in nothing else; with draws
-- above 1 the policy may prefer one of so many, with draws = "all" any of them, as
-- with the built-in generator. With anew = true one more strategy owns every axis.
-- What was found before may be drawn again: the engine then knows the source, and the
-- pull is spent for nothing, as when a model answers with a kernel already in
-- the pool. What is under way is not drawn. A recorded failure is a failed child. A
-- strategy without a move from a parent is closed for it.
--
-- A time is what the file gives as the configuration's time (the truth, which
-- share_of_optimum and confirmations use); a measured one is drawn from its raw
-- samples where there are any. Chance depends on the search's seed and on the
-- configuration alone, so the order of evaluations does not matter.
local lists     = require "kernelband.base.lists"
local baselines = require "kernelband.trace.baselines"
local documents = require "kernelband.trace.documents"
local path   = require "kernelband.base.path"
local read   = require "kernelband.trace.read"
local schema = require "kernelband.base.schema"
local space  = require "kernelband.trace.space"
local walk   = require "kernelband.trace.walk"

local trace = {}

local rules = schema.declare("kb.trace", {
  { "strategies", "table", optional = true,
    doc = "name = { axes }: groups of axes; else each axis is a strategy" },
  { "start", { "table", "string" }, optional = true, check = function(v)
    return type(v) == "table" or v == "baseline", "{ axis = value, ... } or \"baseline\""
  end,
    doc = "{ axis = value, ... } or \"baseline\"; else drawn by the search's seed" },
  { "name", "string", optional = true, doc = "the task's name; else from the file" },
  { "counters", "boolean", default = true, doc = "false: forget phi, rho, h and signature" },
  { "noise", "boolean", default = true, doc = "draw measured times from recorded samples" },
  { "draws", { "integer", "string" }, default = 1,
    check = function(v) return v == "all" or type(v) == "number" and v >= 1 and v <= 64,
      "an integer 1..64 or \"all\"" end,
    doc = "children drawn for a pull, of which the policy may prefer one" },
  { "anew", "boolean", default = false, doc = "a strategy more, which owns every axis" },
})

-- The start -------------------------------------------------------------------

-- The row of a start as the user gave it; baseline: the file's own, or nil.
local function given_start(W, baseline, start)
  local at, wanted = lists.places(W.axes), {}
  if start == "baseline" then
    start = schema.must_at_call(baseline, "kb.trace", "%s does not say which row is the baseline",
                                W.file)
  end
  for _, name in ipairs(lists.keys(start)) do
    schema.must_at_call(at[name], "kb.trace", "start: %s has no axis '%s'%s", W.file, name,
                        schema.hint(name, W.axes))
    wanted[name] = read.plain(start[name])
  end
  for i = 1, W.n do
    local function differs(name) return W.values[at[name]][i] ~= wanted[name] end
    if not lists.find(W.moving, differs) then
      schema.must_at_call(W.verdict[i] == "ok", "kb.trace",
                          "start: this configuration is recorded as %s", W.verdict[i])
      return i
    end
  end
  schema.raise_at_call("kb.trace", "start: no such configuration in %s; it must name %s",
                       W.file, table.concat(W.moving, ", "))
end

-- The environment ---------------------------------------------------------------

local function new_generator(W, start)
  local known, pending = {}, {}         -- strategies by name; rows under way
  for _, s in ipairs(W.strategies) do known[s.name] = s end
  local generator = { name = "trace", first = space.params(W, start), world = W,
                      seen = function() end }
  if W.draws > 1 then generator.identity = ("trace, draws %s"):format(W.draws) end

  function generator.open(parent, strategy)
    return walk.open(W.row_of[parent.source], known[strategy.name], pending)
  end

  -- A candidate under way is drawn no second time until it has landed.
  function generator.pending(candidate, is)
    pending[W.row_of[candidate.source] or 0] = is or nil
  end

  -- What a draw may meet, the parent itself among it; a known one may come again.
  function generator.moves(parent, strategy)
    return walk.moves(W, W.row_of[parent.source], known[strategy.name])
  end

  function generator.propose(parent, strategy, rng, about)
    local child = walk.propose(W, W.row_of[parent.source], known[strategy.name], rng,
                               about and about.prefer, pending)
    if not child then return nil, "no recorded neighbour" end
    return { source = W.source[child], params = space.params(W, child), origin = "trace" }
  end

  return generator
end

local function new_evaluator(W, seed, start)
  local first_ns, evaluator = W.time_ns[start], { close = function() end }

  function evaluator.baseline() return walk.evaluation(W, start, first_ns) end

  function evaluator.evaluate(candidate, how)
    local i = W.row_of[candidate.source]
    if not i then return { verdict = "wrong", reason = "no such configuration was recorded" } end
    return walk.evaluation(W, i, first_ns, not (how and how.confirm) and seed or nil)
  end

  return evaluator
end

-- kb.trace(FILE, options) -> a task for kb.search.
function trace.new(file, options)
  schema.must_at_call(type(file) == "string", "kb.trace", "expected the path of a file, got %s",
                      schema.show(file))
  options = schema.options(options, rules, "kb.trace")
  local recorded = documents.space(file)
  for _, row in ipairs(not options.counters and recorded.rows or {}) do row.evidence = nil end
  local W = space.compile(recorded, options)
  if options.start then W.start = given_start(W, recorded.start, options.start) end
  local strategies = lists.collect(W.strategies, function(s)
    return { name = s.name, target = s.target, prompt = "", moves = s.axes,
             summary = "moves " .. table.concat(s.axes, ", "), path = W.file }
  end)
  local name = path.base((file:gsub("/run%.db$", ""))):gsub("%.gz$", ""):gsub("%.jsonl?$", "")
  return {
    name = options.name or name, file = W.file, device = W.device, axes = W.axes, world = W,
    strategies = strategies, rows = W.n, valid = #W.ok, optimum_ns = W.optimum_ns,
    oracle = function(o) return baselines.oracle(W, o) end,
    sample = function(o) return baselines.sample(W, o) end,
    arm = function(o) return baselines.arm(W, o) end,
    -- How near a kernel comes to the best recorded time, 0 to 1.
    share_of_optimum = function(kernel)
      return W.optimum_ns / W.time_ns[W.row_of[kernel.source]]
    end,
    environment = function(how)
      local seed = how and how.seed or 1
      local start = walk.start_of(W, seed)
      return { strategies = strategies, generator = new_generator(W, start),
               evaluator = new_evaluator(W, seed, start), source = W.source[start] }
    end,
  }
end

return trace
