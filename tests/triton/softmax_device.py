# kb: triton rows_softmax grid=(rows) args=(x, y, cols) BLOCK=4096 warps=8
# A candidate of the device-only tier for examples/tasks/softmax: two passes over a row.
import triton
import triton.language as tl


@triton.jit
def rows_softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + lanes
        v = tl.load(x + row + at, mask=at < cols, other=-float("inf"))
        higher = tl.maximum(most, v)
        total = total * tl.exp(tl.where(most == higher, 0.0, most - higher)) \
            + tl.exp(tl.where(v == higher, 0.0, v - higher))
        most = higher
    peak = tl.max(most, axis=0)
    lanes_total = total * tl.exp(tl.where(most == peak, 0.0, most - peak))
    scale = 1.0 / tl.sum(tl.where(most == -float("inf"), 0.0, lanes_total), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + lanes
        v = tl.load(x + row + at, mask=at < cols, other=-float("inf"))
        tl.store(y + row + at, tl.exp(v - peak) * scale, mask=at < cols)
