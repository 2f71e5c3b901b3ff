-- trace/record.lua - what kernelband record does: evaluates points of a task's
-- schedule, one after another, into a recording that kb.trace reads.
--
-- A schedule may have millions of points, and points drawn evenly from it would
-- hardly ever be neighbours. So a growing grid is recorded: of every strategy's
-- combinations of values a seeded order, the baseline's first, and the products
-- of the first few of each; more are added where the share taken is least.
-- Whenever recording stops, what there is has neighbours in every direction.
--
-- Times are the baseline's first time over the paired speed-up, so that a drift
-- of the machine cancels. Lines are added to the file as they come, each batch a
-- gzip member of its own; a recording that was cut off goes on where it stopped.
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local own    = require "kernelband.trace.own"
local read   = require "kernelband.trace.read"
local schema = require "kernelband.base.schema"

local record = {}

local flush_rows, flush_ns = 32, 10 * 10 ^ 9 // 1
local most_combinations = 4096          -- of one strategy; beyond it they are sampled
local format_version = 1

-- The grid ----------------------------------------------------------------------

-- The strategies that own parameters of the schedule, and these as indices.
local function groups_of(parameters, strategies)
  local at, out, owned = {}, {}, {}
  for i, p in ipairs(parameters) do at[p[1]] = i end
  for _, s in ipairs(strategies) do
    local group = { name = s.name, target = s.target, axes = {}, at = {}, size = 1 }
    for _, move in ipairs(s.moves) do
      if at[move] and not owned[move] and #parameters[at[move]][2] > 1 then
        owned[move] = true
        group.axes[#group.axes + 1], group.at[#group.at + 1] = move, at[move]
        group.size = group.size * #parameters[at[move]][2]
      end
    end
    if #group.axes > 0 then out[#out + 1] = group end
  end
  return out
end

-- Combinations of a group as lists of positions, the baseline's first, the rest
-- in a seeded order.
local function combinations(group, parameters, rng)
  local list, seen, n = {}, {}, math.min(group.size, most_combinations)
  for i = 0, n - 1 do list[i + 1] = group.size > n and i > 0 and rng:below(group.size) or i end
  for i = n, 3, -1 do
    local j = 2 + rng:below(i - 1)
    list[i], list[j] = list[j], list[i]
  end
  local out = {}
  for _, code in ipairs(list) do
    if not seen[code] then
      seen[code] = true
      local values = {}
      for k, i in ipairs(group.at) do
        values[k] = code % #parameters[i][2] + 1
        code = code // #parameters[i][2]
      end
      out[#out + 1] = values
    end
  end
  return out
end

-- The group whose share of combinations taken is least, on a scale on which
-- large groups grow faster; nil when all are taken.
local function least_taken(groups)
  local best, least
  for _, g in ipairs(groups) do
    if g.taken < #g.list then
      local share = math.log(g.taken) / math.log(#g.list)
      if not least or share < least then best, least = g, share end
    end
  end
  return best
end

-- All products of the combinations taken, with `new` fixed to its latest.
local function products(groups, parameters, new)
  local base = {}
  for i in ipairs(parameters) do base[i] = 1 end
  local function walk(k, point)
    local g = groups[k]
    if not g then
      coroutine.yield(table.move(point, 1, #point, 1, {}))
      return
    end
    for c = g == new and g.taken or 1, g.taken do
      for j, i in ipairs(g.at) do point[i] = g.list[c][j] end
      walk(k + 1, point)
    end
    for _, i in ipairs(g.at) do point[i] = 1 end
  end
  return coroutine.wrap(function() walk(1, base) end)
end

-- An iterator over points in the order in which they are to be recorded.
function record.points(schedule, strategies, seed)
  local parameters = schedule.parameters
  local groups = groups_of(parameters, strategies)
  for _, g in ipairs(groups) do
    g.list = combinations(g, parameters, core.rng(seed):split("record " .. g.name))
    g.taken = 1
  end
  return coroutine.wrap(function()
    for point in products(groups, parameters) do coroutine.yield(point) end
    while true do
      local g = least_taken(groups)
      if not g then return end
      g.taken = g.taken + 1
      for point in products(groups, parameters, g) do coroutine.yield(point) end
    end
  end), groups
end

-- The file ----------------------------------------------------------------------

local function header(opt, groups, baseline_ns)
  local parameters, strategies, axes, start = opt.task.schedule.parameters, {}, {}, {}
  for i, p in ipairs(parameters) do axes[i], start[i] = p[1], p[2][1] end
  for i, g in ipairs(groups) do
    strategies[i] = { name = g.name, target = g.target, axes = g.axes }
  end
  return { kernelband = "trace", version = format_version, task = opt.task.name,
           language = opt.language, device = opt.device_name, axes = axes, seed = opt.seed,
           strategies = strategies, start = start, baseline_ns = baseline_ns }
end

-- Complete lines of a file that may end anywhere.
local function lines_of(file)
  local text = read.text(file, true)
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

local function same_recording(file, old, new)
  for _, key in ipairs { "version", "task", "language", "device", "seed" } do
    if old[key] ~= new[key] then
      schema.raise("%s: a recording of %s %s, not of %s; choose another file with -o", file,
                   key, tostring(math.tointeger(old[key]) or old[key]), tostring(new[key]))
    end
  end
  if json.encode(old.axes) ~= json.encode(new.axes)
     or json.encode(old.strategies) ~= json.encode(new.strategies) then
    schema.raise("%s: the schedule or the strategies changed since; choose another file with -o",
                 file)
  end
end

local function key_of(values)
  local out = {}
  for i, v in ipairs(values) do out[i] = tostring(math.tointeger(v) or v) end
  return table.concat(out, " ")
end

-- Opens the file for more rows: { done = keys of rows there, head, add, close }.
local function open(file, head)
  local lines, done, count = { json.encode(head) }, {}, 0
  if core.system.exists(file) then
    local old = lines_of(file)
    if not old[1] or not own.claims(old[1]) then
      schema.raise("%s: is there and no recording; choose another file with -o", file)
    end
    local before = read.json(file, old[1])
    same_recording(file, before, head)
    lines, head.baseline_ns = old, before.baseline_ns
    for i = 2, #old do
      done[key_of(read.json(("%s: line %d"):format(file, i), old[i]).c)] = true
      count = count + 1
    end
  end
  local function whole() return core.gzip(table.concat(lines, "\n") .. "\n") end
  local function save()
    local ok, why = core.system.write_file(file, whole())
    if not ok then schema.stop(why) end
  end
  save()
  local out = assert(io.open(file, "ab"))
  local waiting, last_ns = 0, core.system.now_ns()
  local self = { done = done, count = count }

  local function flush()
    if waiting == 0 then return end
    local text = table.concat(lines, "\n", #lines - waiting + 1) .. "\n"
    local ok, why = out:write(core.gzip(text))
    if ok then ok, why = out:flush() end
    if not ok then schema.stop(("%s: %s"):format(file, why)) end
    waiting, last_ns = 0, core.system.now_ns()
  end

  function self.add(row)
    lines[#lines + 1] = json.encode(row)
    waiting, self.count = waiting + 1, self.count + 1
    if waiting >= flush_rows or core.system.now_ns() - last_ns > flush_ns then flush() end
  end

  -- One member of all lines is smaller than many.
  function self.close()
    flush()
    out:close()
    save()
  end

  return self
end

-- Evaluating --------------------------------------------------------------------

-- One time a block: over the shapes, the geometric mean of candidate over
-- baseline, on the baseline's first time.
local function samples_of(evaluation, baseline_ns)
  local n, logs = math.huge, {}
  for _, shape in ipairs(evaluation.shapes or {}) do
    local samples = shape.samples or {}
    local mine = samples.candidate or shape.samples_ns
    local base = samples.baseline or shape.baseline_samples_ns
    if not mine or not base then return nil end
    n = math.min(n, #mine, #base)
    logs[#logs + 1] = { mine, base }
  end
  if #logs == 0 or n < 2 then return nil end
  local out = {}
  for i = 1, n do
    local sum = 0
    for _, pair in ipairs(logs) do sum = sum + math.log(pair[1][i] / pair[2][i]) end
    out[i] = baseline_ns * math.exp(sum / #logs)
  end
  return out
end

local function named(parameters, point)
  local p, values = {}, {}
  for i, parameter in ipairs(parameters) do
    values[i] = parameter[2][point[i]]
    p[parameter[1]] = values[i]
  end
  return p, values
end

-- The source of a point, nil when it is not valid or no new text.
local function source_of(schedule, p, texts)
  if not schedule.valid(p) then return nil end
  local source = schedule.emit(p)
  local hash = core.system.hash(source)
  if texts[hash] then return nil end
  texts[hash] = true
  return source
end

-- Points that are not in the file yet, with their values and sources, in their order.
local function missing(schedule, points, done)
  local texts = {}
  return function()
    for point in points do
      local p, values = named(schedule.parameters, point)
      local source = source_of(schedule, p, texts)
      if source and not done[key_of(values)] then return values, source end
    end
  end
end

-- Waits for the evaluation of that ticket; those of others are kept. nil: interrupted.
local function answer(evaluator, kept, ticket)
  while not kept[ticket] do
    local got, evaluation, code = evaluator.next(10 ^ 9 // 1)
    if got then
      kept[got] = evaluation
    elseif code ~= "ETIME" and code ~= "EINTR" then
      error(("the worker is lost: %s"):format(tostring(evaluation)), 0)
    end
    if not got and core.system.interrupts() > 0 then return nil end
  end
  local evaluation = kept[ticket]
  kept[ticket] = nil
  return evaluation
end

-- opt: task (of one language), language, device_name, strategies, seed, file,
-- limit or nil, deadline_ns or nil, evaluator, progress(count, row). Returns how
-- many rows the file holds and whether the whole schedule is in it. As many points are
-- on their way as the evaluator can compile ahead; rows keep the points' order.
function record.run(opt)
  local schedule, evaluator = opt.task.schedule, opt.evaluator
  local points, groups = record.points(schedule, opt.strategies, opt.seed)
  if #groups == 0 then
    schema.raise("%s: no strategy moves a parameter of its schedule", opt.task.name)
  end
  local first = evaluator.baseline()
  if not first then return 0, false end
  local head = header(opt, groups, first.time_ns)
  local file = open(opt.file, head)
  local next_point, kept, values_of = missing(schedule, points, file.done), {}, {}
  local submitted, taken, whole = 0, 0, false
  local ahead = evaluator.capacity and evaluator.capacity > 1 and 2 * evaluator.capacity or 1

  local function submit()
    if whole or core.system.interrupts() > 0
       or opt.limit and file.count + submitted - taken >= opt.limit
       or opt.deadline_ns and core.system.now_ns() > opt.deadline_ns then return false end
    local values, source = next_point()
    whole = not values
    if whole then return false end
    submitted = submitted + 1
    values_of[submitted] = values
    evaluator.submit(submitted, { source = source }, {})
    return true
  end

  while true do
    while submitted - taken < ahead and submit() do end
    if taken == submitted then break end
    local evaluation = answer(evaluator, kept, taken + 1)
    if not evaluation then
      whole = false
      break
    end
    taken = taken + 1
    if evaluation.verdict == "ok" then
      evaluation.time_ns = head.baseline_ns / evaluation.speedup
      evaluation.samples_ns = samples_of(evaluation, head.baseline_ns)
    end
    local row = own.row(values_of[taken], evaluation)
    values_of[taken] = nil
    file.add(row)
    opt.progress(file.count, row)
  end
  file.close()
  return file.count, whole
end

return record
