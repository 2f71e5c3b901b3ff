-- Monte Carlo tree search, as OptiML (arXiv 2602.12305) walks over edits: kernels
-- are the nodes, a child hangs under its parent. From the baseline down,
--
--   value(node) + c sqrt(ln visits(parent) / visits(node))        (UCT)
--
-- picks the child; a node with fewer than widen * visits^0.5 tries is expanded
-- instead (progressive widening), under the strategy it has tried least. What a
-- child is worth, log speed-up over the baseline squashed to (0, 1), is added to
-- it and to all its ancestors; a failure adds 0 to the node it was tried on. A
-- pull under way is a visit (virtual loss) that pays nothing yet.

local function new(params, ctx)
  local n, open = #ctx.strategies, ctx.open
  local node, root = {}, nil            -- by id of the kernel
  local policy = {}

  function policy.admit(kernel)
    local up = node[kernel.parent or 0]
    local e = { kernel = kernel, up = up, down = {}, visits = 0, sum = 0,
                tries = 0, tried = {} }
    for i = 1, n do e.tried[i] = 0 end
    node[kernel.id] = e
    root = root or e
    if up then up.down[#up.down + 1] = e end
    local worth = 1 / (1 + kernel.speedup ^ -params.steep)
    while e do
      e.visits, e.sum = e.visits + 1, e.sum + worth
      e = e.up
    end
  end

  -- The open strategy tried least at a node.
  local function expansion(e)
    local best
    for i = 1, n do
      if (not best or e.tried[i] < e.tried[best]) and open(e.kernel, i) then best = i end
    end
    return best
  end

  -- Whether anything in this subtree is open; a dead one stays dead.
  local function alive(e)
    if e.dead then return false end
    if expansion(e) then return true end
    for _, d in ipairs(e.down) do
      if alive(d) then return true end
    end
    e.dead = true
    return false
  end

  local function uct(e, d, virtual)
    local visits = d.visits + (virtual[d.kernel.id] or 0)
    return d.sum / visits + params.c * math.sqrt(math.log(e.visits + 1) / visits)
  end

  function policy.choose(_, pending)
    if not alive(root) then return nil end
    local virtual, busy = {}, {}
    for _, pair in ipairs(pending or {}) do
      local e = node[pair.parent.id]
      busy[e] = (busy[e] or 0) + 1
      while e do
        virtual[e.kernel.id], e = (virtual[e.kernel.id] or 0) + 1, e.up
      end
    end
    local e = root
    while true do
      local best, most = nil, -math.huge
      for _, d in ipairs(e.down) do
        local value = alive(d) and uct(e, d, virtual) or -math.huge
        if value > most then best, most = d, value end
      end
      local i = expansion(e)
      local room = e.tries + (busy[e] or 0) < params.widen * math.sqrt(e.visits)
      if i and (room or not best) then
        return e.kernel, i, { mean = e.sum / e.visits }
      end
      e = best
    end
  end

  function policy.learn(pull)
    local e = node[pull.parent.id]
    e.tries, e.tried[pull.strategy] = e.tries + 1, e.tried[pull.strategy] + 1
    while e and not pull.child do
      e.visits, e = e.visits + 1, e.up
    end
  end

  return policy
end

return { name = "mcts", summary = "tree search over kernels by UCT",
         defaults = { c = 0.3, widen = 2, steep = 1 }, new = new }
