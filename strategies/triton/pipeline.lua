-- Pipeline: loads of later steps while this one is computed.

local prompt = [[
Rewrite the kernel so that loads and arithmetic overlap.

- A loop over blocks is pipelined by num_stages of the launch or of tl.range(.., num_stages=):
  3 to 5 for products on Hopper, 2 to 3 where shared memory is short. Each stage costs one
  tile of each operand in shared memory.
- Loads of the loop should depend on the counter alone, not on results of this turn.
- Advance pointers by a constant; hoist what does not change, masks too.
- tl.static_range unrolls short loops; long ones want tl.range.
- Two accumulators break a chain of additions.
]]

return {
  name = "pipeline",
  target = "sm",
  summary = "stages of loops, loads ahead of arithmetic",
  prompt = prompt,
  moves = { "stages1", "stages2", "stages3", "stages4", "stages5", "stages6" },
}
