import torch
from performance_utils import Performance_Metrics
from TritonBench_v1.add_in_place import add_in_place


class performance_metrics(Performance_Metrics):
    def __init__(self, dtype=None, is_backward=False, **kwargs):
        super().__init__('add_in_place', dtype=dtype, is_backward=is_backward, **kwargs)

    def get_input_tensors(self):
        self.input_tensors = []
        for n in (256, 1024):
            self.input_tensors.append((torch.randn(n), torch.randn(n)))

    def to_cuda(self, input_tensor):
        return tuple(t.cuda() for t in input_tensor)

    def call_op(self, input_tensor):
        return add_in_place(*input_tensor)
