-- Reordering: the same operations in an order that the machine likes better.
-- Nothing is added but loops, nothing is saved but time.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the C kernel below with its loops and statements in a better order, and
change nothing else about it.

- Put a loop over contiguous memory innermost. For a matrix product in row-major
  order that is i, k, j rather than i, j, k: a row of the result is then updated by
  scaled rows of b, and the compiler can use vectors by itself.
- Weigh where the running result lives: the reduction innermost keeps it in a
  register, another order keeps it in memory but may read the inputs better.
- Order loops over blocks so that the block with most reuse changes slowest.
- Of two passes over one row, let the second start where the first ended: the end
  of the row is still in cache, its beginning may not be.
- Take special cases out of the loop: handle borders before or after a clean
  interior loop, and hoist what does not change.
- Check every dependence. Sums may be added in another order; a value must not be
  read before it is written, nor written twice with a different meaning.
- Sizes are arbitrary, from 1 up. Do not touch the signature or the precision.
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
    say[#say + 1] = ("Arithmetic is at %.0f%% of the core's peak (%s)."):format(used, kind)
  end
  return table.concat(say, "\n")
end

return {
  name = "reordering",
  target = "sm",
  summary = "loop order, order of blocks, borders out of the loop",
  prompt = prompt,
  moves = { "order", "block_order", "sweep", "peel" },
}
