-- Reordering: the same operations in an order that the machine likes better.
-- Nothing is added but loops, nothing is saved but time.

local prompt = [[
Rewrite the kernel with its loops and statements in a better order.

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
]]

return {
  name = "reordering",
  target = "sm",
  summary = "loop order, order of blocks, borders out of the loop",
  prompt = prompt,
  moves = { "order", "block_order", "sweep", "peel" },
}
