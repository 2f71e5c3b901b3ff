-- Kernels and strategies in turn: what it chooses depends on no time, so that kept runs of
-- measured kernels go on as they went.
return { name = "turns", defaults = {}, new = function(_, ctx)
  local kernels, turn = {}, 0
  return {
    admit = function(kernel) kernels[#kernels + 1] = kernel end, learn = function() end,
    choose = function()
      for _ = 1, #kernels * #ctx.strategies do
        turn = turn + 1
        local kernel = kernels[(turn - 1) % #kernels + 1]
        local i = (turn - 1) // #kernels % #ctx.strategies + 1
        if ctx.open(kernel, i) then return kernel, i end
      end
    end }
end }
