-- emit/rows.lua - what the CUDA schedules of row-wise tasks (softmax, norms, row
-- sums ..) share: their parameters and the kernel around their formulas.
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

-- What a pass does to one vector `v`, which starts at column c.
local function emit_body(w, p, pass, spec, keep)
  for _, name in ipairs(pass.columns or {}) do
    w.line("const vec<V> %s_at = column<V>(%s + c);", name, name)
  end
  w.line("#pragma unroll")
  w.line("for (int k = 0; k < V; k++) {")
  w.line("float e = v.e[k];")
  if pass.part then put_code(w, p, pass.part.each) end
  if pass.map and (pass.value or keep) then put_code(w, p, "e = " .. pass.map .. ";") end
  if pass.value then put_code(w, p, "e = " .. pass.value .. ";") end
  if pass.value or keep and pass.map then w.line("v.e[k] = e;") end
  w.line("}")
  if pass.value then
    w.line("if (live)")
    w.line("    %s;", spec.put or "store<V>(y + at + c, v)")
  end
end

local function pass_start(w, pass)
  if not pass.part then return end
  local name = pass.part.name
  w.line("part_%s p_%s = part_%s::none();", name, name, name)
end

local function renamed(pass)
  if not pass.part then return pass end
  local name = "p_" .. pass.part.name
  local function own(text) return text and (text:gsub("%f[%w]p%.v", name .. ".v")) end
  local part = emit.copy({ { "name" }, { "none" }, { "merge" } }, pass.part)
  part.each = own(pass.part.each)
  return { from = pass.from, columns = pass.columns, part = part, map = pass.map,
           value = pass.value, finish = own(pass.finish), last = own(pass.last),
           apart = pass.apart }
end

local function pass_end(w, p, pass)
  local name = pass.part and "p_" .. pass.part.name
  if pass.apart then
    w.line("if (live)")
    w.line("    partial[size_t(row) * blockDim.x + threadIdx.x] = %s.v[0];", name)
  elseif name then
    w.line("%s = across(%s, rooms, turn++);", name, name)
  end
  if pass.finish then put_code(w, p, pass.finish) end
  if pass.last then
    w.line("if (live && threadIdx.x == 0) {")
    put_code(w, p, pass.last)
    w.line("}")
  end
end

local function emit_looped(w, p, spec, passes)
  local stop = split(p) and "stop" or "cols"
  w.line("const int wide = blockDim.x * V, turn_floats = wide * U;")
  w.line("")
  for i, pass in ipairs(passes) do
    pass = renamed(pass)
    local from = pass.from or "x"
    local backward = p.sweep == "backward" and i % 2 == 0
    if i > 1 then w.line("") end
    pass_start(w, pass)
    if backward then
      w.line("for (int far = (cols - 1) / turn_floats * turn_floats; far >= 0; "
             .. "far -= turn_floats) {")
      w.line("const int near = far + int(threadIdx.x) * V;")
    else
      w.line("for (int near = %sthreadIdx.x * V; near < %s; near += turn_floats) {",
             split(p) and "begin + " or "", stop)
    end
    w.line("vec<V> got[U];")
    w.line("#pragma unroll")
    w.line("for (int u = 0; u < U; u++)")
    w.line("    if (near + u * wide < %s)", stop)
    w.line("        got[u] = %s<V>(%s + at + near + u * wide);",
           from == "y" and "again" or "load", from)
    w.line("#pragma unroll")
    w.line("for (int u = 0; u < U; u++) {")
    w.line("const int c = near + u * wide;")
    w.line("vec<V> v = got[u];")
    w.line("")
    w.line("if (c < %s) {", stop)
    emit_body(w, p, pass, spec)
    w.line("}")
    w.line("}")
    w.line("}")
    pass_end(w, p, pass)
  end
end

-- A loop over the vectors that a thread holds.
local function each_held(w, fn)
  w.line("#pragma unroll")
  w.line("for (int i = 0; i < N; i++) {")
  w.line("const int c = (i * blockDim.x + threadIdx.x) * V;")
  w.line("")
  w.line("if (c < cols) {")
  fn()
  w.line("}")
  w.line("}")
end

local function emit_held(w, p, spec, passes)
  w.line("vec<V> held[N];")
  w.line("")
  each_held(w, function() w.line("held[i] = load<V>(x + at + c);") end)
  for _, pass in ipairs(passes) do
    pass = renamed(pass)
    w.line("")
    pass_start(w, pass)
    if pass.part or pass.value or pass.map then
      each_held(w, function()
        w.line("vec<V> v = held[i];")
        w.line("")
        emit_body(w, p, pass, spec, true)
        if pass.map and not pass.value then w.line("held[i] = v;") end
      end)
    end
    pass_end(w, p, pass)
  end
end

-- Which row a thread is at work on, and of it which columns.
local function emit_place(w, p, spec)
  local tile = "blockIdx.x"
  if split(p) then
    local part = "blockIdx.x / tiles"
    if p.order == "rc" then
      tile, part = "blockIdx.x / parts", "blockIdx.x % parts"
      w.line("const int parts = (cols + %d) / %d;", p.tile_cols - 1, p.tile_cols)
    else
      tile = "blockIdx.x % tiles"
      w.line("const int tiles = (rows + %d) / %d;", p.tile_rows - 1, p.tile_rows)
    end
    w.line("const int begin = %s * %d;", part, p.tile_cols)
    w.line("const int stop = min(cols, begin + %d);", p.tile_cols)
  end
  if p.tile_rows > 1 then tile = ("%s * %d + threadIdx.y"):format(tile, p.tile_rows) end
  w.line("const int own = %s;", tile)
  w.line("const int row = min(own, rows - 1);")
  w.line("const bool live = own < rows;")
  w.line("[[maybe_unused]] const size_t at = size_t(row) * cols;")
  if spec.reduces then w.line("int turn = 0;") end
  w.line("")
end

local function function_head(w, spec, name, template)
  w.line("template <%s>", template)
  w.line("__device__ inline void %s(%s%s)", name, spec.params,
         spec.reduces and ", float *rooms" or "")
  w.line("{")
end

-- The largest number of fields a part of these passes has.
local function part_fields(passes)
  local most = 0
  for _, pass in ipairs(passes) do
    if pass.part then most = math.max(most, #pass.part.none) end
  end
  return most
end

local function emit_parts(w, p, lists)
  local seen = {}
  for _, passes in ipairs(lists) do
    for _, pass in ipairs(passes) do
      if pass.part and not seen[pass.part.name] then
        seen[pass.part.name] = true
        local part = emit.copy({ { "name" }, { "none" } }, pass.part)
        part.merge = code_of(p, pass.part.merge)
        cuda.part(w, part)
      end
    end
  end
end

local function features(passes)
  local f = {}
  for _, pass in ipairs(passes) do
    f.columns = f.columns or pass.columns ~= nil
    f.again = f.again or pass.from == "y"
    f.stores = f.stores or pass.value ~= nil
  end
  return f
end

local function emit_kernel(w, p, spec, room, hold)
  local call = (spec.args .. (spec.reduces and ", rooms" or ""))
  w.line("extern \"C\" __global__ void __launch_bounds__(%d%s)", limit_of(p),
         p.resident > 0 and (", %d"):format(p.resident // limit_of(p)) or "")
  w.line("%s(%s)", spec.name, spec.params)
  w.line("{")
  if spec.reduces then
    w.line("__shared__ float rooms[%d];", 2 * room)
    w.line("")
  end
  if hold then
    local fits = ("cols <= %d * int(blockDim.x)"):format(p.items)
    if p.vector > 1 then fits = ("%s && cols %% %d == 0"):format(fits, p.vector) end
    w.line("if (%s) {", fits)
    w.line("held_rows<%d, %d>(%s);", p.vector, p.items // p.vector, call)
    w.line("return;")
    w.line("}")
  end
  if p.vector > 1 then
    w.line("if (cols %% %d == 0)", p.vector)
    w.line("    looped_rows<%d, %d>(%s);", p.vector, p.unroll, call)
    w.line("else")
    w.line("    looped_rows<1, 1>(%s);", call)
  else
    w.line("looped_rows<1, %d>(%s);", p.unroll, call)
  end
  w.line("}")
end

-- Adds up what the threads of a row left in `partial`.
local function emit_rest(w, spec)
  w.line("")
  w.line("extern \"C\" __global__ void %s_rest(const float *partial, float *y, int parts)",
         spec.name)
  w.line("{")
  w.line("float sum = 0.0f;")
  w.line("")
  w.line("for (int i = threadIdx.x; i < parts; i += 32)")
  w.line("    sum += partial[size_t(blockIdx.x) * parts + i];")
  w.line("for (int step = 16; step > 0; step /= 2)")
  w.line("    sum += __shfl_xor_sync(0xffffffffu, sum, step);")
  w.line("if (threadIdx.x == 0)")
  w.line("    y[blockIdx.x] = sum;")
  w.line("}")
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
  local f, g = features(passes), features(looped)
  cuda.vectors(w, p, { columns = f.columns or g.columns, again = f.again or g.again,
                       stores = (f.stores or g.stores) and not spec.put })
  if spec.helpers then spec.helpers(w, p) end
  emit_parts(w, p, { passes, looped })
  local room = (p.reduce == "tree" and limit_of(p) or 32 * p.tile_rows)
               * math.max(part_fields(passes), part_fields(looped))
  if spec.reduces then
    cuda.across(w, p, room, limit_of(p))
  end
  if hold then
    function_head(w, spec, "held_rows", "int V, int N")
    emit_place(w, p, spec)
    emit_held(w, p, spec, passes)
    w.line("}")
    w.line("")
  end
  function_head(w, spec, "looped_rows", "int V, int U")
  emit_place(w, p, spec)
  emit_looped(w, p, spec, looped)
  w.line("}")
  w.line("")
  emit_kernel(w, p, spec, room, hold)
  if apart then emit_rest(w, spec) end
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
