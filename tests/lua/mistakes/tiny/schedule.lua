local function valid() return true end

local function emit(p)
  return ("void tiny(const float *x, float *y, int n)\n{\n#pragma GCC unroll %d\n"
          .. "    for (int i = 0; i < n; i++)\n        y[i] = 2 * x[i] + 1;\n}\n"):format(p.unroll)
end

return { parameters = { { "unroll", { 1, 2, 4 } } }, valid = valid, emit = emit }
