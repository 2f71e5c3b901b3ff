// Groups of threads from the toolkit's headers: blocks, tiles, those that are active.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    __shared__ float part[256];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int i = block.group_index().x * 256 + block.thread_rank();
    part[block.thread_rank()] = i < n ? x[i] : 0;
    block.sync();
    float v = warp.shfl(part[block.thread_rank() ^ 1], warp.thread_rank() ^ 1);
    if (i < n) {
        cg::coalesced_group active = cg::coalesced_threads();
        y[i] = 2 * v + (active.size() > 0);
    }
}
