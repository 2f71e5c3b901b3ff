-- trace.lua - kb.trace: a recorded tuning space as a task that needs no machine.
-- The parent is a recorded configuration; a strategy is a group of axes.
--
-- Applying a strategy draws evenly among the recorded configurations, valid or
-- failed, that differ from the parent in its axes and in nothing else. What was
-- found before may be drawn again: the engine then knows the source, and the
-- pull is spent for nothing, as when a model answers with a kernel already in
-- the pool. A recorded failure is a failed child. A strategy without a move
-- from a parent is closed for it.
--
-- A time is what the file gives as the configuration's time (the truth, which
-- share_of_optimum and confirmations use); a measured one is drawn from its raw
-- samples where there are any. Chance depends on the search's seed and on the
-- configuration alone, so the order of evaluations does not matter.
local core   = require "kernelband.core"
local baselines = require "kernelband.trace.baselines"
local path   = require "kernelband.path"
local read   = require "kernelband.trace.read"
local schema = require "kernelband.schema"
local space  = require "kernelband.trace.space"
local walk   = require "kernelband.trace.walk"

local trace = {}

local rules = {
  { "strategies", "table", optional = true,
    doc = "name = { axes }: groups of axes; else each axis is a strategy" },
  { "start", { "table", "string" }, optional = true,
    doc = "{ axis = value, ... } or \"baseline\"; else drawn by the search's seed" },
  { "name", "string", optional = true },
  { "noise", "boolean", default = true, doc = "draw measured times from recorded samples" },
}

-- Evidence --------------------------------------------------------------------

local missing9, missing6, missing5 = {}, {}, {}
for i = 1, 9 do missing9[i] = "missing" end
for i = 1, 6 do missing6[i] = i == 1 and "measured" or "missing" end
for i = 1, 5 do missing5[i] = i == 1 and "measured" or "missing" end
local zero9 = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }
local no_h = { sm = "missing", dram = "missing", l2 = "missing" }

-- Block sizes are known from axes that say so, counters or not.
local function block_of(W)
  local x, y
  for _, name in ipairs(W.axes) do
    local lower = name:lower()
    if lower:find "block" and lower:find "x$" then x = x or name end
    if lower:find "block" and lower:find "y$" then y = y or name end
  end
  return x, y
end

-- What a row says of itself where the file has no counters.
local function bare(row, x, y)
  local bx, by = row.params[x or ""], row.params[y or ""]
  local rho, rho_kind = { 0, 0, 0, 0, 0, 0 }, table.move(missing6, 1, 6, 1, {})
  local signature, kind = { 1, 0, 0, 0, 0 }, table.move(missing5, 1, 5, 1, {})
  if type(bx) == "number" then
    if type(by) ~= "number" then by = 1 end
    rho[4], rho_kind[4], rho[5], rho_kind[5] = bx, "derived", by, "derived"
    signature[4], kind[4] = math.min(1, bx * by / 1024), "derived"
  end
  return { rho = rho, rho_kind = rho_kind, signature = signature, signature_kind = kind }
end

local function complete(W)
  local x, y = block_of(W)
  for _, i in ipairs(W.ok) do
    local row = W.rows[i]
    local e, plain = row.evidence or {}, bare(row, x, y)
    row.evidence = {
      phi = e.phi or zero9, phi_kind = e.phi_kind or missing9,
      rho = e.rho or plain.rho, rho_kind = e.rho_kind or plain.rho_kind,
      signature = e.signature or plain.signature,
      signature_kind = e.signature_kind or plain.signature_kind,
      h = e.h or {}, h_kind = e.h_kind or no_h,
    }
    local samples = row.samples_ns
    if samples and #samples > 1 then
      local middle = core.stats.median(samples)
      row.spread = math.min(1, 1.4826 * core.stats.mad(samples) / middle)
    else
      row.samples_ns, row.spread = nil, 0
    end
  end
end

-- The start -------------------------------------------------------------------

local function given_start(W, read_space, start)
  if start == "baseline" then
    local values = read_space.start
    if type(values) ~= "table" then
      schema.raise_at_call("kb.trace", "%s does not say which row is the baseline", W.file)
    end
    start = {}
    for a, name in ipairs(W.axes) do start[name] = values[a] end
  elseif type(start) == "string" then
    schema.raise_at_call("kb.trace", "start must be { axis = value, ... } or \"baseline\", "
                         .. "got %s", schema.show(start))
  end
  for _, name in ipairs(read.keys(start)) do
    if start[name] == nil or W.rows[1].params[name] == nil then
      schema.raise_at_call("kb.trace", "start: %s has no axis '%s'%s", W.file, name,
                           schema.hint(name, W.axes))
    end
  end
  for i, row in ipairs(W.rows) do
    local same = true
    for _, name in ipairs(W.moving) do same = same and row.params[name] == start[name] end
    if same and row.verdict == "ok" then return i end
    if same then
      schema.raise_at_call("kb.trace", "start: this configuration is recorded as %s",
                           row.verdict)
    end
  end
  schema.raise_at_call("kb.trace", "start: no such configuration in %s; it must name %s",
                       W.file, table.concat(W.moving, ", "))
end

-- The environment ---------------------------------------------------------------

local function new_generator(W, start)
  local index = {}
  for s, strategy in ipairs(W.strategies) do index[strategy.name] = s end
  local generator = { name = "trace", first = W.rows[start].params, seen = function() end }

  function generator.open(parent, strategy)
    return #W.class[index[strategy.name]][W.row_of[parent.source]] > 1
  end

  function generator.propose(parent, strategy, rng)
    local child = walk.draw(W, W.row_of[parent.source], index[strategy.name], rng)
    if not child then return nil, "no recorded neighbour" end
    local row = W.rows[child]
    return { source = row.source, params = row.params, origin = "trace" }
  end

  return generator
end

local function new_evaluator(W, seed, start)
  local queue, head, tail = {}, 1, 0
  local first_ns, root = W.rows[start].time_ns, walk.noise_root(W, seed)
  local evaluator = { capacity = 64, close = function() end }

  function evaluator.baseline() return walk.evaluation(W, start, first_ns) end

  function evaluator.submit(ticket, candidate, how)
    tail = tail + 1
    queue[tail] = { ticket, candidate, how }
  end

  function evaluator.next()
    local job = queue[head]
    if not job then return nil, "nothing was submitted", "ETIME" end
    queue[head], head = nil, head + 1
    local i = W.row_of[job[2].source]
    if not i then
      return job[1], { verdict = "wrong", reason = "no such configuration was recorded" }
    end
    local truth = job[3] and job[3].confirm
    return job[1], walk.evaluation(W, i, first_ns, not truth and root or nil)
  end

  return evaluator
end

local function strategies_of(W)
  local out = {}
  for i, s in ipairs(W.strategies) do
    out[i] = { name = s.name, target = s.target, prompt = "", moves = s.axes,
               summary = "moves " .. table.concat(s.axes, ", "), path = W.file }
  end
  return out
end

-- kb.trace(FILE, options) -> a task for kb.search.
function trace.new(file, options)
  if type(file) ~= "string" then
    schema.raise_at_call("kb.trace", "expected the path of a file, got %s", schema.show(file))
  end
  options = schema.options(options, rules, "kb.trace")
  local recorded = read.file(file)
  local W = space.compile(recorded, options.strategies, "kb.trace")
  complete(W)
  W.noise = options.noise
  if options.start then W.start = given_start(W, recorded, options.start) end
  local strategies = strategies_of(W)
  W.name = options.name or path.base(file):gsub("%.gz$", ""):gsub("%.jsonl?$", "")
  return {
    name = W.name, file = W.file, device = W.device, axes = W.axes, world = W,
    strategies = strategies, rows = #W.rows, valid = #W.ok, optimum_ns = W.optimum_ns,
    simulate = true,
    oracle = function(o) return baselines.oracle(W, o) end,
    sample = function(o) return baselines.sample(W, o) end,
    arm = function(o) return baselines.arm(W, o) end,
    -- How near a kernel comes to the best recorded time, 0 to 1.
    share_of_optimum = function(kernel)
      return W.optimum_ns / W.rows[W.row_of[kernel.source]].time_ns
    end,
    environment = function(how)
      local seed = how and how.seed or 1
      local start = walk.start_of(W, seed)
      return { strategies = strategies, generator = new_generator(W, start),
               evaluator = new_evaluator(W, seed, start), source = W.rows[start].source }
    end,
  }
end

return trace
