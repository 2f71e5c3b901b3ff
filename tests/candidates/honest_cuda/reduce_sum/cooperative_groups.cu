// A block a row; sums over tiles of a warp by the toolkit's own reduction.
// kb: launch reduce_sum grid=(rows) block=(256) args=(x, y, rows, cols)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reduce_sum(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[8];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float sum = 0;
    for (int c = block.thread_rank(); c < cols; c += 256)
        sum += x[(long long)blockIdx.x * cols + c];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0)
        part[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        sum = cg::reduce(warp, warp.thread_rank() < 8 ? part[warp.thread_rank()] : 0.0f,
                         cg::plus<float>());
        if (warp.thread_rank() == 0)
            y[blockIdx.x] = sum;
    }
}
