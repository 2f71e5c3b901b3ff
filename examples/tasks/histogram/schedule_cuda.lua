-- How a histogram of bytes may be written for a GPU.
--
-- copies: tables that a block has in shared memory, one to some of its warps; 0:
-- every key is counted in global memory. swizzle: the copies belong to lanes instead,
-- their counters of one key side by side, hence in banks of their own; pad: a copy of
-- warps starts one bank further. fuse_runs: equal keys in a row of one thread are
-- counted at once.
local emit = require "kernelband.emit"

local parameters = {
  { "copies", { 0, 1, 2, 4, 8, 16, 32 } },
  { "threads", { 256, 128, 512, 1024 } },
  { "vector", { 1, 4, 16 } },                       -- keys of a load
  { "fuse_runs", { 0, 1 } },
  { "unroll", { 1, 2, 4 } },                        -- loads in flight
  { "persistent", { 0, 1, 2, 4, 8 } },              -- blocks an SM; 0: as many as it takes
  { "order", { "strided", "chunked" } },
  { "pad", { 0, 1 } },
  { "swizzle", { 0, 1 } },
  { "load_hint", { "plain", "readonly", "stream" } },
}

local function valid() return true end

local function settle(point)
  local p = emit.copy(parameters, point)
  if p.swizzle == 0 then p.copies = math.min(p.copies, p.threads // 32) end
  if p.copies < 2 then p.pad, p.swizzle = 0, 0 end
  if p.swizzle == 1 then p.pad = 0 end
  if p.persistent == 0 then p.order = "strided" end
  if p.vector * p.unroll == 1 then p.fuse_runs = 0 end
  return p
end

local types = { [1] = "unsigned char", [4] = "unsigned int", [16] = "uint4" }

local function emit_count(w, p)
  local to = "counts + key"
  if p.copies > 0 then
    to = "table + key"
    if p.swizzle == 1 then
      to = ("table + key * %d + threadIdx.x %% %d"):format(p.copies, p.copies)
    elseif p.copies > 1 then
      to = ("table + threadIdx.x / 32 %% %d * %d + key"):format(p.copies, 256 + p.pad)
    end
  end
  w.open("__device__ inline void count(int *%s, int key, int times)",
         p.copies > 0 and "table" or "counts")
  w.line("atomicAdd(" .. to .. ", times);")
  w.close()
end

local function each_key(w, p, body)
  w.line("#pragma unroll")
  w.line("for (int k = 0; k < %d; k++) {", p.vector)
  if p.vector == 1 then
    w.line("const int key = got[u];")
  elseif p.vector == 4 then
    w.line("const int key = got[u] >> 8 * k & 255;")
  else
    w.line("const unsigned int word = k / 4 == 0 ? got[u].x : k / 4 == 1 ? got[u].y")
    w.line("                        : k / 4 == 2 ? got[u].z : got[u].w;")
    w.line("const int key = word >> k % 4 * 8 & 255;")
  end
  w.line("")
  body()
  w.line("}")
end

local function emit_body(w, p, to)
  local step = p.persistent > 0 and ("gridDim.x * %d"):format(p.threads) or nil
  local load = ({ plain = "from[i]", readonly = "__ldg(from + i)",
                  stream = "__ldcs(from + i)" })[p.load_hint]
  w.line("const %s *from = reinterpret_cast<const %s *>(keys);", types[p.vector],
         types[p.vector])
  w.line("const int vectors = n / %d;", p.vector)
  if p.order == "chunked" then
    w.line("const long long begin = (long long)vectors * blockIdx.x / gridDim.x;")
    w.line("const long long end = (long long)vectors * (blockIdx.x + 1) / gridDim.x;")
    step = tostring(p.threads)
  else
    w.line("const long long begin = blockIdx.x * %dLL, end = vectors;",
           p.threads * (p.persistent == 0 and p.unroll or 1))
    step = step or tostring(p.threads)
  end
  w.line("const int step = %s;", step)
  w.line("")
  w.line("for (long long far = begin + threadIdx.x; far < end; far += %dLL * step) {",
         p.unroll)
  w.line("%s got[%d];", types[p.vector], p.unroll)
  w.line("")
  w.line("#pragma unroll")
  w.line("for (int u = 0; u < %d; u++) {", p.unroll)
  w.line("const long long i = far + u * step;")
  w.line("")
  w.line("if (i < end)")
  w.line("    got[u] = %s;", load)
  w.line("}")
  if p.fuse_runs == 1 then w.line("int last = 0, run = 0;") end
  w.line("#pragma unroll")
  w.line("for (int u = 0; u < %d; u++) {", p.unroll)
  w.line("if (far + u * step >= end)")
  w.line("    break;")
  each_key(w, p, function()
    if p.fuse_runs == 0 then
      w.line("count(%s, key, 1);", to)
      return
    end
    w.line("if (key != last && run > 0) {")
    w.line("count(%s, last, run);", to)
    w.line("run = 0;")
    w.line("}")
    w.line("last = key;")
    w.line("run++;")
  end)
  w.line("}")
  if p.fuse_runs == 1 then
    w.line("if (run > 0)")
    w.line("    count(%s, last, run);", to)
  end
  if p.persistent == 0 then w.line("break;") end
  w.line("}")
  if p.vector > 1 then
    w.line("if (blockIdx.x == 0 && threadIdx.x < n %% %d)", p.vector)
    w.line("    count(%s, keys[n / %d * %d + threadIdx.x], 1);", to, p.vector, p.vector)
  end
end

local function plan(p)
  local grid = ("max(1, cdiv(n, %d))"):format(p.threads * p.vector * p.unroll)
  if p.persistent > 0 then grid = ("min(%s, %d*sm_count)"):format(grid, p.persistent) end
  return "// kb: launch histogram_clear grid=(1) block=(256) args=(counts)\n"
         .. ("// kb: launch histogram grid=(%s) block=(%d) args=(keys, counts, n)\n")
            :format(grid, p.threads)
end

local function emit_source(point)
  local p, w = settle(point), emit.writer()
  emit.describe(w, parameters, p)
  w.line("")
  emit_count(w, p)
  w.open("extern \"C\" __global__ void histogram_clear(int *counts)")
  w.line("counts[threadIdx.x] = 0;")
  w.close()
  w.line("extern \"C\" __global__ void __launch_bounds__(%d)", p.threads)
  w.open("histogram(const unsigned char *keys, int *counts, int n)")
  if p.copies > 0 then
    local size = p.copies * (256 + p.pad)
    w.line("__shared__ int table[%d];", size)
    w.line("")
    w.line("for (int i = threadIdx.x; i < %d; i += %d)", size, p.threads)
    w.line("    table[i] = 0;")
    w.line("__syncthreads();")
    emit_body(w, p, "table")
    w.line("__syncthreads();")
    w.line("for (int key = threadIdx.x; key < 256; key += %d) {", p.threads)
    w.line("int sum = 0;")
    w.line("")
    w.line("for (int i = 0; i < %d; i++)", p.copies)
    if p.swizzle == 1 then
      w.line("    sum += table[key * %d + i];", p.copies)
    else
      w.line("    sum += table[i * %d + key];", 256 + p.pad)
    end
    w.line("if (sum > 0)")
    w.line("    atomicAdd(counts + key, sum);")
    w.line("}")
  else
    emit_body(w, p, "counts")
  end
  w.line("}")
  return plan(p) .. w.text()
end

return { parameters = parameters, valid = valid, emit = emit_source }
