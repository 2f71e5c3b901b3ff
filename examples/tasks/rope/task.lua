-- Rotary position embedding, fp32. A head is two halves; y = x * cosine + x with
-- the halves swapped * sine. Tables are those of a token, for both halves: where
-- element i is turned by an angle a, cosine is cos a in both and sine is -sin a in
-- the first half and sin a in the second, as Hugging Face's rotate_half has it.
-- Legal domain: tokens, heads >= 1, half a multiple of 4, x of less than 2^31 elements.

return {
  name = "rope",
  summary = "rotary position embedding, fp32",
  args = {
    { "x", "f32", "in", { "tokens", "heads", 2, "half" } },
    { "cosine", "f32", "in", { "tokens", 2, "half" } },
    { "sine", "f32", "in", { "tokens", 2, "half" } },
    { "y", "f32", "out", { "tokens", "heads", 2, "half" } },
    { "tokens", "i32" }, { "heads", "i32" }, { "half", "i32" },
  },
  shapes = {
    smoke = {
      { tokens = 1, heads = 1, half = 4 },
      { tokens = 3, heads = 5, half = 12 },
    },
    timed = {
      { tokens = 8192, heads = 32, half = 64 },    -- 128 MiB
      { tokens = 4096, heads = 8, half = 64 },     -- keys of grouped heads
    },
    held_out = {
      { tokens = 61, heads = 7, half = 20 },
      { tokens = 1, heads = 31, half = 132 },
      { tokens = 127, heads = 1, half = 64 },
    },
  },
  work = function(s)
    local table_bytes = 16 * s.tokens * s.half
    local elements = 2 * s.tokens * s.heads * s.half
    return { flops = 3 * elements, bytes = 8 * elements + table_bytes }
  end,
  reduction = function() return 2 end,
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
