-- Access layout: change how data lies in memory, or how it gets there, so that the
-- inner loop walks it in order.

local prompt = [[
Rewrite the kernel so that its inner loop meets its data in order.

- Pack: copy a block that is read many times, or read with a stride, into a
  contiguous scratch buffer in exactly the order of use. It pays when each element
  is used more than a few times.
- Avoid rows whose distance is a large power of two: they share cache sets. Pad the
  rows of a scratch buffer by 16 floats.
- A padded copy with its border filled in spares the inner loop every bounds check.
- A large output that is written once and not read again may bypass the cache with
  non-temporal stores. They need alignment (test the address), whole 64-byte lines
  to be worth it, and a store fence at the end. Guard them with
  #if defined(__SSE2__) and keep a plain store beside them.
- Scratch memory: a local array up to 128 KiB, else aligned_alloc and free. No static
  buffers, no assumption about the alignment of rows, no write to an input.
- Sizes are arbitrary, from 1 up: partial blocks pack only what exists.
]]

return {
  name = "access_layout",
  target = "dram",
  summary = "packing, padded scratch, non-temporal stores",
  prompt = prompt,
  moves = { "pack_a", "pack_b", "pack", "stream" },
}
