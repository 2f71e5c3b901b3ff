import os
import sys

sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), '..')))

from TritonBench_v1.scaled_add import scaled_add
from performance_utils import Performance_Metrics, do_bench_config

import torch


class performance_metrics(Performance_Metrics):
    def __init__(self, dtype=None, is_backward=False, **kwargs):
        super().__init__('scaled_add', dtype=dtype, is_backward=is_backward, **kwargs)

    def get_input_tensors(self):
        self.input_tensors = []
        for i in range(8, 11):
            self.input_tensors.append((torch.rand(2 ** i), torch.rand(2 ** i)))

    def to_cuda(self, input_tensor):
        return tuple(t.cuda() for t in input_tensor)

    def call_op(self, input_tensor):
        return scaled_add(input_tensor[0], input_tensor[1])

    def get_gbps(self, input_tensor, runtime):
        return 3 * input_tensor[0].numel() * 4 / (runtime / 1000) / 1e9

    def get_tflops(self, input_tensor, runtime):
        return 2 * input_tensor[0].numel() / (runtime / 1000) / 1e12


if __name__ == '__main__':
    op_perf = performance_metrics()
    op_perf.get_input_tensors()
    op_perf.get_do_bench_config(warmup=100, rep=1000)
    op_perf.run_benchmark()
