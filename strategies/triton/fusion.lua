-- Fusion: make fewer passes over memory, and fewer launches.

local prompt = [[
Rewrite the kernels with fewer passes over memory.

- List launches and what each reads and writes. What one kernel writes and the next reads
  belongs in registers of one kernel.
- Operations of torch in the wrapper (zeros, contiguous, transposes, casts, element-wise
  work) are kernels too: do them where data is loaded or stored. torch.empty suffices for
  what is written whole.
- Maximum and sum of exponentials share one pass when the sum is rescaled as the maximum
  grows; mean and variance share one by Welford's update or by two sums.
- Results that need the same input are made by one program.
- Mind registers: past 128 a thread occupancy falls, past 255 values spill.
]]

return {
  name = "fusion",
  target = "dram",
  summary = "fewer passes over memory, fewer launches",
  prompt = prompt,
  moves = {},
}
