-- Random: any open (kernel, strategy) pair, all alike. What every other policy
-- must beat. It has no statistics, so pulls under way are nothing to it.

local function new(_, ctx)
  local n, open, rng = #ctx.strategies, ctx.open, ctx.rng
  local kernels, parent, index = {}, {}, {}     -- parent, index: pairs not known to be closed
  local policy = {}

  local function add(kernel, i)
    parent[#parent + 1], index[#index + 1] = kernel, i
  end

  -- What is drawn and closed makes room for the last.
  local function draw()
    while #parent > 0 do
      local at, last = 1 + rng:below(#parent), #parent
      local kernel, i = parent[at], index[at]
      if open(kernel, i) then return kernel, i end
      parent[at], index[at] = parent[last], index[last]
      parent[last], index[last] = nil, nil
    end
  end

  function policy.admit(kernel)
    kernels[#kernels + 1] = kernel
    for i = 1, n do add(kernel, i) end
  end

  function policy.choose()
    local kernel, i = draw()
    if kernel then return kernel, i end
    for _, k in ipairs(kernels) do      -- one may be open again
      for j = 1, n do
        if open(k, j) then add(k, j) end
      end
    end
    return draw()
  end

  function policy.learn() end

  return policy
end

return { name = "random", summary = "any open pair, all alike", defaults = {}, new = new }
