import torch
from performance_utils import Performance_Metrics
from TritonBench_v1.matmul import matmul


class performance_metrics(Performance_Metrics):
    def __init__(self, dtype=None, is_backward=False, **kwargs):
        super().__init__('matmul', dtype=dtype, is_backward=is_backward, **kwargs)

    def get_input_tensors(self):
        self.input_tensors = []
        for n in (32, 64):
            self.input_tensors.append((torch.randn(n, 2 * n), torch.randn(2 * n, n)))

    def to_cuda(self, input_tensor):
        return tuple(t.cuda() for t in input_tensor)

    def call_op(self, input_tensor):
        return matmul(*input_tensor)
