-- Access layout: change how data lies in memory, or how it gets there, so that the
-- inner loop walks it in order.

local function percent(kernel, pipe)
  local h, kinds = kernel.h, kernel.h_kind
  local value = type(h) == "table" and h[pipe]
  local kind = type(kinds) == "table" and kinds[pipe] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return value, kind
end

local function prompt(kernel)
  local say = { [[
Rewrite the C kernel below so that its inner loop meets its data in order, and
change nothing else about it.

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
- Do not touch the signature, the layout of arguments, the precision or the result.
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
  local phi, kinds = kernel.phi, kernel.phi_kind
  if type(phi) == "table" and type(kinds) == "table"
      and type(phi[8]) == "number" and kinds[8] ~= "missing" then
    say[#say + 1] = ("%.0f%% of loads and stores are contiguous (%s).")
      :format(phi[8] * 100, tostring(kinds[8]))
  end
  return table.concat(say, "\n")
end

return {
  name = "access_layout",
  target = "dram",
  summary = "packing, padded scratch, non-temporal stores",
  prompt = prompt,
  moves = { "pack_a", "pack_b", "pack", "stream" },
}
