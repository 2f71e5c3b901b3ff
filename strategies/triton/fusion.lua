-- Fusion: make fewer passes over memory, and fewer launches.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
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
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "dram")
  if used then
    say[#say + 1] = ("Memory bandwidth is at %.0f%% of its peak (%s)."):format(used, kind)
  end
  return table.concat(say, "\n")
end

return {
  name = "fusion",
  target = "dram",
  summary = "fewer passes over memory, fewer launches",
  prompt = prompt,
  moves = {},
}
