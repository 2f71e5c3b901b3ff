return {
  parameters = { { "passes", { 4, 2, 1 } }, { "order", { "forwards", "backwards" } },
                 { "index", { "int", "long" } } },
  valid = function() return true end,
  emit = function(p)
    local loop = (p.order == "forwards" and "%s i = 0; i < n; i++"
                  or "%s i = n - 1; i >= 0; i--"):format(p.index)
    return ([[
void scale(const float *x, float *y, int n)
{
    for (%s)
        for (volatile int k = 0; k < %d; k++)
            y[i] = 3 * x[i];
}
]]):format(loop, p.passes)
  end,
}
