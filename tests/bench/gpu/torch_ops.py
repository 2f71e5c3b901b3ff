"""What a user has today: torch.compile and the vendor's libraries, median us.

One "name us" line an operation; python3 with torch on a GPU.
"""
import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")


def median_us(step, reps=40):
    for _ in range(3):
        step()
    times = []
    for _ in range(reps):
        flush.zero_()
        torch.cuda._sleep(1_000_000)    # half a millisecond: no launch of the host's is waited for
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1e3)
    return sorted(times)[len(times) // 2]


def compiled(name, f, *args):
    g = torch.compile(f)
    print(name, f"{median_us(lambda: g(*args)):.1f}", flush=True)


F = torch.nn.functional
x = torch.randn(8192, 4096, device="cuda")
w, b = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
target = torch.randint(0, 4096, (8192,), device="cuda")
compiled("softmax", lambda v: torch.softmax(v, -1), x)
compiled("rmsnorm", lambda v, s: F.rms_norm(v, (4096,), s, 1e-5), x, w)
compiled("layernorm", lambda v, s, t: F.layer_norm(v, (4096,), s, t, 1e-5), x, w, b)
compiled("reduce_sum", lambda v: v.sum(-1), x)
compiled("transpose", lambda v: v.t().contiguous(), x)
compiled("gelu_bias", lambda v, t: F.gelu(v + t, approximate="tanh"), x, b)
compiled("cross_entropy", lambda v, t: F.cross_entropy(v, t, reduction="none"), x, target)
p, q = torch.randn(4096, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")
print("gemm_f32", f"{median_us(lambda: p @ q, 20):.1f}")
p, q = p.bfloat16(), q.bfloat16()
print("gemm_bf16", f"{median_us(lambda: p @ q):.1f}")
q, k, v = (torch.randn(4, 32, 2048, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
print("attention_fwd", f"{median_us(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)):.1f}")
