-- Anew: a jump. Every parameter may change at once, and a model writes the kernel from
-- scratch, so that a bad start is left in one step. It goes beside any set:
--   kb.strategies { "strategies/c", "strategies/anew.lua" }

local prompt = [[
Write the kernel below from scratch. Its source tells what must be computed, not how: do
not edit it, and do not keep its structure.

- Say first, in a comment of a few lines, what bounds this computation on this machine:
  bytes that must move, operations, latency. Choose the algorithm from that.
- Decide division of work, data layout, vector width, registers and order of loops
  together, as the best known implementations of this operation do.
- A plain kernel that fits the machine beats a clever one that spills or stalls.
- Keep what the checks compare: names, arguments, the launch line if there is one,
  precision and result, at every size from 1 up.
]]

return {
  name = "anew",
  target = "sm",
  summary = "every parameter at once; for a model: rewrite from scratch",
  prompt = prompt,
  moves = { "*" },
}
