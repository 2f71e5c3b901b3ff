-- emit/rows.lua - what the CUDA schedules of row-wise tasks (softmax, norms, row
-- sums ..) share: their parameters and the kernel around their formulas, which is in rows.in.
--
-- A task gives, for each value of fuse_passes, a list of passes over a row:
--   from     "x" (default) or "y": what a pass reads; y was written before
--   columns  names of arrays of one row, read beside it
--   part     { name =, none = { initial values }, each = code that adds the
--            element e to `p`, merge = code that adds part b to a }
--   map      expression that replaces the element, kept where the row is held
--   value    expression to store for an element
--   finish   code after the pass; `p` is then the part of the whole row
--   last     code run by one thread of the row
--   apart    the parts of the threads stay apart: a second launch adds them up
-- Code says e for the element, $weight for that of a column array, p.v[i] for
-- fields of the part, EXP for the exponential.
local cuda  = require "kernelband.emit.cuda"
local emit  = require "kernelband.emit"
local lists = require "kernelband.base.lists"
local fill  = require("kernelband.base.template").fill

local rows = {}

-- The parameters, those of a task's choice first. `modes` are the values of
-- fuse_passes; options leave out what a task has no use for. There is no more to choose
-- than was found to matter: of 1880 points on an H200 (fp32 8192 x 4096 and 4096 x 8192;
-- layernorm, rmsnorm, reduce_sum) the best whose blocks loop over rows were 4 to 10 %
-- slower than the best, with rows kept in shared memory 8 to 18 %, with 4 rows a block 5
-- to 7 %, 4 floats a thread 9 to 22 %, loads that evict or widen lines 2 to 6 %; and a
-- search that has them to try finds less in the same number of pulls.
function rows.parameters(modes, options)
  options = options or {}
  local splits = options.splits
  local function when(option, parameter) return option and parameter or false end
  return lists.collect({
    { "tile_rows", { 1, 2 } },                  -- rows of a block
    when(splits, { "tile_cols", { 0, 512, 1024, 2048 } }),  -- columns of a block; 0: whole rows
    { "items", splits and { 0, 4, 8, 32 } or { 0, 8, 32 } },    -- floats a thread; 0: see settle
    { "vector", { 1, 4 } },                     -- floats of a load
    { "fuse_passes", modes },
    { "unroll", { 1, 4 } },                     -- vectors in flight
    { "resident", { 0, 1024 } },                -- threads that must fit an SM
    { "load_hint", { "plain", "readonly" } },
    when(not options.no_store, { "store_hint", { "plain", "stream" } }),
    when(splits, { "order", { "rc", "cr" } }),  -- of blocks: along a row, down the rows
    when(options.exp, { "exp", { "expf", "fast" } }),
    when(options.reduces, { "reduce", { "tree", "shuffle" } }),
    when(options.reduces, { "sweep", { "forward", "backward" } }),  -- of every other pass
  }, function(parameter) return parameter end)
end

-- The same kernel with what does not matter to it put back to the first value.
-- unroll is of rows that are not held. items 0 is 256 threads a block, but 16 floats a
-- thread where a row is held: a longer one gets more threads. What the timed shapes do
-- not need (rows too long, or of no whole vectors) is plain: every copy of an unrolled
-- loop is compiled.
local function settle(spec, point)
  local p = emit.copy(spec.parameters, point)
  local hold = p.fuse_passes == "hold"
  if p.sweep and (hold or #spec.modes[p.fuse_passes] == 1) then p.sweep = "forward" end
  if hold then
    p.unroll = 1
    if p.items == 0 then p.items = 16 end
  end
  if spec.modes[p.fuse_passes][1].apart then p.reduce = "tree" end
  if p.tile_cols == 0 then p.order = "rc" end
  return p
end

local function limit_of(p) return p.items > 0 and 1024 or 256 end

local function split(p) return p.tile_cols and p.tile_cols > 0 end

-- Threads of a row as the launch plan says it.
local function threads_of(p)
  local most = limit_of(p) // p.tile_rows
  if p.items == 0 then return tostring(most) end
  local cols = split(p) and ("min(cols, %d)"):format(p.tile_cols) or "cols"
  return ("min(%d, 32*cdiv(%s, %d))"):format(most, cols, 32 * p.items)
end

-- Passes --------------------------------------------------------------------

-- A task's code with the names it stands for; part: what p is called, so that several parts can be
-- in scope.
local function code_of(p, text, part)
  text = text:gsub("EXP%f[%W]", p.exp == "fast" and "__expf" or "expf")
  return (text:gsub("%$(%w+)", "%1_at.e[k]"):gsub("%f[%w]p%.v", (part or "p") .. ".v"))
end

-- A function that works on one row after the other: kind "held" or "looped".
local function emit_function(w, p, spec, kind, parameters, passes)
  local v = lists.with(p, { spec = spec, kind = kind, parameters = parameters, passes = passes,
    begin = split(p) and "begin + " or "", stop = split(p) and "stop" or "cols" })
  function v.piece(name) w.fill("rows." .. name, v) end
  -- The piece start, body or stop for a pass.
  function v.put_pass(piece, pass, keep)
    local part = pass.part and "p_" .. pass.part.name
    w.fill("rows." .. piece, { pass = pass, spec = spec, keep = keep, part = part,
      code = function(text)
        for line in code_of(p, text, part):gmatch "%s*([^\n]+)" do w.line(line) end
      end })
  end
  v.piece "function"
end

-- What passes use: columns, y again, stores; their parts, and the most fields that one has.
local function needs_of(passes)
  local out = { parts = lists.distinct(lists.collect(passes, "part")), fields = 0 }
  for _, pass in ipairs(passes) do
    out.columns = out.columns or pass.columns ~= nil
    out.again = out.again or pass.from == "y"
    out.stores = out.stores or pass.value ~= nil
    out.fields = math.max(out.fields, pass.part and #pass.part.none or 0)
  end
  return out
end

-- spec: name, params and args of the kernel (x first, y the output), modes,
-- parameters, longest: the mode of rows too long to hold, helpers: a function
-- that writes device functions, put: a store that is not y's.
function rows.emit(spec, point)
  local p = settle(spec, point)
  local hold = p.fuse_passes == "hold"
  local passes = spec.modes[p.fuse_passes]
  local looped = hold and spec.modes[spec.longest] or passes
  local apart = passes[1].apart
  if apart then
    spec = lists.with(spec, { params = spec.params .. ", float *__restrict__ partial",
                              args = spec.args .. ", partial", reduces = false })
  end
  local w, most = emit.writer(), limit_of(p)
  local needs = needs_of(table.move(looped, 1, #looped, #passes + 1, lists.with(passes)))
  emit.describe(w, spec.parameters, p)
  w.line("")
  needs.stores = needs.stores and not spec.put
  cuda.vectors(w, p, needs)
  if spec.helpers then spec.helpers(w, p) end
  -- The partial result of a thread: its fields, their neutral values, and how two are merged.
  for _, part in ipairs(needs.parts) do
    w.fill("cuda.part", lists.with(part, { merge = code_of(p, part.merge) }))
  end
  local room = (p.reduce == "tree" and most or 32 * p.tile_rows) * needs.fields
  -- across(part, rooms, turn): all threads of a row add up their parts, threads being the most a
  -- block has. Rooms, of `room` floats each, alternate.
  if spec.reduces then
    w.fill("cuda.across", { reduce = p.reduce, room = room, threads = most })
  end
  if hold then emit_function(w, p, spec, "held", "int V, int N", passes) end
  emit_function(w, p, spec, "looped", "int V, int U", looped)
  w.fill("rows.kernel", lists.with(p, { spec = spec, room = room, hold = hold,
    call = spec.args .. (spec.reduces and ", rooms" or ""),
    bounds = p.resident > 0 and ("%d, %d"):format(most, p.resident // most) or most }))
  if apart then w.fill("rows.rest", spec) end
  local plan = fill("emit/rows.plan", lists.with(p, { spec = spec, threads = threads_of(p),
    split = split(p), apart = apart }))
  return plan .. "\n" .. w.text()
end

-- What a schedule_cuda.lua returns.
function rows.schedule(spec)
  spec.reduces = lists.find(spec.parameters, function(p) return p[1] == "reduce" end) ~= nil
  return { parameters = spec.parameters, valid = function() return true end,
           emit = function(point) return rows.emit(spec, point) end }
end

return rows
