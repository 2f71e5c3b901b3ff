-- How a matrix product in fp32 may be written for a GPU.
--
-- Untiled, a thread computes `vector` results of a row. Tiled, a block copies
-- tiles of a and b to shared memory, `stages` of them in flight; a warp computes
-- warp_m x warp_n results, its lanes 4 down and 8 across. Packing transposes a
-- beforehand, so that both tiles are walked along rows.

local tile = require "kernelband.emit.tile"
local code = require "kernelband.emit"

local parameters = {
  { "tile_m", { 0, 64, 128 } },                    -- 0: not tiled
  { "tile_n", { 0, 64, 128, 256 } },
  { "tile_k", { 16, 32 } },
  { "warp_m", { 32, 64 } },
  { "warp_n", { 32, 64 } },
  { "vector", { 1, 4 } },                          -- elements a copy
  { "fuse_init", { 0, 1 } },                       -- no pass that zeroes c
  { "stages", { 1, 2, 3 } },                       -- tiles in shared memory
  { "unroll", { 1, 2 } },                          -- terms, or fours of them
  { "prefetch", { 0, 1 } },                        -- what comes next in registers
  { "order", { "rows", "columns" } },              -- of blocks
  { "swizzle_blocks", { 0, 8 } },                  -- rows of blocks in a group
  { "lanes", { "rows", "pairs" } },                -- how lanes lie in a warp
  { "pad", { 0, 4 } },                             -- elements a shared row
  { "pack", { 0, 1 } },                            -- a transposed beforehand
}

local function tiled(p) return p.tile_m > 0 and p.tile_n > 0 end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  local idle = {}
  if tiled(p) then
    if p.stages > 1 and p.pack == 0 then idle = { "prefetch" } end
    if p.pack == 1 then out.pad = 0 end
  else
    idle = { "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "stages",
             "prefetch", "swizzle_blocks", "lanes", "pad", "pack" }
  end
  code.reset(parameters, out, idle)
  return out
end

local function threads(p) return p.tile_m // p.warp_m * (p.tile_n // p.warp_n) * 32 end

-- Bytes of shared memory.
local function shared(p)
  return 4 * p.stages * (p.tile_m * (p.tile_k + p.pad) + p.tile_k * p.tile_n)
end

-- Shared memory, and registers for the sums, the operands and some more.
local function valid(point)
  if not tiled(point) then return true end
  local p = settle(point)
  local held = p.warp_m * p.warp_n // 32 + p.warp_m + p.warp_n // 8
  local copied = p.stages > 1 and 0
    or p.prefetch * p.tile_k * (p.tile_m + p.tile_n) // threads(p)
  return shared(p) <= 227 * 1024 and copied <= 64
         and threads(p) * math.min(held + copied + 32, 255) <= 65536
end

local plain = [[
${unrolled}    for (int p = 0; p < k; p++)
        sum += a[(size_t)i * k + p] * b[(size_t)p * n + j];
    c[(size_t)i * n + j] ${set} sum;
}
]]

local vector_type = "\ntypedef ${type} vec;\n"

local plain_vector = [[    if (n % ${vector} == 0) {
${unrolled}        for (int p = 0; p < k; p++) {
            const float x = a[(size_t)i * k + p];
            const vec y = *(const vec *)(b + (size_t)p * n + j);

${terms}
        }
    } else {
        for (int p = 0; p < k; p++)
#pragma unroll
            for (int v = 0; v < ${vector}; v++)
                if (j + v < n)
                    sum[v] += a[(size_t)i * k + p] * b[(size_t)p * n + j + v];
    }
#pragma unroll
    for (int v = 0; v < ${vector}; v++)
        if (j + v < n)
            c[(size_t)i * n + j + v] ${set} sum[v];
}
]]

-- The scratch has rows of whole vectors, so its tiles are copied as such.
local packing = [[

/* to[j][i] = from[i][j], rows of `to` a multiple of 4 long. */
extern "C" __global__ void transpose(const float *from, float *to, int m, int k)
{
    __shared__ float part[32][33];
    const int rows = (m + 3) / 4 * 4;
    const int i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;

    for (int i = threadIdx.y; i < 32; i += 8)
        if (i0 + i < m && j0 + threadIdx.x < k)
            part[i][threadIdx.x] =
                from[(size_t)(i0 + i) * k + j0 + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        if (j0 + j < k && i0 + threadIdx.x < rows)
            to[(size_t)(j0 + j) * rows + i0 + threadIdx.x] =
                i0 + threadIdx.x < m ? part[threadIdx.x][j] : 0.0f;
}
]]

local copies = [[

${vec}/* ROWS x COLUMNS elements from (row, column) on of an array of m x n, rows in
 * shared memory ROW apart; 0 where it has none. */
template <int ROWS, int COLUMNS, int ROW>
static __device__ void copy_tile(float *to, const float *from, int row,
                                 int column, int m, int n)
{
${walk}
        const bool inside = row + i < m && column + j < n;
${address}
${body}
${advance}    }
}
]]

-- A row of n elements starts on a vector only when n is a multiple of it.
local copy_vector = [[
        if (n % ${vector} == 0) {
${one}
        } else {
#pragma unroll 1
            for (int v = 0; v < ${vector}; v++)
                to[i * ROW + j + v] =
                    row + i < m && column + j + v < n ? at[v] : 0.0f;
        }]]

local one_async = [[
        ${in}copy_async(to + i * ROW + j, inside ? at : from,
        ${in}           inside ? ${bytes} : 0);]]
local one_plain = [[
        ${in}*(vec *)(to + i * ROW + j) = inside ? *(const vec *)at : vec();]]
local one_float = [[
        to[i * ROW + j] = inside ? *at : 0.0f;]]

-- With prefetch a tile stops over in registers.
local pending = [[

${vec}/* ROWS x COLUMNS elements from (row, column) on of an array of m x n, on their
 * way to shared memory, where rows are ROW apart; 0 where it has none. */
template <int ROWS, int COLUMNS, int ROW> struct pending {
    enum { COUNT = (ROWS * COLUMNS / ${vector} + THREADS - 1) / THREADS };
    vec held[COUNT];

    __device__ void fetch(const float *from, int row, int column, int m, int n)
    {
#pragma unroll
        for (int u = 0; u < COUNT; u++) {
            const int t = threadIdx.x + u * THREADS;
            const int i = t / (COLUMNS / ${vector});
            const int j = t % (COLUMNS / ${vector}) * ${vector};
            const float *at = from + (size_t)(row + i) * n + column + j;

            held[u] = vec();
            if (row + i >= m || column + j >= n)
                continue;
${fetch}
        }
    }

    __device__ void put(float *to)
    {
#pragma unroll
        for (int u = 0; u < COUNT; u++) {
            const int t = threadIdx.x + u * THREADS;

            if (t < ROWS * COLUMNS / ${vector})
                *(vec *)(to + t / (COLUMNS / ${vector}) * ROW
                         + t % (COLUMNS / ${vector}) * ${vector}) = held[u];
        }
    }
};
]]

local fetch_one = [[
            held[u] = *(const vec *)at;]]

local fetch_vector = [[
            if (n % ${vector} == 0) {
                held[u] = *(const vec *)at;
            } else {
${parts}
            }]]

-- A lane computes rows row_of(0), row_of(1), ... of its warp's and 4 columns of
-- every 32.
local lanes = [[

static __device__ int lane_row()
{
    return ${lane_row};
}

static __device__ int lane_column()
{
    return ${lane_column};
}

static __device__ int row_of(int i)
{
    return ${row_of};
}

static __device__ void add(float (&sum)[WARP_M / 4][WARP_N / 8], int i,
                           float x, const float4 (&y)[WARP_N / 32])
{
#pragma unroll
    for (int j = 0; j < WARP_N / 32; j++) {
        sum[i][j * 4] += x * y[j].x;
        sum[i][j * 4 + 1] += x * y[j].y;
        sum[i][j * 4 + 2] += x * y[j].z;
        sum[i][j * 4 + 3] += x * y[j].w;
    }
}
]]

-- a lies along k: four terms of a row at a time.
local multiply_rows = [[

static __device__ void multiply_tile(float (&sum)[WARP_M / 4][WARP_N / 8],
                                     const float *a, const float *b)
{
#pragma unroll ${unroll}
    for (int p = 0; p < TILE_K; p += 4) {
        float4 x[WARP_M / 4];

#pragma unroll
        for (int i = 0; i < WARP_M / 4; i++)
            x[i] = *(const float4 *)(a + row_of(i) * A_ROW + p);
#pragma unroll
        for (int u = 0; u < 4; u++) {
            float4 y[WARP_N / 32];

#pragma unroll
            for (int j = 0; j < WARP_N / 32; j++)
                y[j] = *(const float4 *)(b + (p + u) * TILE_N + j * 32);
#pragma unroll
            for (int i = 0; i < WARP_M / 4; i++)
                add(sum, i, u == 0 ? x[i].x : u == 1 ? x[i].y
                            : u == 2 ? x[i].z : x[i].w, y);
        }
    }
}
]]

-- a lies along m: four rows of a term at a time.
local operands = [[

struct operands {
    float4 x[WARP_M / 16], y[WARP_N / 32];
};

static __device__ void take(operands &o, const float *a, const float *b, int p)
{
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
        o.x[i] = *(const float4 *)(a + p * A_ROW + row_of(i * 4));
#pragma unroll
    for (int j = 0; j < WARP_N / 32; j++)
        o.y[j] = *(const float4 *)(b + p * TILE_N + j * 32);
}

static __device__ void multiply(float (&sum)[WARP_M / 4][WARP_N / 8],
                                const operands &o)
{
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++) {
        add(sum, i * 4, o.x[i].x, o.y);
        add(sum, i * 4 + 1, o.x[i].y, o.y);
        add(sum, i * 4 + 2, o.x[i].z, o.y);
        add(sum, i * 4 + 3, o.x[i].w, o.y);
    }
}
]]

local multiply_columns = [[

static __device__ void multiply_tile(float (&sum)[WARP_M / 4][WARP_N / 8],
                                     const float *a, const float *b)
{
#pragma unroll ${unroll4}
    for (int p = 0; p < TILE_K; p++) {
        operands o;

        take(o, a, b, p);
        multiply(sum, o);
    }
}
]]

local fetch_copy = [[
    auto fetch = [&](int step) {
        const int stage = step % STAGES;

        copy_tile<${a_tile}>(tile_a + stage * A_SIZE, a,
                                          ${a_at});
        copy_tile<TILE_K, TILE_N, TILE_N>(tile_b + stage * B_SIZE, b,
                                          step * TILE_K, j0, k, n);
    };

]]

local loop_ahead = [[
    pending<${a_tile}> next_a;
    pending<TILE_K, TILE_N, TILE_N> next_b;
    auto fetch = [&](int step) {
        next_a.fetch(a, ${a_at});
        next_b.fetch(b, step * TILE_K, j0, k, n);
    };

    fetch(0);
    for (int step = 0; step < steps; step++) {
        next_a.put(tile_a);
        next_b.put(tile_b);
        __syncthreads();
        if (step + 1 < steps)
            fetch(step + 1);
        multiply_tile(sum, tile_a + ${a_from}, tile_b + column);
        __syncthreads();
    }
]]

local multiply_tile = [[multiply_tile(sum, tile_a + step % STAGES * A_SIZE + ${a_from},
                      tile_b + step % STAGES * B_SIZE + column);]]

-- The operands of the next term are read while those of this one are used, over
-- the end of a tile too.
local loop_operands = [[
    const float *a_at = tile_a + ${a_from}, *b_at = tile_b + column;
    operands even, odd;

    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            fetch(step);
        commit();
    }
    wait<STAGES - 2>();
    __syncthreads();
    take(even, a_at, b_at, 0);
    for (int step = 0; step < steps; step++) {
        if (step + STAGES - 1 < steps)
            fetch(step + STAGES - 1);
        commit();
#pragma unroll ${unroll}
        for (int p = 0; p < TILE_K - 2; p += 2) {
            take(odd, a_at, b_at, p + 1);
            multiply(sum, even);
            take(even, a_at, b_at, p + 2);
            multiply(sum, odd);
        }
        take(odd, a_at, b_at, TILE_K - 1);
        multiply(sum, even);
        wait<STAGES - 2>();
        __syncthreads();
        a_at = tile_a + (step + 1) % STAGES * A_SIZE + ${a_from};
        b_at = tile_b + (step + 1) % STAGES * B_SIZE + column;
        take(even, a_at, b_at, 0);
        multiply(sum, odd);
    }
]]

local tail = [[

#pragma unroll
    for (int i = 0; i < WARP_M / 4; i++) {
        const int to = i0 + row + row_of(i);

        if (to >= m)
            continue;
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j += 4) {
            const int at = j0 + column + j * 8;
            float *out = c + (size_t)to * n + at;

            if (n % 4 == 0 && at < n) {
                float4 x = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2],
                                       sum[i][j + 3]);
${add_vector}
                *(float4 *)out = x;
            } else {
#pragma unroll
                for (int v = 0; v < 4; v++)
                    if (at + v < n)
                        out[v] ${set} sum[i][j + v];
            }
        }
    }
}
]]

local add_vector = [[
                const float4 old = *(const float4 *)out;

                x.x += old.x;
                x.y += old.y;
                x.z += old.z;
                x.w += old.w;
]]

local zero = tile.zero("float", "c", "m", "n", "0.0f")
local plan_zero = "launch zero grid=(cdiv(m*n,256)) block=(256) args=(c, m, n)"
local types = { [1] = "float", [4] = "float4" }
local letters = { "x", "y", "z", "w" }

local function emit_plain(p)
  local terms, v = {}, tile.untiled(p, "float")
  for i = 1, p.vector do
    terms[i] = ("            sum[%d] += x * y.%s;"):format(i - 1, letters[i])
  end
  v.type, v.set = types[p.vector], p.fuse_init == 1 and "=" or "+="
  v.terms = table.concat(terms, "\n")
  local plan = { p.fuse_init == 0 and plan_zero,
                 "launch gemm grid=(${grid}) block=(16,16) args=(a, b, c, m, n, k)" }
  return tile.source(parameters, p, plan, {
    p.fuse_init == 0 and zero, p.vector > 1 and vector_type, tile.gemm_untiled,
    p.vector > 1 and plain_vector or plain,
  }, v)
end

local function copy_values(p, v, many)
  v["in"] = p.vector > 1 and "    " or ""
  v.one = tile.fill(many and one_async or p.vector > 1 and one_plain or one_float, v)
  v.body = p.vector > 1 and tile.fill(copy_vector, v) or v.one
  tile.walk(v, math.max(p.pack == 1 and p.tile_m or p.tile_k, p.tile_n))
  local parts = {}
  for i = 1, p.vector do
    parts[i] = i == 1 and "                held[u].x = at[0];"
      or ("                held[u].%s = column + j + %d < n ? at[%d] : 0.0f;"):format(
        letters[i], i - 1, i - 1)
  end
  v.parts = table.concat(parts, "\n")
  v.fetch = tile.fill(p.vector > 1 and fetch_vector or fetch_one, v)
end

local function emit_tiled(p)
  local many, packed, add = p.stages > 1, p.pack == 1, p.fuse_init == 0
  local ahead = p.prefetch == 1 and not many
  local rows = p.lanes == "rows"
  local per_thread = p.tile_k * math.max(p.tile_m, p.tile_n) // p.vector // threads(p)
  local v = {
    tile_m = p.tile_m, tile_n = p.tile_n, threads = threads(p), shared = shared(p),
    element = "float", vector = p.vector, bytes = 4 * p.vector,
    unroll = p.unroll, unroll4 = p.unroll * 4,
    copy_unroll = math.max(1, math.min(16, per_thread)),
    set = add and "+=" or "=", add_vector = add and add_vector or "",
    lane_row = rows and "threadIdx.x % 32 / 8"
      or "threadIdx.x % 32 / 16 * 2 + threadIdx.x % 2",
    lane_column = rows and "threadIdx.x % 8 * 4" or "threadIdx.x % 16 / 2 * 4",
    row_of = packed and "i / 4 * 16 + lane_row() * 4 + i % 4" or "lane_row() + i * 4",
    a_tile = packed and "TILE_K, TILE_M, TILE_M" or "TILE_M, TILE_K, A_ROW",
    a_at = packed and "step * TILE_K, i0, k, (m + 3) / 4 * 4"
      or "i0, step * TILE_K, m, k",
    a_from = packed and "row" or "row * A_ROW",
    lane = "", lane_column_of = " + lane_column()", sums = "[WARP_M / 4][WARP_N / 8]",
    vec = (p.vector > 1 or ahead) and "typedef " .. types[p.vector] .. " vec;\n\n" or "",
    matrix = packed and "at" or "a",
  }
  copy_values(p, v, many)
  local own = many and p.prefetch == 1 and loop_operands or ahead and loop_ahead
  v.loop = tile.fill(own or tile.loop(p.stages, many and multiply_tile
    or "multiply_tile(sum, tile_a + ${a_from}, tile_b + column);", tile.turns(many)), v)
  local plan = { packed and "scratch at f32[k*4*cdiv(m,4)]", add and plan_zero,
    packed and "launch transpose grid=(cdiv(k,32),cdiv(m,32)) block=(32,8) args=(a, at, m, k)",
    "launch gemm grid=(cdiv(m,${tile_m})*cdiv(n,${tile_n})) block=(${threads}) "
      .. "shared=${shared} args=(${matrix}, b, c, m, n, k)" }
  return tile.source(parameters, p, plan, {
    tile.constants {
      { "TILE_M", p.tile_m }, { "TILE_N", p.tile_n }, { "TILE_K", p.tile_k },
      { "WARP_M", p.warp_m }, { "WARP_N", p.warp_n }, { "STAGES", p.stages },
      { "THREADS", threads(p) },
      { "A_ROW", packed and "TILE_M" or p.tile_k + p.pad },
      { "A_SIZE", packed and "TILE_K * A_ROW" or "TILE_M * A_ROW" },
      { "B_SIZE", "TILE_K * TILE_N" },
    },
    add and zero, packed and packing,
    tile.block_order(p.order, p.swizzle_blocks),
    many and tile.async(4 * p.vector),
    ahead and pending or copies,
    lanes, packed and operands,
    not packed and multiply_rows or not (many and p.prefetch == 1) and multiply_columns,
    tile.gemm, not ahead and fetch_copy, v.loop, tail,
  }, v)
end

local function emit(point)
  local p = settle(point)
  return tiled(p) and emit_tiled(p) or emit_plain(p)
end

return { parameters = parameters, valid = valid, emit = emit }
