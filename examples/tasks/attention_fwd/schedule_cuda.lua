-- How causal attention may be written for a GPU.
--
-- Unfused: three launches, the scores in device memory. Fused: the softmax runs
-- along with the sum over keys (Milakov & Gimelshein 2018; Dao et al. 2022) and
-- scores never leave the SM. A warp takes 8 queries, or 16 or 32 on tensor cores;
-- tiled, the warps of tile_m queries share tiles of tile_n keys and values in
-- shared memory. Tensor cores have to have a tile: the smallest where none is
-- given.

local tile = require "kernelband.emit.tile"
local code = require "kernelband.emit"

local parameters = {
  { "tile_m", { 0, 64, 128 } },                    -- queries; 0: not tiled
  { "tile_n", { 0, 32, 64, 128 } },                -- keys
  { "warp_m", { 16, 32 } },                        -- queries a warp
  { "vector", { 1, 2, 4, 8 } },                    -- elements a copy
  { "instruction", { "scalar", "mma" } },
  { "fuse_softmax", { 0, 1 } },
  { "stages", { 1, 2, 3 } },                       -- tiles of keys and values
  { "unroll", { 1, 2, 4, 8 } },                    -- terms or steps of a score
  { "prefetch", { 0, 1 } },                        -- values come during scores
  { "order", { "ascending", "descending" } },      -- blocks of queries
  { "swizzle_blocks", { 0, 4, 16 } },              -- heads in a group
  { "pad", { 0, 8 } },                             -- elements a shared row
  { "swizzle", { 0, 1 } },                         -- of shared memory
}

local function fused(p) return p.fuse_softmax == 1 end

local function tiled(p)
  return fused(p) and (p.instruction == "mma" or p.tile_m > 0 and p.tile_n > 0)
end

local function async(p) return p.vector > 1 and (p.stages > 1 or p.prefetch == 1) end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  local idle = {}
  if tiled(p) then
    out.tile_m = math.max(p.tile_m, 64)
    out.tile_n = math.max(p.tile_n, 32)
    if p.vector == 1 then out.prefetch = 0 end
    if p.swizzle == 1 then out.pad = 0 end
    if p.instruction == "scalar" then
      idle = { "warp_m", "prefetch" }
      if p.stages > 2 then out.stages = 2 end
    elseif p.warp_m == 32 and out.tile_n > 32 then
      out.warp_m = 16    -- the scores of 32 queries would not fit in registers
    end
  else
    idle = { "tile_m", "tile_n", "warp_m", "instruction", "stages", "prefetch",
             "pad", "swizzle" }
    if not fused(p) then idle[#idle + 1] = "swizzle_blocks" end
  end
  code.reset(parameters, out, idle)
  return out
end

local function warps(p)
  return p.instruction == "mma" and p.tile_m // p.warp_m or p.tile_m // 8
end

-- Bytes of shared memory: queries, and stages of keys and values. Scalar code
-- keeps its queries as floats, and 32 weights for each.
local function shared(p)
  local row = 128 + p.pad
  local queries = p.instruction == "mma" and p.tile_m * row * 2
                  or p.tile_m * (128 + 32) * 4
  return queries + p.stages * p.tile_n * row * 4
end

local function valid(point)
  if not tiled(point) then return true end
  return shared(settle(point)) <= 227 * 1024
end

local scale = [[

/* 1 / sqrt(128) */
#define SCALE 0.088388347648318447f
${infinity}]]

local minus_infinity = "#define MINUS_INFINITY __int_as_float(0xff800000)\n"

local unfused = [[

/* One score a thread, for the keys up to the query. */
extern "C" __global__ void scores(const bf16 *q, const bf16 *k, float *s,
                                  int seq)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = ${block} * blockDim.y + threadIdx.y;
    const size_t head = blockIdx.z;
    const bf16 *x = q + (head * seq + i) * 128, *y = k + (head * seq + j) * 128;
    float sum = 0.0f;

    if (i >= seq || j > i)
        return;
${dot}
    s[(head * seq + i) * seq + j] = sum * SCALE;
}

/* One row a block of 128 threads. */
extern "C" __global__ void softmax(float *s, int seq)
{
    __shared__ float part[128];
    const size_t row = blockIdx.x;
    const int n = row % seq + 1, t = threadIdx.x;
    float *x = s + row * seq;
    float top = x[0], sum = 0.0f;

    for (int j = t; j < n; j += 128)
        top = fmaxf(top, x[j]);
    part[t] = top;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    for (int j = t; j < n; j += 128)
        sum += expf(x[j] - top);
    part[t] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    for (int j = t; j < n; j += 128)
        x[j] = expf(x[j] - top) / part[0];
}

/* One result a thread, 128 threads a query. */
extern "C" __global__ void values(const float *s, const bf16 *v, bf16 *o,
                                  int seq)
{
    const size_t row = blockIdx.x, head = row / seq;
    const int n = row % seq + 1, d = threadIdx.x;
    float sum = 0.0f;

${unrolled}    for (int j = 0; j < n; j++)
        sum += s[row * seq + j]
             * __bfloat162float(v[(head * seq + j) * 128 + d]);
    o[row * 128 + d] = __float2bfloat16(sum);
}
]]

local dot_plain = [[
${unrolled}    for (int d = 0; d < 128; d++)
        sum += __bfloat162float(x[d]) * __bfloat162float(y[d]);]]

local dot_vector = [[
${unrolled}    for (int d = 0; d < 128; d += ${vector}) {
        const vec a = *(const vec *)(x + d), b = *(const vec *)(y + d);

#pragma unroll
        for (int e = 0; e < ${vector}; e++)
            sum += __bfloat162float(a.at[e]) * __bfloat162float(b.at[e]);
    }]]

-- Which head and which queries a block takes.
local place_of = [[

/* Which head, and which of its blocks of queries. */
static __device__ void place_of(int block, int heads, int blocks,
                                int *head, int *first)
{
${body}}
]]

local place_plain = [[
    *head = block / blocks;
    *first = ${first};
]]

local place_group = [[
    const int group = block / (${group} * blocks);
    const int left = heads - group * ${group};
    const int width = left < ${group} ? left : ${group};
    const int rest = block - group * ${group} * blocks;

    *head = group * ${group} + rest % width;
    *first = ${first};
]]

local copies = [[

/* ROWS rows from `row` on, of n; 0 where there is none. */
template <int ROWS>
static __device__ void copy_rows(bf16 *to, const bf16 *from, int row, int n)
{
#pragma unroll ${copy_unroll}
    for (int t = threadIdx.x; t < ROWS * (128 / ${vector}); t += THREADS) {
        const int i = t / (128 / ${vector}), d = t % (128 / ${vector}) * ${vector};
        const bool inside = row + i < n;
        const bf16 *at = from + (size_t)row * 128 + t * ${vector};

${copy}
    }
}
]]

-- A warp takes QUERIES queries; a lane one of 32 keys, then 4 of the results.
local scalar = [[

/* 8 elements as floats. */
static __device__ void widen(float (&x)[8], const bf16 *from)
{
${widen}
}

static __device__ float warp_max(float x)
{
    for (int lane = 16; lane > 0; lane /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
    return x;
}

static __device__ float warp_sum(float x)
{
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

struct state {
    float top[QUERIES], sum[QUERIES], out[QUERIES][4];
};

/* 32 keys from `key` on, their first at k and v. */
static __device__ void visit(state &x, const float *q, float *weight,
                             const bf16 *k, const bf16 *v, int key, int query,
                             int n)
{
    const int lane = threadIdx.x % 32, mine = key + lane;
    float score[QUERIES] = {};

    if (${inside}) {
#pragma unroll ${unroll}
        for (int d = 0; d < 128; d += 8) {
            float y[8];

            widen(y, k + at_row(lane, d));
#pragma unroll
            for (int i = 0; i < QUERIES; i++)
#pragma unroll
                for (int e = 0; e < 8; e++)
                    score[i] += q[i * 128 + d + e] * y[e];
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float s = mine <= query + i && mine < n ? score[i] * SCALE
                                                      : MINUS_INFINITY;
        const float top = fmaxf(x.top[i], warp_max(s));
        const float old = expf(x.top[i] - top), now = expf(s - top);

        x.top[i] = top;
        x.sum[i] = x.sum[i] * old + now;
        weight[i * 32 + lane] = now;
#pragma unroll
        for (int e = 0; e < 4; e++)
            x.out[i][e] *= old;
    }
    __syncwarp();
    for (int j = 0; j < 32${key_limit}; j++) {
        const bf16x2 *at = (const bf16x2 *)(v + at_row(j, lane * 4));
        const float2 y = __bfloat1622float2(at[0]);
        const float2 z = __bfloat1622float2(at[1]);

#pragma unroll
        for (int i = 0; i < QUERIES; i++) {
            const float w = weight[i * 32 + j];

            x.out[i][0] += w * y.x;
            x.out[i][1] += w * y.y;
            x.out[i][2] += w * z.x;
            x.out[i][3] += w * z.y;
        }
    }
}

static __device__ void store(const state &x, bf16 *o, int query, int n)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float by = 1.0f / warp_sum(x.sum[i]);

        if (query + i < n) {
            bf16x2 *to = (bf16x2 *)(o + (size_t)(query + i) * 128 + lane * 4);

            to[0] = __floats2bfloat162_rn(x.out[i][0] * by, x.out[i][1] * by);
            to[1] = __floats2bfloat162_rn(x.out[i][2] * by, x.out[i][3] * by);
        }
    }
}
]]

-- How both kernels begin: the queries of a block, its pointers at their head.
local top = [[

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, int heads,
          int seq)
{
]]

local enter = [[
    int head, first;
    state x;

    place_of(blockIdx.x, heads, (seq + TILE_M - 1) / TILE_M, &head, &first);
    first *= TILE_M;
    q += (size_t)head * seq * 128;
    k += (size_t)head * seq * 128;
    v += (size_t)head * seq * 128;
    o += (size_t)head * seq * 128;
]]

local scalar_main = [[
${top}    extern __shared__ __align__(128) float buffer[];
    const int warp = threadIdx.x / 32;
    float *const queries = buffer + warp * QUERIES * 128;
    float *const weight = buffer + TILE_M * 128 + warp * QUERIES * 32;
${enter}
    const int query = first + warp * QUERIES;
    const int end = min(first + TILE_M, seq);

    for (int t = threadIdx.x % 32; t < QUERIES * 128; t += 32)
        queries[t] = query + t / 128 < seq
            ? __bfloat162float(q[(size_t)query * 128 + t]) : 0.0f;
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        x.top[i] = MINUS_INFINITY;
        x.sum[i] = 0.0f;
        for (int e = 0; e < 4; e++)
            x.out[i][e] = 0.0f;
    }
    __syncwarp();
${loop}
    store(x, o, query, seq);
}
]]

local scalar_untiled = [[
    for (int key = 0; key < query + QUERIES && key < end; key += 32)
        visit(x, queries, weight, k + (size_t)key * 128, v + (size_t)key * 128,
              key, query, seq);]]

local scalar_one = [[
    bf16 *const tile_k = (bf16 *)(buffer + TILE_M * 160);
    bf16 *const tile_v = tile_k + TILE_N * ROW;

    for (int key = 0; key < end; key += TILE_N) {
        copy_rows<TILE_N>(tile_k, k, key, seq);
        copy_rows<TILE_N>(tile_v, v, key, seq);
        __syncthreads();
        for (int j = 0; j < TILE_N && key + j < query + QUERIES; j += 32)
            visit(x, queries, weight, tile_k + j * ROW, tile_v + j * ROW,
                  key + j, query, seq);
        __syncthreads();
    }]]

local scalar_two = [[
    bf16 *const tile_k = (bf16 *)(buffer + TILE_M * 160);
    bf16 *const tile_v = tile_k + 2 * TILE_N * ROW;
    int turn = 0;

    copy_rows<TILE_N>(tile_k, k, 0, seq);
    copy_rows<TILE_N>(tile_v, v, 0, seq);
${first_commit}    for (int key = 0; key < end; key += TILE_N, turn ^= 1) {
        const int other = (turn ^ 1) * TILE_N * ROW;

${wait}        __syncthreads();
        if (key + TILE_N < end) {
            copy_rows<TILE_N>(tile_k + other, k, key + TILE_N, seq);
            copy_rows<TILE_N>(tile_v + other, v, key + TILE_N, seq);
        }
${commit}        for (int j = 0; j < TILE_N && key + j < query + QUERIES; j += 32)
            visit(x, queries, weight, tile_k + (turn * TILE_N + j) * ROW,
                  tile_v + (turn * TILE_N + j) * ROW, key + j, query, seq);
    }]]

local matrix = [[

static __device__ float exp_two(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ unsigned pack(float x, float y)
{
    const bf16x2 both = __floats2bfloat162_rn(x, y);

    return *(const unsigned *)&both;
}

struct state {
    float top[PARTS][2], sum[PARTS][2], out[PARTS][16][4];
};

typedef float scores[PARTS][TILE_N / 8][4];

/* The queries of a warp, 16 of their 128 elements. */
static __device__ void take(unsigned (&x)[PARTS][4], const bf16 *queries,
                            int step)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int i = 0; i < PARTS; i++)
        load_matrix(x[i], queries + at_row(threadIdx.x / 32 * WARP_M + i * 16
                                           + lane % 16,
                                           step * 16 + lane / 16 * 8));
}

static __device__ void score_step(scores &s, const unsigned (&x)[PARTS][4],
                                  const bf16 *keys, int step)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int j = 0; j < TILE_N / 16; j++) {
        unsigned y[4];

        load_matrix(y, keys + at_row(j * 16 + lane % 8 + lane / 16 * 8,
                                     step * 16 + lane / 8 % 2 * 8));
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            multiply(s[i][j * 2], x[i], y[0], y[1]);
            multiply(s[i][j * 2 + 1], x[i], y[2], y[3]);
        }
    }
}

/* Scores become weights relative to the largest score so far, and what was
 * summed relative to a smaller one shrinks. A lane holds rows lane / 4 and
 * lane / 4 + 8 of a part, and 2 columns in 8 from lane % 4 * 2 on. */
static __device__ void weigh(state &x, scores &s, int key, int query, int n)
{
    const int lane = threadIdx.x % 32;
    const float scale = SCALE * 1.44269504f;

    if (key + TILE_N - 1 > query || key + TILE_N > n) {
#pragma unroll
        for (int i = 0; i < PARTS; i++)
#pragma unroll
            for (int j = 0; j < TILE_N / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int at = key + j * 8 + lane % 4 * 2 + e % 2;
                    const int row = query + i * 16 + lane / 4 + e / 2 * 8;

                    if (at > row || at >= n)
                        s[i][j][e] = MINUS_INFINITY;
                }
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float top = x.top[i][r], sum = 0.0f;

#pragma unroll
            for (int j = 0; j < TILE_N / 8; j++)
                top = fmaxf(top, fmaxf(s[i][j][r * 2], s[i][j][r * 2 + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));

            const float old = exp_two((x.top[i][r] - top) * scale);
            const float base = top * scale;

            x.top[i][r] = top;
#pragma unroll
            for (int j = 0; j < TILE_N / 8; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    float &y = s[i][j][r * 2 + e];

                    y = exp_two(fmaf(y, scale, -base));
                    sum += y;
                }
            x.sum[i][r] = x.sum[i][r] * old + sum;
#pragma unroll
            for (int j = 0; j < 16; j++) {
                x.out[i][j][r * 2] *= old;
                x.out[i][j][r * 2 + 1] *= old;
            }
        }
}

static __device__ void sum_values(state &x, const scores &s,
                                  const bf16 *values)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int step = 0; step < TILE_N / 16; step++) {
        unsigned w[PARTS][4];

#pragma unroll
        for (int i = 0; i < PARTS; i++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                w[i][e] = pack(s[i][step * 2 + e / 2][e % 2 * 2],
                               s[i][step * 2 + e / 2][e % 2 * 2 + 1]);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            unsigned y[4];

            load_transposed(y, values + at_row(step * 16 + lane % 16,
                                               j * 16 + lane / 16 * 8));
#pragma unroll
            for (int i = 0; i < PARTS; i++) {
                multiply(x.out[i][j * 2], w[i], y[0], y[1]);
                multiply(x.out[i][j * 2 + 1], w[i], y[2], y[3]);
            }
        }
    }
}

static __device__ void store(state &x, bf16 *o, int query, int n)
{
    const int lane = threadIdx.x % 32;

#pragma unroll
    for (int i = 0; i < PARTS; i++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int row = query + i * 16 + lane / 4 + r * 8;
            float sum = x.sum[i][r];

            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            sum = 1.0f / sum;
            if (row >= n)
                continue;
#pragma unroll
            for (int j = 0; j < 16; j++)
                *(bf16x2 *)(o + (size_t)row * 128 + j * 8 + lane % 4 * 2) =
                    __floats2bfloat162_rn(x.out[i][j][r * 2] * sum,
                                          x.out[i][j][r * 2 + 1] * sum);
        }
}
]]

local matrix_main = [[
${top}    extern __shared__ __align__(128) bf16 buffer[];
    bf16 *const queries = buffer, *const tile_k = queries + TILE_M * ROW;
    bf16 *const tile_v = tile_k + STAGES * TILE_N * ROW;
${enter}
    const int query = first + threadIdx.x / 32 * WARP_M;
    const int steps = (min(first + TILE_M, seq) + TILE_N - 1) / TILE_N;

#pragma unroll
    for (int i = 0; i < PARTS; i++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            x.top[i][r] = MINUS_INFINITY;
            x.sum[i][r] = 0.0f;
        }
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                x.out[i][j][e] = 0.0f;
    }

    auto fetch_keys = [&](int step) {
        if (step < steps)
            copy_rows<TILE_N>(tile_k + step % STAGES * TILE_N * ROW, k,
                              step * TILE_N, seq);
    };
    auto fetch_values = [&](int step) {
        if (step < steps)
            copy_rows<TILE_N>(tile_v + step % STAGES * TILE_N * ROW, v,
                              step * TILE_N, seq);
    };

    copy_rows<TILE_M>(queries, q, first, seq);
${load_queries}${prologue}    for (int step = 0; step < steps; step++) {
        const bf16 *keys = tile_k + step % STAGES * TILE_N * ROW;
        const bf16 *values = tile_v + step % STAGES * TILE_N * ROW;
        scores s = {};

${begin}${score}
        weigh(x, s, step * TILE_N, query, seq);
${middle}        sum_values(x, s, values);
    }
    store(x, o, query, seq);
}
]]

local queries_held = [[
${commit}${wait_all}    __syncthreads();

    unsigned held[8][PARTS][4];

#pragma unroll
    for (int d = 0; d < 8; d++)
        take(held[d], queries, d);
]]

local score_held = [[
#pragma unroll
        for (int d = 0; d < 8; d++)
            score_step(s, held[d], keys, d);]]

local score_taken = [[
#pragma unroll ${unroll}
        for (int d = 0; d < 8; d++) {
            unsigned held[PARTS][4];

            take(held, queries, d);
            score_step(s, held, keys, d);
        }]]

local function first_of(p, index)
  return p.order == "ascending" and index or ("blocks - 1 - %s"):format(
    index:find " " and "(" .. index .. ")" or index)
end

local function place(p)
  local group = p.swizzle_blocks
  local body = group == 0
    and tile.fill(place_plain, { first = first_of(p, "block % blocks") })
    or tile.fill(place_group, { group = group, first = first_of(p, "rest / width") })
  return tile.fill(place_of, { body = body })
end

local function emit_unfused(p)
  local v = {
    vector = p.vector, bytes = 2 * p.vector, unrolled = tile.unrolled(p), infinity = "",
    block = p.order == "ascending" and "blockIdx.y" or "(gridDim.y - 1 - blockIdx.y)",
  }
  v.dot = tile.fill(p.vector == 1 and dot_plain or dot_vector, v)
  return tile.source(parameters, p, {
    "scratch s f32[heads*seq*seq]",
    "launch scores grid=(cdiv(seq,16),cdiv(seq,16),heads) block=(16,16) args=(q, k, s, seq)",
    "launch softmax grid=(heads*seq) block=(128) args=(s, seq)",
    "launch values grid=(heads*seq) block=(128) args=(s, v, o, seq)",
  }, { tile.bf16, scale, p.vector > 1 and tile.bf16_vector, unfused }, v)
end

local plan_fused = "launch attention grid=(cdiv(seq,${tile_m})*heads) block=(${threads}) "
                   .. "shared=${shared} args=(q, k, v, o, heads, seq)"

-- How `widen` reads: whole when rows are in shared memory, else as the copies do.
local widen_plain = [[
#pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = __bfloat162float(from[e]);]]

local widen_vector = [[
#pragma unroll
    for (int e = 0; e < 8; e += ${vector}) {
        const vec y = *(const vec *)(from + e);

#pragma unroll
        for (int u = 0; u < ${vector}; u++)
            x[e + u] = __bfloat162float(y.at[u]);
    }]]

local widen_shared = [[
    struct alignas(16) { bf16 at[8]; } y;

    *(uint4 *)&y = *(const uint4 *)from;
#pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = __bfloat162float(y.at[e]);]]

-- Values that both fused kernels have, added to v.
local function values_of(p, tile_m, threads, bytes, v)
  v.tile_m, v.threads, v.shared, v.infinity = tile_m, threads, bytes, minus_infinity
  v.vector, v.bytes, v.unroll, v.top, v.enter = p.vector, 2 * p.vector, p.unroll, top, enter
  v.copy_unroll = math.max(1, math.min(8, p.tile_n * 128 // p.vector // threads))
  return v
end

local function emit_scalar(p)
  local is_tiled = tiled(p)
  local queries = 8
  local tile_m = is_tiled and p.tile_m or 32
  local threads = tile_m // queries * 32
  local many = is_tiled and p.stages > 1
  local cp = many and p.vector > 1
  local v = values_of(p, tile_m, threads, is_tiled and shared(p) or tile_m * 160 * 4, {
    inside = is_tiled and "true" or "mine < n",
    key_limit = is_tiled and "" or " && key + j < n",
    first_commit = cp and "    commit();\n" or "",
    commit = cp and "        commit();\n" or "",
    wait = cp and "        wait<0>();\n" or "",
  })
  v.copy = tile.bf16_copy(cp, "at_row(i, d)", v.bytes)
  v.widen = tile.fill(is_tiled and widen_shared or p.vector > 1 and widen_vector
                      or widen_plain, v)
  v.loop = tile.fill(not is_tiled and scalar_untiled or many and scalar_two
                     or scalar_one, v)
  return tile.source(parameters, p, { plan_fused }, {
    tile.bf16, scale,
    tile.constants {
      { "TILE_M", tile_m }, { "TILE_N", is_tiled and p.tile_n or 32 },
      { "QUERIES", queries }, { "ROW", 128 + p.pad }, { "THREADS", threads },
    },
    (is_tiled or p.vector > 1) and tile.bf16_vector,
    place(p),
    tile.place("at_row", 128, p.pad, p.swizzle),
    cp and tile.async(2 * p.vector),
    is_tiled and copies, scalar, scalar_main,
  }, v)
end

-- What goes before the scores and between them and the values of a tile.
local function flow(p, cp)
  local begin, middle, prologue = {}, {}, {}
  local function add(list, text, ...) list[#list + 1] = text:format(...) .. "\n" end
  local function commit(list, pad)
    if cp then add(list, "%scommit();", pad) end
  end
  local function fetch(list, pad, step)
    add(list, "%sfetch_keys(%s);", pad, step)
    if p.prefetch == 1 then commit(list, pad) end
    add(list, "%sfetch_values(%s);", pad, step)
    commit(list, pad)
  end
  local t, ahead = "        ", p.stages - 1
  for step = 0, ahead - 1 do fetch(prologue, "    ", step) end
  local late = p.prefetch == 1
  if ahead == 0 then
    add(begin, t .. "__syncthreads();")
    fetch(begin, t, "step")
    if cp then add(begin, t .. "wait<%d>();", late and 1 or 0) end
    add(begin, t .. "__syncthreads();")
  else
    if cp then add(begin, t .. "wait<%d>();", late and 2 * ahead - 1 or ahead - 1) end
    add(begin, t .. "__syncthreads();")
    fetch(begin, t, "step + " .. ahead)
  end
  if late then
    add(middle, t .. "wait<%d>();", 2 * ahead)
    add(middle, t .. "__syncthreads();")
  end
  return table.concat(prologue), table.concat(begin), table.concat(middle)
end

local function emit_matrix(p)
  local threads = warps(p) * 32
  local cp = async(p)
  local held = p.unroll == 8 and p.warp_m == 16
  local v = values_of(p, p.tile_m, threads, shared(p), {
    commit = cp and "    commit();\n" or "", wait_all = cp and "    wait<0>();\n" or "",
  })
  v.copy = tile.bf16_copy(cp, "at_row(i, d)", v.bytes)
  v.load_queries = held and tile.fill(queries_held, v) or ""
  v.score = tile.fill(held and score_held or score_taken, v)
  v.prologue, v.begin, v.middle = flow(p, cp)
  return tile.source(parameters, p, { plan_fused }, {
    tile.bf16, scale,
    tile.constants {
      { "TILE_M", p.tile_m }, { "TILE_N", p.tile_n }, { "WARP_M", p.warp_m },
      { "PARTS", "WARP_M / 16" }, { "ROW", 128 + p.pad },
      { "STAGES", p.stages }, { "THREADS", threads },
    },
    tile.bf16_vector, place(p),
    tile.place("at_row", 128, p.pad, p.swizzle),
    cp and tile.async(2 * p.vector) or tile.shared_address,
    copies, tile.matrix, matrix, matrix_main,
  }, v)
end

local function emit(point)
  local p = settle(point)
  if not fused(p) then return emit_unfused(p) end
  return p.instruction == "mma" and emit_matrix(p) or emit_scalar(p)
end

return { parameters = parameters, valid = valid, emit = emit }
