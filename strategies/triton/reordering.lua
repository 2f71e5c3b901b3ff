-- Reordering: which program runs when, and which loop is outside.

local prompt = [[
Rewrite the kernel with another order of its work.

- Programs that share operands should run together: number them in groups of GROUP_M rows
  of tiles, so that what one reads is in the second-level cache for its neighbours.
- Persistent programs (one a multiprocessor, a loop over tiles) save launches and a last
  wave; heavy tiles first, so that light ones fill the end.
- Causal work: skip tiles that are masked whole, treat the diagonal apart.
- Exchange loops so that what is reused stays, and the reduction is innermost.
- Split a long reduction over programs when there are few of them, and add up at the end.
]]

return {
  name = "reordering",
  target = "sm",
  summary = "order of programs and of loops",
  prompt = prompt,
  moves = { "group1", "group2", "group3", "group4" },
}
