-- Fusion: make fewer passes over memory, and fewer launches.

local prompt = [[
Rewrite the Triton kernels below with fewer passes over memory,
and change nothing else about them.

- List launches and what each reads and writes. What one kernel writes and the next reads
  belongs in registers of one kernel.
- Operations of torch in the wrapper (zeros, contiguous, transposes, casts, element-wise
  work) are kernels too: do them where data is loaded or stored. torch.empty suffices for
  what is written whole.
- Maximum and sum of exponentials share one pass when the sum is rescaled as the maximum
  grows; mean and variance share one by Welford's update or by two sums.
- Results that need the same input are made by one program.
- Mind registers: past 128 a thread occupancy falls, past 255 values spill.
- Keep the names and arguments of the functions that are called from outside, and the
  result for every shape. Import nothing but torch, triton and math.
]]

return {
  name = "fusion",
  target = "dram",
  summary = "fewer passes over memory, fewer launches",
  prompt = prompt,
  facts = { "dram" },
  moves = {},
}
