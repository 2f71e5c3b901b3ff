-- How a 7-point stencil may be written for a GPU.
--
-- A block covers tile_rows x tile_cols of a plane and marches through fuse_rows
-- planes, each thread keeping the values below, at and above its vector. pack
-- puts the plane at hand into shared memory; unroll and prefetch are those of the
-- march, which then asks for planes further above.
local cuda = require "kernelband.emit.cuda"
local emit = require "kernelband.emit"

local parameters = {
  { "tile_rows", { 8, 1, 2, 4, 16 } },
  { "tile_cols", { 32, 64, 128, 256, 512 } },
  { "vector", { 1, 2, 4 } },
  { "fuse_rows", { 1, 2, 4, 8, 16, 32 } },
  { "unroll", { 1, 2, 4 } },
  { "prefetch", { 0, 1, 2 } },                      -- planes ahead
  { "resident", { 0, 1024, 2048 } },                -- threads that must fit an SM
  { "order", { "xyz", "zyx", "yxz" } },             -- of blocks, fastest first
  { "pack", { 0, 1 } },
  { "load_hint", { "plain", "readonly" } },
  { "store_hint", { "plain", "stream" } },
}

local function threads_of(p) return p.tile_rows * p.tile_cols // p.vector end

local function valid(p)
  local threads = threads_of(p)
  return threads >= 32 and threads <= 1024 and threads % 32 == 0
         and p.tile_cols // p.vector >= 8
end

local function settle(point)
  local p = emit.copy(parameters, point)
  if p.fuse_rows == 1 then p.prefetch = 0 end
  p.unroll = math.min(p.unroll, p.fuse_rows)
  return p
end

local header = "const float *__restrict__ x, float *__restrict__ y, int nz, int ny, int nx"

local function emit_plane(w, p)
  local wide = p.tile_cols // p.vector
  if p.pack == 1 then
    w.open("template <int V> __device__ inline vec<V> &packed(float *at)")
    w.line("return *reinterpret_cast<vec<V> *>(at);")
    w.close()
  end
  w.line("/* Columns i .. i + V of row j through the planes from k to end. */")
  w.line("template <int V>")
  w.open("__device__ inline void march(%s, int i, int j, int k, int end%s)", header,
         p.pack == 1 and ", float *plane" or "")
  w.line("const size_t row = nx, slice = size_t(ny) * nx;")
  w.line("const bool live = i < nx && j < ny;")
  w.line("const float *at = x + k * slice + j * row + i;")
  w.line("vec<V> zero = {}, below = zero, here = zero, above = zero;")
  if p.pack == 1 then
    w.line("const int ti = threadIdx.x * V, tj = threadIdx.y;")
    w.line("float *spot = plane + tj * %d + ti;", p.tile_cols)
  end
  w.line("")
  w.line("if (live) {")
  w.line("here = load<V>(at);")
  w.line("if (k > 0)")
  w.line("    below = load<V>(at - slice);")
  w.line("}")
  w.line("#pragma unroll %d", p.unroll)
  w.line("for (; k < end; k++) {")
  w.line("above = live && k + 1 < nz ? load<V>(at + slice) : zero;")
  if p.prefetch > 0 then
    w.line("if (live && k + %d < nz)", p.prefetch + 1)
    w.line("    asm volatile(\"prefetch.global.L2 [%%0];\" :: \"l\"(at + %d * slice));",
           p.prefetch + 1)
  end
  local function side(inside, outside, value, far)
    if p.pack == 1 then
      return ("%s ? %s : %s ? %s : %s"):format(inside, value, outside, far, "#")
    end
    return ("%s ? %s : %s"):format(outside, far, "#")
  end
  if p.pack == 1 then
    w.line("__syncthreads();")
    w.line("packed<V>(spot) = here;")
    w.line("__syncthreads();")
  end
  w.line("if (live) {")
  local function zero(text, with) return (text:gsub("#", with)) end
  local tile = p.tile_cols
  w.line("const vec<V> north =")
  w.line("    %s;", zero(side("tj > 0", "j > 0",
         ("packed<V>(spot - %d)"):format(tile), "load<V>(at - row)"), "zero"))
  w.line("const vec<V> south =")
  w.line("    %s;", zero(side(
         ("tj < %d && j + 1 < ny"):format(p.tile_rows - 1), "j + 1 < ny",
         ("packed<V>(spot + %d)"):format(tile), "load<V>(at + row)"), "zero"))
  w.line("const float west = %s;", zero(side("ti > 0", "i > 0", "spot[-1]", "at[-1]"), "0.0f"))
  w.line("const float east =")
  w.line("    %s;", zero(side(
         ("ti + V < %d * V && i + V < nx"):format(wide), "i + V < nx", "spot[V]",
         "at[V]"), "0.0f"))
  w.line("vec<V> out;")
  w.line("")
  w.line("#pragma unroll")
  w.line("for (int c = 0; c < V; c++) {")
  w.line("const float left = c > 0 ? here.e[c - 1] : west;")
  w.line("const float right = c + 1 < V ? here.e[c + 1] : east;")
  w.line("")
  w.line("out.e[c] = 0.4f * here.e[c] + 0.1f * (((left + right) + "
         .. "(north.e[c] + south.e[c])) + (below.e[c] + above.e[c]));")
  w.line("}")
  w.line("store<V>(y + (at - x), out);")
  w.line("}")
  w.line("below = here;")
  w.line("here = above;")
  w.line("at += slice;")
  w.line("}")
  w.close()
end

local counts = { x = "across", y = "down", z = "deep" }

local function emit_kernel(w, p)
  local wide = p.tile_cols // p.vector
  local blocks = p.resident // threads_of(p)
  w.line("extern \"C\" __global__ void __launch_bounds__(%d%s)", threads_of(p),
         blocks > 0 and ", " .. math.min(blocks, 32) or "")
  w.open("stencil3d(%s)", header)
  if p.pack == 1 then
    w.line("__shared__ __align__(16) float plane[%d];", p.tile_rows * p.tile_cols)
  end
  if p.order:find "x." then
    w.line("const int across = (nx + %d) / %d;", p.tile_cols - 1, p.tile_cols)
  end
  if p.order:find "y." then
    w.line("const int down = (ny + %d) / %d;", p.tile_rows - 1, p.tile_rows)
  end
  if p.order:find "z." then
    w.line("const int deep = (nz + %d) / %d;", p.fuse_rows - 1, p.fuse_rows)
  end
  w.line("int id = blockIdx.x;")
  local first, second = counts[p.order:sub(1, 1)], counts[p.order:sub(2, 2)]
  w.line("const int b%s = id %% %s;", p.order:sub(1, 1), first)
  w.line("id /= %s;", first)
  w.line("const int b%s = id %% %s;", p.order:sub(2, 2), second)
  w.line("const int b%s = id / %s;", p.order:sub(3, 3), second)
  w.line("const int j = by * %d + threadIdx.y, k = bz * %d;", p.tile_rows, p.fuse_rows)
  w.line("const int end = min(nz, k + %d);", p.fuse_rows)
  w.line("")
  local extra = p.pack == 1 and ", plane" or ""
  local function call(v, i)
    return ("march<%d>(x, y, nz, ny, nx, %s, j, k, end%s);"):format(v, i, extra)
  end
  local vector = call(p.vector, ("bx * %d + int(threadIdx.x) * %d"):format(p.tile_cols,
                                                                          p.vector))
  if p.vector == 1 then
    w.line(vector)
  else
    w.line("if (nx %% %d == 0) {", p.vector)
    w.line(vector)
    w.line("return;")
    w.line("}")
    w.line("for (int part = 0; part < %d; part++)", p.vector)
    w.line("    " .. call(1, ("bx * %d + part * %d + int(threadIdx.x)"):format(p.tile_cols,
                                                                            wide)))
  end
  w.line("}")
end

local function emit_source(point)
  local p, w = settle(point), emit.writer()
  emit.describe(w, parameters, p)
  w.line("")
  cuda.vectors(w, p, { stores = true })
  emit_plane(w, p)
  emit_kernel(w, p)
  return ("// kb: launch stencil3d grid=(cdiv(nx, %d)*cdiv(ny, %d)*cdiv(nz, %d)) "
          .. "block=(%d, %d) args=(x, y, nz, ny, nx)\n"):format(p.tile_cols, p.tile_rows,
          p.fuse_rows, p.tile_cols // p.vector, p.tile_rows) .. w.text()
end

return { parameters = parameters, valid = valid, emit = emit_source }
