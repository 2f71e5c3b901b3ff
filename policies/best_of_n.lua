-- Best of N: every attempt starts from the baseline and knows nothing of the
-- others; the fastest is kept. What KernelBand's ablation calls best-of-N (arXiv
-- 2511.18868).
-- Strategies take turns. Only once the baseline has nothing left does the next
-- kernel in order of arrival serve. Turns are taken when a pull is chosen, so those under
-- way count; there are no statistics beside.

local function new(_, ctx)
  local n, open = #ctx.strategies, ctx.open
  local kernels, turn = {}, 0
  local policy = {}

  function policy.admit(kernel) kernels[#kernels + 1] = kernel end

  function policy.choose()
    for _, kernel in ipairs(kernels) do
      for step = 1, n do
        local i = (turn + step - 1) % n + 1
        if open(kernel, i) then
          turn = i
          return kernel, i
        end
      end
    end
  end

  return policy
end

return { name = "best_of_n", summary = "independent children of the baseline",
         defaults = {}, new = new }
