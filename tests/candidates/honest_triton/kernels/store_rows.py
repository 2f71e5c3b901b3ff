import torch
import triton
import triton.language as tl


@triton.jit
def store_kernel(x_ptr, out_ptr, n, SIZE: tl.constexpr):
    row = tl.program_id(0)
    slot = tl.where(row < n, row, n)        # all rows but the first n race for one slot
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + slot * SIZE + at, tl.load(x_ptr + row * SIZE + at) * 2)


def store_rows(x, out, n):
    store_kernel[(x.shape[0],)](x, out, n, SIZE=x.shape[1], num_warps=4)


##################################################################################################################################################


def test_store_rows():
    x = torch.randn(4, 64, device='cuda')
    out = torch.zeros(8, 64, device='cuda')
    store_rows(x, out, 4)
    return {'test_case_1': out}


result_gold = test_store_rows()
