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
local collect = require("kernelband.base.lists").collect
local cuda = require "kernelband.emit.cuda"
local emit = require "kernelband.emit"

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
  local out = {
    { "tile_rows", { 1, 2 } },                  -- rows of a block
    { "items", { 0, 8, 32 } },                  -- floats of a row a thread; 0: see settle
    { "vector", { 1, 4 } },                     -- floats of a load
    { "fuse_passes", modes },
    { "unroll", { 1, 4 } },                     -- vectors in flight
    { "resident", { 0, 1024 } },                -- threads that must fit an SM
    { "load_hint", { "plain", "readonly" } },
  }
  if not options.no_store then out[#out + 1] = { "store_hint", { "plain", "stream" } } end
  if options.splits then             -- columns of a block; 0: whole rows
    out[2][2] = { 0, 4, 8, 32 }
    table.insert(out, 2, { "tile_cols", { 0, 512, 1024, 2048 } })
    out[#out + 1] = { "order", { "rc", "cr" } }     -- of blocks: along a row, down the rows
  end
  if options.exp then out[#out + 1] = { "exp", { "expf", "fast" } } end
  if options.reduces then
    out[#out + 1] = { "reduce", { "tree", "shuffle" } }
    out[#out + 1] = { "sweep", { "forward", "backward" } }  -- of every other pass
  end
  return out
end

-- The same kernel with what does not matter to it put back to the first value.
-- unroll is of rows that are not held. items 0 is 256 threads a block, but 16 floats a
-- thread where a row is held: a longer one gets more threads. What the timed shapes do
-- not need (rows too long, or of no whole vectors) is plain: every copy of an unrolled
-- loop is compiled.
local function settle(spec, point)
  local p = emit.copy(spec.parameters, point)
  if p.fuse_passes == "hold" then
    p.unroll = 1
    if p.sweep then p.sweep = "forward" end
    if p.items == 0 then p.items = 16 end
  elseif p.sweep and #spec.modes[p.fuse_passes] == 1 then
    p.sweep = "forward"
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

local function code_of(p, text)
  text = text:gsub("EXP%f[%W]", p.exp == "fast" and "__expf" or "expf")
  return (text:gsub("%$(%w+)", "%1_at.e[k]"))
end

local function put_code(w, p, text)
  for line in text:gmatch "[^\n]+" do
    w.line((code_of(p, line):gsub("^%s+", "")))
  end
end

-- put(piece, pass, keep) writes the piece start, body or stop of rows.in for a pass.
local function pass_writer(w, p, spec)
  return function(piece, pass, keep)
    w.fill("rows." .. piece, { pass = pass, spec = spec, keep = keep,
      part = pass.part and "p_" .. pass.part.name,
      code = function(text) put_code(w, p, text) end })
  end
end

-- The pass with its part `p` renamed, so that several parts can be in scope.
local function renamed(pass)
  if not pass.part then return pass end
  local name = "p_" .. pass.part.name
  local function own(text) return text and (text:gsub("%f[%w]p%.v", name .. ".v")) end
  local part = setmetatable({ each = own(pass.part.each) }, { __index = pass.part })
  return setmetatable({ part = part, finish = own(pass.finish), last = own(pass.last) },
                      { __index = pass })
end

-- A function that works on one row after the other: kind "held" or "looped".
local function emit_function(w, p, spec, kind, parameters, passes)
  local list = collect(passes, renamed)
  w.fill("rows.function", { spec = spec, name = kind .. "_rows", parameters = parameters,
    place = function()
      w.fill("rows.place", { spec = spec, tile_rows = p.tile_rows, tile_cols = p.tile_cols,
                             order = p.order })
    end,
    body = function()
      w.fill("rows." .. kind, { passes = list, sweep = p.sweep, put_pass = pass_writer(w, p, spec),
        begin = split(p) and "begin + " or "", stop = split(p) and "stop" or "cols" })
    end })
end

-- What passes use: columns, y again, stores; their parts, and the most fields that one has.
local function needs_of(...)
  local out, seen = { parts = {}, fields = 0 }, {}
  for _, passes in ipairs { ... } do
    for _, pass in ipairs(passes) do
      local part = pass.part
      out.columns = out.columns or pass.columns ~= nil
      out.again = out.again or pass.from == "y"
      out.stores = out.stores or pass.value ~= nil
      out.fields = math.max(out.fields, part and #part.none or 0)
      if part and not seen[part.name] then
        seen[part.name], out.parts[#out.parts + 1] = true, part
      end
    end
  end
  return out
end

local function emit_kernel(w, p, spec, room, hold)
  local most = limit_of(p)
  w.fill("rows.kernel", { spec = spec, room = room, hold = hold, items = p.items,
    vector = p.vector, unroll = p.unroll, call = spec.args .. (spec.reduces and ", rooms" or ""),
    bounds = p.resident > 0 and ("%d, %d"):format(most, p.resident // most) or most })
end

local function with_partial(spec)
  return { name = spec.name, params = spec.params .. ", float *__restrict__ partial",
           args = spec.args .. ", partial", modes = spec.modes,
           parameters = spec.parameters }
end

local function plan_of(spec, p, apart)
  local threads = threads_of(p)
  local grid = ("cdiv(rows, %d)"):format(p.tile_rows)
  if split(p) then grid = ("%s*cdiv(cols, %d)"):format(grid, p.tile_cols) end
  local plan = ("// kb: launch %s grid=(%s) block=(%s, %d) args=(%s)\n"):format(
    spec.name, grid, threads, p.tile_rows, spec.args)
  if not apart then return plan end
  return "// kb: scratch partial f32[rows*1024]\n" .. plan
         .. ("// kb: launch %s_rest grid=(rows) block=(32) args=(partial, y, %s)\n")
            :format(spec.name, threads)
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
  if apart then spec = with_partial(spec) end
  local w = emit.writer()
  emit.describe(w, spec.parameters, p)
  w.line("")
  local needs = needs_of(passes, looped)
  cuda.vectors(w, p, { columns = needs.columns, again = needs.again,
                       stores = needs.stores and not spec.put })
  if spec.helpers then spec.helpers(w, p) end
  for _, part in ipairs(needs.parts) do
    cuda.part(w, { name = part.name, none = part.none, merge = code_of(p, part.merge) })
  end
  local room = (p.reduce == "tree" and limit_of(p) or 32 * p.tile_rows) * needs.fields
  if spec.reduces then cuda.across(w, p, room, limit_of(p)) end
  if hold then emit_function(w, p, spec, "held", "int V, int N", passes) end
  emit_function(w, p, spec, "looped", "int V, int U", looped)
  emit_kernel(w, p, spec, room, hold)
  if apart then w.fill("rows.rest", { name = spec.name }) end
  return plan_of(spec, p, apart) .. w.text()
end

-- What a schedule_cuda.lua returns.
function rows.schedule(spec)
  for _, parameter in ipairs(spec.parameters) do
    if parameter[1] == "reduce" then spec.reduces = true end
  end
  return { parameters = spec.parameters, valid = function() return true end,
           emit = function(point) return rows.emit(spec, point) end }
end

return rows
