-- Causal attention, bf16, heads of 128:
--   o[h][i] = sum over j <= i of softmax over j (q[h][i] . k[h][j] / sqrt(128)) v[h][j]
-- heads counts those of the whole batch. Legal domain: heads, seq >= 1; inputs
-- whose scores fp32 can hold to a small part of 1, which rules out `wide`.

return {
  name = "attention_fwd",
  summary = "causal attention, bf16, heads of 128",
  args = {
    { "q", "bf16", "in", { "heads", "seq", 128 } },
    { "k", "bf16", "in", { "heads", "seq", 128 } },
    { "v", "bf16", "in", { "heads", "seq", 128 } },
    { "o", "bf16", "out", { "heads", "seq", 128 } },
    { "heads", "i32" }, { "seq", "i32" },
  },
  shapes = {
    smoke = {
      { heads = 1, seq = 1 },
      { heads = 2, seq = 5 },
      { heads = 3, seq = 70 },
    },
    timed = {
      { heads = 128, seq = 2048 },         -- batch 4 x 32 heads
      { heads = 32, seq = 4096 },
    },
    held_out = {
      { heads = 3, seq = 127 },            -- prime, tile - 1
      { heads = 5, seq = 129 },
      { heads = 1, seq = 61 },
      { heads = 17, seq = 257 },
    },
  },
  -- Two products over half of the pairs, the exponential as one operation.
  work = function(s)
    local pairs = s.heads * s.seq * (s.seq + 1) / 2
    return { flops = (4 * 128 + 5) * pairs, bytes = 2 * 4 * s.heads * s.seq * 128 }
  end,
  -- Weights may be rounded to bf16 before they meet the values. That error is
  -- one of each term, not one of the sum, so it does not grow with its length;
  -- the sums are fp32.
  accumulate = "bf16",
  reduction = function() return 2 end,
  -- A weight below the smallest normal number may be flushed to 0. That shows where
  -- the keys that outweigh it have the value 0, as integers may: they are at most 8.
  underflow = function(s) return 8 * s.seq end,
  scale = "absolute",
  absolute = { "v" },     -- with the weights as they are: sum of weight |v|
  distributions = { "normal", "uniform", "lognormal", "spikes", "ties", "integers",
                    "denormal" },
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
