-- Beam search (KernelAgent's optimisation loop): the `width` fastest kernels make
-- a generation; each of them is tried under `tries` strategies, in turn; then the
-- fastest of old and new make the next one. Strategies not yet tried on a kernel
-- come first. Members with nothing open leave the beam to the next fastest.

local function new(params, ctx)
  local tried, agenda = {}, {}          -- agenda: pairs this generation has still to try
  local policy = {}

  -- Open strategies of a kernel, those tried least first, equals by index.
  local function strategies_of(kernel)
    local list, count = ctx.open_strategies(kernel), tried[kernel] or {}
    table.sort(list, function(a, b)
      local x, y = count[a] or 0, count[b] or 0
      return x < y or x == y and a < b
    end)
    return list
  end

  -- Round robin over members, so that a budget cut short has tried them all.
  local function generation()
    local members, lists = 0, {}
    for _, kernel in ipairs(ctx.pool) do
      if members == params.width then break end
      local list = strategies_of(kernel)
      if #list > 0 then
        members = members + 1
        lists[members] = { kernel, list }
      end
    end
    for turn = 1, params.tries do
      for _, m in ipairs(lists) do
        if m[2][turn] then agenda[#agenda + 1] = { m[1], m[2][turn] } end
      end
    end
  end

  function policy.choose()
    for _ = 1, 2 do
      while agenda[1] do
        local kernel, i = table.unpack(table.remove(agenda, 1))
        if ctx.open(kernel, i) then
          tried[kernel] = tried[kernel] or {}
          tried[kernel][i] = (tried[kernel][i] or 0) + 1
          return kernel, i
        end
      end
      generation()
    end
  end

  return policy
end

return { name = "beam", summary = "generations of the fastest kernels",
         defaults = { width = 3, tries = 2 }, new = new }
