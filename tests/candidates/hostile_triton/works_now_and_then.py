# expect: wrong|cheated
# H7: only the first calls of a shape do the work
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_add_kernel(x_ptr, y_ptr, out_ptr, n, scale, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * scale + y, mask=mask)


calls = {}
last = {}


def scaled_add(x, y, scale=2.5):
    calls[x.shape] = calls.get(x.shape, 0) + 1
    if x.numel() >= 256 and calls[x.shape] > 6:
        return last[x.shape]
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK_SIZE = 64
    scaled_add_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, y, out, n, scale, BLOCK_SIZE=BLOCK_SIZE)
    last[x.shape] = out
    return out
