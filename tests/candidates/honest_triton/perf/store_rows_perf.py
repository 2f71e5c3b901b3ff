import torch
from performance_utils import Performance_Metrics
from TritonBench_v1.store_rows import store_rows


class performance_metrics(Performance_Metrics):
    def __init__(self, dtype=None, is_backward=False, **kwargs):
        super().__init__('store_rows', dtype=dtype, is_backward=is_backward, **kwargs)

    def get_input_tensors(self):
        self.input_tensors = []
        for rows in (16, 256):
            self.input_tensors.append((torch.rand(rows, 64, dtype=torch.float16),
                                       torch.rand(128, 64, dtype=torch.float16)))

    def to_cuda(self, input_tensor):
        return tuple(t.cuda() for t in input_tensor)

    def call_op(self, input_tensor):
        return store_rows(*input_tensor, 8)
