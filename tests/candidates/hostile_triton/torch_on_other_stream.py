# expect: cheated
# H4: torch's work on a stream that no event is on, a Triton kernel where it is looked for
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
    scaled_add_kernel[(1,)](x, y, out, min(n, BLOCK_SIZE), scale, BLOCK_SIZE=BLOCK_SIZE)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.add(y, x, alpha=scale, out=out)
    return out
