-- Parallelism and occupancy: enough warps, each with enough to do.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

-- A feature of the profile, 0 .. 1, as percent.
local function feature(kernel, i)
  local phi, kinds = kernel.phi, kernel.phi_kind
  local value = type(phi) == "table" and phi[i]
  local kind = type(kinds) == "table" and kinds[i] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value * 100, tostring(kind)
end

local function prompt(kernel)
  local say = { [[
Rewrite the CUDA kernel below with another division among threads,
and change nothing else about it.

- Memory-bound kernels want some 1,000 threads a multiprocessor with 16 to 64 bytes in
  flight each; either more threads or more loads a thread will do.
- Compute-bound ones want few threads with many registers, 4 to 8 warps a block.
- __launch_bounds__(threads, blocks) bounds registers. Look for spills.
- Blocks of 128 to 512 threads; more only where a row needs them.
- A warp tile of a product, 32 x 64 or so, sets how often operands are read from
  shared memory.
- Keep the launch lines (`// kb: ...`) in step with the kernel. Sizes are arbitrary, from
  1 up; guard every access. Outputs and scratch start with arbitrary contents.
- Do not change names, the order of arguments, or the result.
]] }
  if type(kernel.time_ns) == "number" then
    say[#say + 1] = ("It runs in %.1f us now."):format(kernel.time_ns / 1e3)
  end
  if type(kernel.speedup) == "number" then
    say[#say + 1] = ("That is %.2f times as fast as the first version.")
      :format(kernel.speedup)
  end
  local used, kind = percent(kernel, "sm")
  if used then
    say[#say + 1] = ("Arithmetic is at %.0f%% of its peak (%s).")
      :format(used, kind)
  end
  local value5, origin5 = feature(kernel, 5)
  if value5 then
    say[#say + 1] = ("Achieved occupancy is %.0f%% (%s).")
      :format(value5, origin5)
  end
  local value6, origin6 = feature(kernel, 6)
  if value6 then
    say[#say + 1] = ("Registers take %.0f%% of what a thread may have (%s).")
      :format(value6, origin6)
  end
  return table.concat(say, "\n")
end

return {
  name = "parallelism_occupancy",
  target = "sm",
  summary = "threads, warps and registers of a block",
  prompt = prompt,
  moves = { "warp_m", "warp_n", "items", "threads", "resident" },
}
