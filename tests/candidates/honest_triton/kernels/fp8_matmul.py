import torch
import triton
import triton.language as tl


@triton.jit
def fp8_matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, scale, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :])
        acc += tl.dot(a.to(tl.float16), b.to(tl.float16))
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], (acc * scale).to(tl.float16))


def fp8_matmul(a, b, scale=0.5):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    fp8_matmul_kernel[(M // 32, N // 32)](a, b, c, M, N, K, scale, BM=32, BN=32, BK=32)
    return c


##################################################################################################################################################


def test_fp8_matmul():
    results = {}
    for m, n, k in (64, 32, 96), (32, 96, 64):
        a = torch.randn(m, k, device='cuda').to(torch.float8_e4m3fn)
        b = torch.randn(k, n, device='cuda').to(torch.float8_e4m3fn)
        results['test_case_%d' % m] = fp8_matmul(a, b)
    return results


result_gold = test_fp8_matmul()
