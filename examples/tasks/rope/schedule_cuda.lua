-- How the rotary embedding may be written for a GPU.
--
-- An item is one vector of a head, for fuse_rows heads that share the table.
-- fuse_passes: "none" makes one output of each item, "pair" both elements of a
-- rotated pair, which then are read once. A thread has `items` of them in turn,
-- `unroll` in flight.
local cuda = require "kernelband.emit.cuda"
local emit = require "kernelband.emit"

local parameters = {
  { "threads", { 256, 128, 512 } },
  { "items", { 1, 2, 4 } },
  { "vector", { 1, 2, 4 } },
  { "fuse_passes", { "none", "pair" } },
  { "fuse_rows", { 1, 2, 4, 8 } },
  { "unroll", { 1, 2 } },
  { "resident", { 0, 1024, 2048 } },                -- threads that must fit an SM
  { "persistent", { 0, 2, 4, 8, 16 } },             -- blocks an SM; 0: as many as it takes
  { "order", { "heads", "tokens" } },               -- which is next to each other
  { "load_hint", { "plain", "readonly", "stream", "first", "wide" } },
  { "store_hint", { "plain", "stream" } },
}

local function valid(p)
  return p.vector * p.fuse_rows * p.unroll <= 32
end

local function settle(point)
  local p = emit.copy(parameters, point)
  if p.persistent > 0 then p.items = 1 end
  return p
end

local function item_of(w, p)
  w.line("const int i = item % width * V, rest = item / width;")
  if p.order == "heads" then
    w.line("const int group = rest % groups, t = rest / groups;")
  else
    w.line("const int t = rest % tokens, group = rest / tokens;")
  end
end

local function emit_items(w, p)
  local pair = p.fuse_passes == "pair"
  local u, f = p.unroll, p.fuse_rows
  w.line("template <int V>")
  w.open("__device__ inline void rotate(const float *__restrict__ x, "
         .. "const float *__restrict__ cosine, const float *__restrict__ sine, "
         .. "float *__restrict__ y, int tokens, int heads, int half)")
  w.line("const int width = %shalf / V, groups = (heads + %d) / %d;", pair and "" or "2 * ",
         f - 1, f)
  w.line("const int total = tokens * groups * width;")
  local per_block = p.threads * u * p.items
  if p.persistent > 0 then
    w.line("const int step = gridDim.x * %d, end = total;", p.threads * u)
    w.line("int from = blockIdx.x * %d + threadIdx.x;", p.threads * u)
  else
    w.line("const int step = %d;", p.threads * u)
    w.line("const int begin = blockIdx.x * %d, end = min(total, begin + %d);", per_block,
           per_block)
    w.line("int from = begin + threadIdx.x;")
  end
  w.line("")
  w.line("for (; from < end; from += step) {")
  w.line("vec<V> here[%d][%d], other[%d][%d];", u, f, u, f)
  w.line("")
  local function each_item(body)
    w.line("#pragma unroll")
    w.line("for (int u = 0; u < %d; u++) {", u)
    w.line("const int item = from + u * %d;", p.threads)
    item_of(w, p)
    w.line("const bool live = item < end;")
    w.line("")
    body()
    w.line("}")
  end
  local function each_head(body)
    w.line("#pragma unroll")
    w.line("for (int f = 0; f < %d; f++) {", f)
    w.line("const int head = group * %d + f;", f)
    w.line("const size_t at = (size_t(t) * heads + head) * 2 * half + i;")
    w.line("")
    body()
    w.line("}")
  end
  local across = pair and "half" or "(i < half ? half : -half)"
  each_item(function()
    each_head(function()
      w.line("if (live && head < heads) {")
      w.line("here[u][f] = load<V>(x + at);")
      w.line("other[u][f] = load<V>(x + at + %s);", across)
      w.line("}")
    end)
  end)
  each_item(function()
    w.line("if (!live)")
    w.line("    continue;")
    w.line("const size_t in_table = size_t(t) * 2 * half + i;")
    w.line("const vec<V> c = column<V>(cosine + in_table), s = column<V>(sine + in_table);")
    if pair then
      w.line("const vec<V> far_c = column<V>(cosine + in_table + half);")
      w.line("const vec<V> far_s = column<V>(sine + in_table + half);")
    end
    w.line("")
    each_head(function()
      w.line("vec<V> out%s;", pair and ", far_out" or "")
      w.line("#pragma unroll")
      w.line("for (int k = 0; k < V; k++) {")
      w.line("const float a = here[u][f].e[k], b = other[u][f].e[k];")
      w.line("out.e[k] = a * c.e[k] + b * s.e[k];")
      if pair then w.line("far_out.e[k] = b * far_c.e[k] + a * far_s.e[k];") end
      w.line("}")
      w.line("if (head < heads) {")
      w.line("store<V>(y + at, out);")
      if pair then w.line("store<V>(y + at + half, far_out);") end
      w.line("}")
    end)
  end)
  w.line("}")
  w.close()
end

local function plan(p)
  local width = p.fuse_passes == "pair" and "half" or "2*half"
  local grid = ("cdiv(tokens*cdiv(heads, %d)*cdiv(%s, %d), %d)"):format(
    p.fuse_rows, width, p.vector, p.threads * p.unroll * p.items)
  if p.persistent > 0 then grid = ("min(%s, %d*sm_count)"):format(grid, p.persistent) end
  return ("// kb: launch rope grid=(%s) block=(%d) args=(x, cosine, sine, y, tokens, heads, "
          .. "half)\n"):format(grid, p.threads)
end

local function emit_source(point)
  local p, w = settle(point), emit.writer()
  emit.describe(w, parameters, p)
  w.line("")
  cuda.vectors(w, p, { stores = true, columns = true })
  emit_items(w, p)
  local blocks = p.resident // p.threads
  w.line("extern \"C\" __global__ void __launch_bounds__(%d%s)", p.threads,
         blocks > 0 and ", " .. blocks or "")
  w.open("rope(const float *__restrict__ x, const float *__restrict__ cosine, "
         .. "const float *__restrict__ sine, float *__restrict__ y, int tokens, "
         .. "int heads, int half)")
  w.line("rotate<%d>(x, cosine, sine, y, tokens, heads, half);", p.vector)
  w.line("}")
  return plan(p) .. w.text()
end

return { parameters = parameters, valid = valid, emit = emit_source }
