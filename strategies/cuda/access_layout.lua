-- Access layout: how data lies in shared memory and which way it takes through the caches.

local prompt = [[
Rewrite the kernel with better paths for its data.

- Where one side of a copy is strided, stage a tile in shared memory and walk both
  sides along rows.
- Shared memory has 32 banks of 4 bytes. A column of a tile 32 wide lies in one bank:
  pad rows by one element (by 16 bytes where vectors are stored), or exclusive-or the
  column with the row.
- What is read once and written once should not push out what is used again:
  __ldcs and __stcs. What all blocks read again is loaded plainly or with __ldg.
- Repack an operand once when it is read many times in another order.
- A row may be kept in shared memory instead of registers; dynamic shared memory is
  asked for in the launch line, 48 KiB at most without more ado.
- Structures of arrays, not arrays of structures.
]]

return {
  name = "access_layout",
  target = "dram",
  summary = "coalescing, bank conflicts, cache hints",
  prompt = prompt,
  moves = { "pad", "pack", "swizzle", "load_hint", "store_hint" },
}
