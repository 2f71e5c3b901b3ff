-- How a transposition may be written for a GPU.
--
-- tile_rows x tile_cols elements pass through shared memory, so that both sides
-- are walked along rows; 0: straight from x to y. A block takes fuse_rows tiles, one
-- below the other, or fuse_rows elements a thread without tiles; `unroll` vectors of
-- a thread are in flight. Of a tile's columns in shared memory a padding or an
-- exclusive or with the row keeps them in different banks.
local cuda = require "kernelband.emit.cuda"
local emit = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 0, 64, 32 } },
  { "tile_cols", { 0, 64, 32 } },
  { "threads", { 256, 128, 512 } },
  { "vector", { 1, 4, 2 } },
  { "fuse_rows", { 1, 2, 4 } },
  { "unroll", { 1, 2, 4, 8 } },
  { "resident", { 0, 1024, 2048 } },                -- threads that must fit an SM
  { "order", { "rc", "cr" } },                      -- rc: tiles, or threads, along columns
  { "swizzle_blocks", { 0, 2, 8 } },                -- rows of tiles taken together
  { "persistent", { 0, 4 } },                       -- blocks an SM; 0: one a tile
  { "pad", { 0, 1, 2 } },
  { "swizzle", { 0, 1 } },
  { "load_hint", { "plain", "readonly", "stream" } },
  { "store_hint", { "plain", "stream" } },
}

local function staged(p) return p.tile_rows > 0 and p.tile_cols > 0 end

-- Vectors of a tile that a thread moves.
local function vectors_of(p)
  return p.tile_rows * p.tile_cols / (p.vector * p.threads)
end

local function valid(p)
  if not staged(p) then return true end
  return vectors_of(p) >= 1
end

-- The same kernel with what does not matter to it put back to the first value.
local function settle(point)
  local p = emit.copy(parameters, point)
  if staged(p) then
    p.unroll = math.min(p.unroll, vectors_of(p) // 1)
    if p.swizzle == 1 then p.pad = 0 end
  else
    p.tile_rows, p.tile_cols, p.threads, p.vector, p.persistent = 0, 0, 256, 1, 0
    p.unroll = math.min(p.unroll, p.fuse_rows)
    p.pad, p.swizzle, p.swizzle_blocks = 0, 0, 0
  end
  return p
end

local params = "(const float *__restrict__ x, float *__restrict__ y, int rows, int cols)"

local function bounds(p)
  local blocks = p.resident // p.threads
  return blocks > 0 and ("%d, %d"):format(p.threads, blocks) or tostring(p.threads)
end

-- A thread's loads, p.unroll at a time, then its stores.
local function in_turns(w, p, count, take, give, kind)
  w.line("#pragma unroll")
  w.line("for (int first = 0; first < %d; first += %d) {", count, p.unroll)
  w.line("%s got[%d];", kind, p.unroll)
  w.line("")
  w.line("#pragma unroll")
  w.line("for (int u = 0; u < %d; u++) {", p.unroll)
  take()
  w.line("}")
  w.line("#pragma unroll")
  w.line("for (int u = 0; u < %d; u++) {", p.unroll)
  give()
  w.line("}")
  w.line("}")
end

local function emit_direct(w, p)
  local fast, slow = "cols", "rows"
  if p.order == "cr" then fast, slow = slow, fast end
  w.line("const int wide = (%s + 31) / 32;", fast)
  w.line("const int fast = blockIdx.x % wide * 32 + threadIdx.x;")
  w.line("const int slow = (blockIdx.x / wide * 8 + threadIdx.y) * %d;", p.fuse_rows)
  w.line("")
  w.line("if (fast >= %s)", fast)
  w.line("    return;")
  local r, c = "slow + first + u", "fast"
  if p.order == "cr" then r, c = c, r end
  local from, to = ("x + size_t(%s) * cols + %s"):format(r, c),
                   ("y + size_t(%s) * rows + %s"):format(c, r)
  in_turns(w, p, p.fuse_rows, function()
    w.line("if (slow + first + u < %s)", slow)
    w.line("    got[u] = load<1>(%s);", from)
  end, function()
    w.line("if (slow + first + u < %s)", slow)
    w.line("    store<1>(%s, got[u]);", to)
  end, "vec<1>")
end

local function cell(p, r, c)
  if p.swizzle == 1 then return ("tile[%s][(%s) ^ (%s & 31)]"):format(r, c, r) end
  return ("tile[%s][%s]"):format(r, c)
end

local function emit_whole_tile(w, p)
  local function place(per_row, slow, fast)
    w.line("const int at = (first + u) * %d + threadIdx.x;", p.threads)
    w.line("const int %s = at / %d, %s = at %% %d * %d;", slow, per_row // p.vector, fast,
           per_row // p.vector, p.vector)
    w.line("")
  end
  local kind = ("vec<%d>"):format(p.vector)
  in_turns(w, p, vectors_of(p) // 1, function()
    place(p.tile_cols, "r", "c")
    w.line("got[u] = load<%d>(x + size_t(r0 + r) * cols + c0 + c);", p.vector)
  end, function()
    place(p.tile_cols, "r", "c")
    w.line("#pragma unroll")
    w.line("for (int k = 0; k < %d; k++)", p.vector)
    w.line("    %s = got[u].e[k];", cell(p, "r", "c + k"))
  end, kind)
  w.line("__syncthreads();")
  in_turns(w, p, vectors_of(p) // 1, function()
    place(p.tile_rows, "c", "r")
    w.line("#pragma unroll")
    w.line("for (int k = 0; k < %d; k++)", p.vector)
    w.line("    got[u].e[k] = %s;", cell(p, "r + k", "c"):gsub("r %+ k & 31", "(r + k) & 31"))
  end, function()
    place(p.tile_rows, "c", "r")
    w.line("store<%d>(y + size_t(c0 + c) * rows + r0 + r, got[u]);", p.vector)
  end, kind)
end

local function emit_cut_tile(w, p)
  local size = p.tile_rows * p.tile_cols
  w.line("for (int at = threadIdx.x; at < %d; at += %d) {", size, p.threads)
  w.line("const int r = at / %d, c = at %% %d;", p.tile_cols, p.tile_cols)
  w.line("")
  w.line("if (r0 + r < rows && c0 + c < cols)")
  w.line("    " .. cell(p, "r", "c") .. " = x[size_t(r0 + r) * cols + c0 + c];")
  w.line("}")
  w.line("__syncthreads();")
  w.line("for (int at = threadIdx.x; at < %d; at += %d) {", size, p.threads)
  w.line("const int c = at / %d, r = at %% %d;", p.tile_rows, p.tile_rows)
  w.line("")
  w.line("if (r0 + r < rows && c0 + c < cols)")
  w.line("    y[size_t(c0 + c) * rows + r0 + r] = " .. cell(p, "r", "c") .. ";")
  w.line("}")
end

local function emit_staged(w, p)
  w.line("__shared__ float tile[%d][%d];", p.tile_rows, p.tile_cols + p.pad)
  w.line("[[maybe_unused]] const int down = (rows + %d) / %d;", p.tile_rows * p.fuse_rows - 1,
         p.tile_rows * p.fuse_rows)
  w.line("[[maybe_unused]] const int along = (cols + %d) / %d;", p.tile_cols - 1, p.tile_cols)
  w.line("")
  if p.persistent > 0 then
    w.line("for (int id = blockIdx.x; id < down * along; id += gridDim.x) {")
  else
    w.line("const int id = blockIdx.x;")
    w.line("")
    w.line("{")
  end
  local slow, fast = "down", "along"
  if p.order == "cr" then slow, fast = fast, slow end
  if p.swizzle_blocks > 0 then
    w.line("const int group = id / (%s * %d), inside = id %% (%s * %d);", fast,
           p.swizzle_blocks, fast, p.swizzle_blocks)
    w.line("const int high = min(%s - group * %d, %d);", slow, p.swizzle_blocks,
           p.swizzle_blocks)
    w.line("const int in_slow = group * %d + inside %% high, in_fast = inside / high;",
           p.swizzle_blocks)
  else
    w.line("const int in_slow = id / %s, in_fast = id %% %s;", fast, fast)
  end
  local r, c = "in_slow", "in_fast"
  if p.order == "cr" then r, c = c, r end
  if p.fuse_rows == 1 then
    w.line("const int r0 = %s * %d, c0 = %s * %d;", r, p.tile_rows, c, p.tile_cols)
  else
    w.line("const int c0 = %s * %d, r1 = min(rows, (%s + 1) * %d);", c, p.tile_cols, r,
           p.tile_rows * p.fuse_rows)
    w.line("")
    w.line("for (int r0 = %s * %d; r0 < r1; r0 += %d) {", r, p.tile_rows * p.fuse_rows,
           p.tile_rows)
  end
  local whole = ("r0 + %d <= rows && c0 + %d <= cols"):format(p.tile_rows, p.tile_cols)
  if p.vector > 1 then
    whole = ("(rows | cols) %% %d == 0 && "):format(p.vector) .. whole
  end
  w.line("")
  w.line("if (%s) {", whole)
  emit_whole_tile(w, p)
  w.line("} else {")
  emit_cut_tile(w, p)
  w.line("}")
  if p.persistent > 0 or p.fuse_rows > 1 then w.line("__syncthreads();") end
  if p.fuse_rows > 1 then w.line("}") end
  w.line("}")
end

local function plan(p)
  local grid, block
  if staged(p) then
    grid = ("cdiv(rows, %d)*cdiv(cols, %d)"):format(p.tile_rows * p.fuse_rows,
                                                         p.tile_cols)
    if p.persistent > 0 then grid = ("min(%s, %d*sm_count)"):format(grid, p.persistent) end
    block = tostring(p.threads)
  else
    local fast, slow = "cols", "rows"
    if p.order == "cr" then fast, slow = slow, fast end
    grid = ("cdiv(%s, 32)*cdiv(%s, %d)"):format(fast, slow, 8 * p.fuse_rows)
    block = "32, 8"
  end
  return ("// kb: launch transpose grid=(%s) block=(%s) args=(x, y, rows, cols)\n")
         :format(grid, block)
end

local function emit_source(point)
  local p, w = settle(point), emit.writer()
  emit.describe(w, parameters, p)
  w.line("")
  cuda.vectors(w, p, { stores = true })
  w.line("extern \"C\" __global__ void __launch_bounds__(%s)", bounds(p))
  w.open("transpose%s", params)
  if staged(p) then emit_staged(w, p) else emit_direct(w, p) end
  w.line("}")
  return plan(p) .. w.text()
end

return { parameters = parameters, valid = valid, emit = emit_source }
