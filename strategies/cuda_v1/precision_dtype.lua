-- Precision: as much as the result needs, and no more.

local prompt = [[
Rewrite the kernel with cheaper arithmetic of the same accuracy.

- Accumulate in fp32. Results are compared with a float64 reference to a few roundings,
  growing with the length of a sum: TF32 or bf16 in place of fp32 is found out.
- Fast variants with errors of a few units in the last place may replace library
  functions: __expf, exp2f with a scaled argument, __fdividef, rsqrtf.
- No double in inner loops: constants end in f. Integer indices of 32 bits where sizes
  allow.
- bf16 and fp16 inputs are converted once, in pairs.
]]

return {
  name = "precision_dtype",
  target = "sm",
  summary = "cheaper arithmetic of sufficient precision",
  prompt = prompt,
  moves = { "exp" },
}
