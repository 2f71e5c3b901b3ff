-- How a 3 x 3 convolution (NCHW, fp32, stride 1, a border of zeros) may be
-- written for a GPU.
--
-- Untiled, a thread computes `vector` results of a row. Tiled, a block computes
-- tile_m channels of tile_n x 8 pixels: tile_k channels of the image, with a
-- border, and their filters come to shared memory, `stages` of them in flight; a
-- thread computes 8 channels of `vector` pixels. Packing reorders the filters
-- beforehand, so that the channels of one tap lie side by side.

local tile = require "kernelband.emit.tile"
local code = require "kernelband.emit"

local parameters = {
  { "tile_m", { 0, 16, 32, 64 } },                 -- channels out; 0: not tiled
  { "tile_n", { 0, 16, 32 } },                     -- pixels of a row
  { "tile_k", { 2, 4, 8 } },                       -- channels in
  { "vector", { 1, 2, 4 } },                       -- pixels a thread
  { "fuse_init", { 0, 1 } },                       -- no pass that zeroes y
  { "stages", { 1, 2, 3 } },                       -- tiles in shared memory
  { "unroll", { 1, 3, 9 } },                       -- taps of the filter
  { "order", { "pixels", "channels" } },           -- of blocks, the fastest
  { "pad", { 0, 1 } },                             -- elements a shared row
  { "pack", { 0, 1 } },                            -- filters reordered beforehand
}

local HEIGHT = 8    -- rows of a tile

local function tiled(p) return p.tile_m > 0 and p.tile_n > 0 end

-- The same kernel with what does not matter to it put back to the first value,
-- so that two points that are one kernel are one text.
local function settle(p)
  local out = code.copy(parameters, p)
  if not tiled(p) then
    code.reset(parameters, out, { "tile_m", "tile_n", "tile_k", "stages", "pad", "pack" })
  end
  return out
end

local function threads(p)
  return p.tile_m // 8 * (p.tile_n // p.vector) * HEIGHT
end

local function row_length(p) return p.tile_n + 2 + p.pad end

-- Bytes of shared memory.
local function shared(p)
  return 4 * p.stages * p.tile_k * ((HEIGHT + 2) * row_length(p) + 9 * p.tile_m)
end

local function valid(point)
  if not tiled(point) then return true end
  local p = settle(point)
  return threads(p) >= 32 and threads(p) <= 1024 and shared(p) <= 227 * 1024
         and threads(p) * (8 * p.vector + 40) <= 65536
end

local plain = [[

extern "C" __global__ void conv(const float *x, const float *f, float *y,
                                int n, int c, int h, int w, int k)
{
    const int j = ${j};
    const int i = blockIdx.${ib} * blockDim.y + threadIdx.y;
    const int image = blockIdx.z / k, out = blockIdx.z % k;
    float sum${sum};

    if (i >= h || j >= w)
        return;
    for (int in = 0; in < c; in++) {
        const float *from = x + ((size_t)image * c + in) * h * w;
        const float *by = f + ((size_t)out * c + in) * 9;

${unrolled}        for (int tap = 0; tap < 9; tap++) {
            const int row = i + tap / 3 - 1, column = j + tap % 3 - 1;

${tap}
        }
    }
${store}
}
]]

local tap_one = [[
            if (row >= 0 && row < h && column >= 0 && column < w)
                sum += by[tap] * from[(size_t)row * w + column];]]

local tap_vector = [[
            if (row < 0 || row >= h)
                continue;
#pragma unroll
            for (int v = 0; v < ${vector}; v++)
                if (column + v >= 0 && column + v < w)
                    sum[v] += by[tap] * from[(size_t)row * w + column + v];]]

local store_one = "    y[(((size_t)image * k + out) * h + i) * w + j] ${set} sum;"

local store_vector = [[
#pragma unroll
    for (int v = 0; v < ${vector}; v++)
        if (j + v < w)
            y[(((size_t)image * k + out) * h + i) * w + j + v] ${set} sum[v];]]

local packing = [[

/* to[in][tap][out] = f[out][in][tap] */
extern "C" __global__ void reorder(const float *f, float *to, int c, int k)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;

    if (t < 9 * c * k)
        to[t] = f[((size_t)(t % k) * c + t / k / 9) * 9 + t / k % 9];
}
]]

local copies = [[

/* Channels of the image from `in` on, rows from i0 - 1, columns from j0 - 1. */
static __device__ void copy_image(float *to, const float *x, int in, int i0,
                                  int j0, int c, int h, int w)
{
#pragma unroll 4
    for (int t = threadIdx.x; t < TILE_K * (HEIGHT + 2) * (TILE_N + 2);
         t += THREADS) {
        const int column = t % (TILE_N + 2), rest = t / (TILE_N + 2);
        const int row = rest % (HEIGHT + 2), channel = rest / (HEIGHT + 2);
        const int i = i0 + row - 1, j = j0 + column - 1;
        const bool inside =
            in + channel < c && i >= 0 && i < h && j >= 0 && j < w;
        const float *at = x + ((size_t)(in + channel) * h + i) * w + j;
        float *put = to + (channel * (HEIGHT + 2) + row) * ROW + column;

        ${copy_x}
    }
}

/* Filters as [in][tap][out], from channels (in, out) on. */
static __device__ void copy_filters(float *to, const float *f, int in, int out,
                                    int c, int k)
{
#pragma unroll 4
    for (int t = threadIdx.x; t < TILE_K * 9 * TILE_M; t += THREADS) {
${filter}
        const bool inside = in + channel < c && out + m < k;
        const float *at = ${filter_at};
        float *put = to + (channel * 9 + tap) * TILE_M + m;

        ${copy_f}
    }
}
]]

local filter_plain = [[
        const int tap = t % 9, rest = t / 9;
        const int channel = rest % TILE_K, m = rest / TILE_K;]]

local filter_packed = [[
        const int m = t % TILE_M, rest = t / TILE_M;
        const int tap = rest % 9, channel = rest / 9;]]

local multiply = [[

/* One channel in: 8 channels out of VECTOR pixels. */
static __device__ void multiply_channel(float (&sum)[8][VECTOR], const float *x,
                                        const float *f)
{
#pragma unroll ${rows}
    for (int row = 0; row < 3; row++) {
        float pixel[VECTOR + 2];

#pragma unroll
        for (int v = 0; v < VECTOR + 2; v++)
            pixel[v] = x[row * ROW + v];
#pragma unroll
        for (int column = 0; column < 3; column++) {
            const float4 *by =
                (const float4 *)(f + (row * 3 + column) * TILE_M);
            const float4 a = by[0], b = by[1];

#pragma unroll
            for (int v = 0; v < VECTOR; v++) {
                const float z = pixel[column + v];

                sum[0][v] += a.x * z;
                sum[1][v] += a.y * z;
                sum[2][v] += a.z * z;
                sum[3][v] += a.w * z;
                sum[4][v] += b.x * z;
                sum[5][v] += b.y * z;
                sum[6][v] += b.z * z;
                sum[7][v] += b.w * z;
            }
        }
    }
}
]]

local main_head = [[

extern "C" __global__ void __launch_bounds__(THREADS)
conv(const float *x, const float *f, float *y, int n, int c, int h, int w,
     int k)
{
    extern __shared__ __align__(128) float buffer[];
    float *const filters = buffer, *const images = buffer + STAGES * F_SIZE;
    const int across = (w + TILE_N - 1) / TILE_N;
    const int down = (h + HEIGHT - 1) / HEIGHT;
    const int steps = (c + TILE_K - 1) / TILE_K;
    const int t = threadIdx.x;
    const int column = t % (TILE_N / VECTOR) * VECTOR;
    const int row = t / (TILE_N / VECTOR) % HEIGHT;
    const int m = t / (TILE_N / VECTOR) / HEIGHT * 8;
${place}
    const int j0 = pixels % across * TILE_N;
    const int i0 = pixels / across % down * HEIGHT;
    const int image = pixels / across / down;
    float sum[8][VECTOR] = {};

    x += (size_t)image * c * h * w;

    auto fetch = [&](int step) {
        const int stage = step % STAGES;

        copy_image(images + stage * X_SIZE, x, step * TILE_K, i0, j0, c, h, w);
        copy_filters(filters + stage * F_SIZE, f, step * TILE_K, out, c, k);
    };
    auto multiply = [&](int step) {
        const float *by = filters + step % STAGES * F_SIZE + m;
        const float *from =
            images + step % STAGES * X_SIZE + row * ROW + column;

#pragma unroll ${channels}
        for (int in = 0; in < TILE_K; in++)
            multiply_channel(sum, from + in * (HEIGHT + 2) * ROW,
                             by + in * 9 * TILE_M);
    };

]]

local place_pixels = [[
    const int pixels = blockIdx.x % (across * down * n);
    const int out = blockIdx.x / (across * down * n) * TILE_M;]]

local place_channels = [[
    const int groups = (k + TILE_M - 1) / TILE_M;
    const int pixels = blockIdx.x / groups;
    const int out = blockIdx.x % groups * TILE_M;]]

local tail = [[

    if (i0 + row >= h)
        return;
#pragma unroll
    for (int o = 0; o < 8; o++) {
        const size_t plane = (size_t)image * k + out + m + o;
        float *to = y + (plane * h + i0 + row) * w;

        if (out + m + o >= k)
            break;
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
            if (j0 + column + v < w)
                to[j0 + column + v] ${set} sum[o][v];
    }
}
]]

local zero = tile.zero("float", "y", "count", "channels", "0.0f")
local plan_zero = "launch zero grid=(cdiv(n*k*h*w,256)) block=(256) args=(y, n*h*w, k)"

local function emit_plain(p)
  local pixels, many = p.order == "pixels", p.vector > 1
  local j = ("blockIdx.%s * blockDim.x + threadIdx.x"):format(pixels and "x" or "y")
  local v = {
    j = many and ("(%s) * %d"):format(j, p.vector) or j, ib = pixels and "y" or "x",
    sum = many and ("[%d] = { 0.0f }"):format(p.vector) or " = 0.0f", vector = p.vector,
    across = 32 * p.vector, set = p.fuse_init == 1 and "=" or "+=", unrolled = tile.unrolled(p),
  }
  v.tap = tile.fill(many and tap_vector or tap_one, v)
  v.store = tile.fill(many and store_vector or store_one, v)
  v.grid = tile.fill(pixels and "cdiv(w,${across}),cdiv(h,8),n*k"
                     or "cdiv(h,8),cdiv(w,${across}),n*k", v)
  local plan = { p.fuse_init == 0 and plan_zero,
                 "launch conv grid=(${grid}) block=(32,8) args=(x, f, y, n, c, h, w, k)" }
  return tile.source(parameters, p, plan, { p.fuse_init == 0 and zero, plain }, v)
end

local function emit_tiled(p)
  local many, packed, add = p.stages > 1, p.pack == 1, p.fuse_init == 0
  local copy = many and "copy_async(put, inside ? at : x, inside ? 4 : 0);"
               or "*put = inside ? *at : 0.0f;"
  local v = {
    tile_m = p.tile_m, tile_n = p.tile_n, threads = threads(p), shared = shared(p),
    height = HEIGHT, set = add and "+=" or "=",
    rows = p.unroll == 1 and 1 or 3, channels = p.unroll == 9 and 2 or 1,
    copy_x = copy, copy_f = copy:gsub("at : x", "at : f"),
    filter = packed and filter_packed or filter_plain,
    filter_at = packed and "f + ((size_t)(in + channel) * 9 + tap) * k + out + m"
      or "f + ((size_t)(out + m) * c + in + channel) * 9 + tap",
    filters = packed and "ordered" or "f",
    place = p.order == "pixels" and place_pixels or place_channels,
  }
  local plan = { packed and "scratch ordered f32[9*c*k]", add and plan_zero,
    packed and "launch reorder grid=(cdiv(9*c*k,256)) block=(256) args=(f, ordered, c, k)",
    "launch conv grid=(cdiv(w,${tile_n})*cdiv(h,${height})*n*cdiv(k,${tile_m})) "
      .. "block=(${threads}) shared=${shared} args=(x, ${filters}, y, n, c, h, w, k)" }
  return tile.source(parameters, p, plan, {
    tile.constants {
      { "TILE_M", p.tile_m }, { "TILE_N", p.tile_n }, { "TILE_K", p.tile_k },
      { "HEIGHT", HEIGHT }, { "VECTOR", p.vector }, { "STAGES", p.stages },
      { "THREADS", threads(p) }, { "ROW", row_length(p) },
      { "X_SIZE", "TILE_K * (HEIGHT + 2) * ROW" },
      { "F_SIZE", "TILE_K * 9 * TILE_M" },
    },
    add and zero, packed and packing, many and tile.async(4),
    copies, multiply, main_head, tile.loop(p.stages, "multiply(step);", tile.turns(many)), tail,
  }, v)
end

local function emit(point)
  local p = settle(point)
  return tiled(p) and emit_tiled(p) or emit_plain(p)
end

return { parameters = parameters, valid = valid, emit = emit }
