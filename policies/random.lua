-- Random: an even draw among all open (kernel, strategy) pairs. The floor that
-- a policy has to beat.

local function new(_, ctx)
  local kernels, open = {}, ctx.open
  local policy = {}

  function policy.admit(kernel) kernels[#kernels + 1] = kernel end

  function policy.choose()
    local pairs_open = {}
    for _, kernel in ipairs(kernels) do
      for i = 1, #ctx.strategies do
        if open(kernel, i) then
          pairs_open[#pairs_open + 1] = { kernel, i }
        end
      end
    end
    if #pairs_open == 0 then return nil end
    local pick = pairs_open[1 + ctx.rng:below(#pairs_open)]
    return pick[1], pick[2]
  end

  function policy.learn() end

  return policy
end

return { name = "random", summary = "an even draw among open pairs",
         defaults = {}, new = new }
