# expect: timeout
# an endless loop
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


def scaled_add(x, y, scale=2.5):
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK_SIZE = 64
    scaled_add_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, y, out, n, scale, BLOCK_SIZE=BLOCK_SIZE)
    while True:
        pass
