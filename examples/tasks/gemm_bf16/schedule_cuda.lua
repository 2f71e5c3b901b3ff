-- How a bf16 matrix product may be written for a GPU.
--
-- Untiled, a thread computes `vector` results of a row. Tiled, a block copies
-- tiles of a and b to shared memory, `stages` of them in flight, and a warp
-- computes warp_m x warp_n results, by fp32 arithmetic (scalar) or on tensor
-- cores (mma), which have to have a tile: the smallest where none is given.

local tile = require "kernelband.emit.tile"
local code = require "kernelband.emit"

local parameters = {
  { "tile_m", { 0, 128, 256 } },                   -- 0: not tiled
  { "tile_n", { 0, 128, 256 } },
  { "tile_k", { 32, 64 } },
  { "warp_m", { 32, 64 } },
  { "warp_n", { 32, 64 } },
  { "vector", { 1, 4, 8 } },                       -- elements a copy
  { "instruction", { "scalar", "mma" } },
  { "fuse_init", { 0, 1 } },                       -- no pass that zeroes c
  { "stages", { 1, 2, 3, 4 } },                    -- tiles in shared memory
  { "unroll", { 1, 2, 4 } },                       -- terms, or steps of 16
  { "prefetch", { 0, 1 } },                        -- operands a step ahead
  { "order", { "rows", "columns" } },              -- of blocks
  { "swizzle_blocks", { 0, 4, 8, 16 } },           -- rows of blocks in a group
  { "pad", { 0, 8 } },                             -- elements a shared row
  { "swizzle", { 0, 1 } },                         -- of shared memory
}

local function tiled(p)
  return p.instruction == "mma" or p.tile_m > 0 and p.tile_n > 0
end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if tiled(p) then
    out.tile_m = math.max(p.tile_m, 128)
    out.tile_n = math.max(p.tile_n, 128)
    if p.swizzle == 1 then out.pad = 0 end
    if p.instruction == "mma" then
      local steps = p.tile_k // 16
      if p.prefetch == 1 or p.unroll > steps then out.unroll = steps end
    else
      out.prefetch = 0
    end
  else
    code.reset(parameters, out, { "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "stages",
                                  "prefetch", "swizzle_blocks", "pad", "swizzle" })
  end
  return out
end

local function threads(p) return p.tile_m // p.warp_m * (p.tile_n // p.warp_n) * 32 end

-- Bytes of shared memory.
local function shared(p)
  return 2 * p.stages * (p.tile_m * (p.tile_k + p.pad) + p.tile_k * (p.tile_n + p.pad))
end

-- What a block of any GPU of the last years can hold, in shared memory and in
-- registers: the sums, the operands and some more.
local function valid(point)
  if not tiled(point) then return true end
  local p = settle(point)
  local sums = p.warp_m * p.warp_n // 32
  return shared(p) <= 227 * 1024 and threads(p) <= 1024
         and threads(p) * (sums + 56) <= 65536
end

local plain = [[
${unrolled}    for (int p = 0; p < k; p++)
        sum += __bfloat162float(a[(size_t)i * k + p])
             * __bfloat162float(b[(size_t)p * n + j]);
${store}
}
]]

-- n is a multiple of 8, so a vector lies wholly inside or wholly outside.
local plain_vector = [[
${unrolled}    for (int p = 0; p < k; p++) {
        const float x = __bfloat162float(a[(size_t)i * k + p]);
        const vec y = *(const vec *)(b + (size_t)p * n + j);

#pragma unroll
        for (int v = 0; v < ${vector}; v++)
            sum[v] += x * __bfloat162float(y.at[v]);
    }
    vec *to = (vec *)(c + (size_t)i * n + j);
    vec out${start};

#pragma unroll
    for (int v = 0; v < ${vector}; v++)
        out.at[v] = __float2bfloat16(${add}sum[v]);
    *to = out;
}
]]

local copies = [[

/* ROWS x COLUMNS elements from (row, column) on of an array of m x n; 0 where
 * it has none. m and n are multiples of 8. */
template <int ROWS, int COLUMNS, int (*AT)(int, int)>
static __device__ void copy_tile(bf16 *to, const bf16 *from, int row,
                                 int column, int m, int n)
{
${walk}
        const bool inside = row + i < m && column + j < n;
${address}
${copy}
${advance}    }
}
]]

local tile_mma = [[

struct operands {
    unsigned a[WARP_M / 16][4];
    unsigned b[WARP_N / 16][4];
};

static __device__ void take(operands &x, const bf16 *a, const bf16 *b,
                            int row, int column, int step)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
        load_matrix(x.a[i], a + at_a(row + i * 16 + lane % 16,
                                     step * 16 + lane / 16 * 8));
#pragma unroll
    for (int j = 0; j < WARP_N / 16; j++)
        load_transposed(x.b[j], b + at_b(step * 16 + lane % 16,
                                         column + j * 16 + lane / 16 * 8));
}

static __device__ void multiply_all(float (&sum)[WARP_M / 16][WARP_N / 8][4],
                                    const operands &x)
{
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            multiply(sum[i][j], x.a[i], x.b[j / 2][j % 2 * 2],
                     x.b[j / 2][j % 2 * 2 + 1]);
}
]]

local steps_plain = [[

static __device__ void multiply_tile(float (&sum)[WARP_M / 16][WARP_N / 8][4],
                                     const bf16 *a, const bf16 *b,
                                     int row, int column)
{
#pragma unroll ${unroll}
    for (int step = 0; step < TILE_K / 16; step++) {
        operands x;

        take(x, a, b, row, column, step);
        multiply_all(sum, x);
    }
}
]]

local steps_ahead = [[

static __device__ void multiply_tile(float (&sum)[WARP_M / 16][WARP_N / 8][4],
                                     const bf16 *a, const bf16 *b,
                                     int row, int column)
{
    operands x[2];

    take(x[0], a, b, row, column, 0);
#pragma unroll
    for (int step = 0; step < TILE_K / 16; step++) {
        if (step + 1 < TILE_K / 16)
            take(x[(step + 1) % 2], a, b, row, column, step + 1);
        multiply_all(sum, x[step % 2]);
    }
}
]]

local tile_scalar = [[

/* A lane sums rows lane / 8 + 4 i and columns 2 (lane % 8) + 16 j, and the
 * column after each. */
static __device__ void multiply_tile(float (&sum)[WARP_M / 4][WARP_N / 16][2],
                                     const bf16 *a, const bf16 *b,
                                     int row, int column)
{
    const int lane = threadIdx.x % 32;

#pragma unroll ${unroll}
    for (int p = 0; p < TILE_K; p++) {
        float2 y[WARP_N / 16];

#pragma unroll
        for (int j = 0; j < WARP_N / 16; j++)
            y[j] = __bfloat1622float2(*(const bf16x2 *)(
                b + at_b(p, column + lane % 8 * 2 + j * 16)));
#pragma unroll
        for (int i = 0; i < WARP_M / 4; i++) {
            const float x =
                __bfloat162float(a[at_a(row + lane / 8 + i * 4, p)]);

#pragma unroll
            for (int j = 0; j < WARP_N / 16; j++) {
                sum[i][j][0] += x * y[j].x;
                sum[i][j][1] += x * y[j].y;
            }
        }
    }
}
]]

local store = [[

static __device__ void store(bf16 *c, float x, float y, int i, int j,
                             int m, int n)
{
    if (i < m && j < n) {
        bf16x2 *to = (bf16x2 *)(c + (size_t)i * n + j);
${old}
        *to = __floats2bfloat162_rn(${ox}x, ${oy}y);
    }
}
]]

local fetch = [[
    auto fetch = [&](int step) {
        const int stage = step % STAGES;

        copy_tile<TILE_M, TILE_K, at_a>(tile_a + stage * A_SIZE, a, i0,
                                        step * TILE_K, m, k);
        copy_tile<TILE_K, TILE_N, at_b>(tile_b + stage * B_SIZE, b,
                                        step * TILE_K, j0, k, n);
    };

]]

local multiply_tile = [[multiply_tile(sum, tile_a + step % STAGES * A_SIZE,
                      tile_b + step % STAGES * B_SIZE, row, column);]]

-- The first operands of the next tile are read while the last of this one are
-- multiplied.
local loop_ahead = [[
    operands x[2];

    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            fetch(step);
${commit}    }
${first_wait}    __syncthreads();
    take(x[0], tile_a, tile_b, row, column, 0);
    for (int step = 0; step < steps; step++) {
        const int now = step % STAGES, next = (step + 1) % STAGES;

        if (step + STAGES - 1 < steps)
            fetch(step + STAGES - 1);
${commit}#pragma unroll
        for (int u = 0; u < TILE_K / 16; u++) {
            if (u + 1 < TILE_K / 16) {
                take(x[(u + 1) % 2], tile_a + now * A_SIZE,
                     tile_b + now * B_SIZE, row, column, u + 1);
            } else {
${last_wait}                __syncthreads();
                take(x[(u + 1) % 2], tile_a + next * A_SIZE,
                     tile_b + next * B_SIZE, row, column, 0);
            }
            multiply_all(sum, x[u % 2]);
        }
    }

]]

local tail_mma = [[
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++) {
            const int to = i0 + row + i * 16 + lane / 4;
            const int at = j0 + column + j * 8 + lane % 4 * 2;

            store(c, sum[i][j][0], sum[i][j][1], to, at, m, n);
            store(c, sum[i][j][2], sum[i][j][3], to + 8, at, m, n);
        }
}
]]

local tail_scalar = [[
#pragma unroll
    for (int i = 0; i < WARP_M / 4; i++)
#pragma unroll
        for (int j = 0; j < WARP_N / 16; j++)
            store(c, sum[i][j][0], sum[i][j][1], i0 + row + lane / 8 + i * 4,
                  j0 + column + lane % 8 * 2 + j * 16, m, n);
}
]]

local zero = tile.zero("bf16", "c", "m", "n", "__float2bfloat16(0.0f)")
local plan_zero = "launch zero grid=(cdiv(m*n,256)) block=(256) args=(c, m, n)"

local function emit_plain(p)
  local v, add = tile.untiled(p, "bf16"), p.fuse_init == 0
  v.bytes = 2 * p.vector
  v.start = add and " = *to" or ""
  v.add = add and "__bfloat162float(out.at[v]) + " or ""
  v.store = add and "    c[(size_t)i * n + j] = __float2bfloat16(\n"
                    .. "        __bfloat162float(c[(size_t)i * n + j]) + sum);"
            or "    c[(size_t)i * n + j] = __float2bfloat16(sum);"
  local plan = { add and plan_zero,
                 "launch gemm grid=(${grid}) block=(16,16) args=(a, b, c, m, n, k)" }
  return tile.source(parameters, p, plan, {
    tile.bf16, add and zero, p.vector > 1 and tile.bf16_vector,
    tile.gemm_untiled, p.vector > 1 and plain_vector or plain,
  }, v)
end

local function emit_tiled(p)
  local mma, many = p.instruction == "mma", p.stages > 1
  local async = many and p.vector > 1
  local add = p.fuse_init == 0
  local per_thread = p.tile_k * math.max(p.tile_m, p.tile_n) // p.vector // threads(p)
  local v = {
    tile_m = p.tile_m, tile_n = p.tile_n, threads = threads(p), shared = shared(p),
    element = "bf16", vector = p.vector, bytes = 2 * p.vector, unroll = p.unroll,
    copy_unroll = math.max(1, math.min(16, per_thread)),
    first_wait = async and "    wait<STAGES - 2>();\n" or "",
    last_wait = async and "                wait<STAGES - 2>();\n" or "",
    lane = ", lane = threadIdx.x % 32", lane_column_of = "",
    sums = mma and "[WARP_M / 16][WARP_N / 8][4]" or "[WARP_M / 4][WARP_N / 16][2]",
    old = add and "        const float2 old = __bfloat1622float2(*to);\n" or "",
    ox = add and "old.x + " or "", oy = add and "old.y + " or "",
  }
  v.commit, v.wait = tile.turns(async)
  v.copy = tile.bf16_copy(async, "AT(i, j)", v.bytes)
  tile.walk(v, math.max(p.tile_k, p.tile_n))
  local plan = { add and plan_zero,
    "launch gemm grid=(cdiv(m,${tile_m})*cdiv(n,${tile_n})) block=(${threads}) "
      .. "shared=${shared} args=(a, b, c, m, n, k)" }
  return tile.source(parameters, p, plan, {
    tile.bf16,
    tile.constants {
      { "TILE_M", p.tile_m }, { "TILE_N", p.tile_n }, { "TILE_K", p.tile_k },
      { "WARP_M", p.warp_m }, { "WARP_N", p.warp_n }, { "STAGES", p.stages },
      { "THREADS", threads(p) },
      { "A_SIZE", ("TILE_M * %d"):format(p.tile_k + p.pad) },
      { "B_SIZE", ("TILE_K * %d"):format(p.tile_n + p.pad) },
    },
    add and zero,
    tile.block_order(p.order, p.swizzle_blocks),
    tile.place("at_a", p.tile_k, p.pad, p.swizzle),
    tile.place("at_b", p.tile_n, p.pad, p.swizzle),
    async and tile.async(2 * p.vector) or mma and tile.shared_address,
    tile.bf16_vector, copies,
    mma and tile.matrix, mma and tile_mma,
    not mma and tile_scalar or p.prefetch == 0 and steps_plain
      or not many and steps_ahead,
    store, tile.gemm, fetch,
    many and p.prefetch == 1 and loop_ahead
      or tile.loop(p.stages, many and multiply_tile
        or "multiply_tile(sum, tile_a, tile_b, row, column);", v.commit, v.wait) .. "\n",
    mma and tail_mma or tail_scalar,
  }, v)
end

local function emit(point)
  local p = settle(point)
  return tiled(p) and emit_tiled(p) or emit_plain(p)
end

return { parameters = parameters, valid = valid, emit = emit }
