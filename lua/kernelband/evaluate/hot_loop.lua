-- hot_loop.lua - which of an object's innermost loops is shown to a model, and how. Where no
-- samples say where time goes, the one whose turn costs most by a rough count of cycles.
local hot_loop = {}

local most_lines <const> = 40
local most_calls <const> = 4

-- Cycles of an instruction beyond one, about: what a loop spends its time on.
local costs = {}                        -- by name: there are few
local function cost_of(op)
  local cost = costs[op]
  if not cost then
    cost = op:find "^call" and 40 or (op:find "div" or op:find "sqrt" or op:find "gather"
                                      or op:find "scatter") and 8 or 1
    costs[op] = cost
  end
  return cost
end

-- A loop is read from its end to its beginning, and kept when it is the costliest so far
-- (mix.hot); ties to the first.
function hot_loop.new() return { cost = 0, calls = {} } end

-- ins: { address, op, operands, raw }
function hot_loop.add(hot, ins)
  hot.cost = hot.cost + cost_of(ins.op)
  local name = ins.op:find "^call" and ins.raw:match "<([%w_]+)"
  if name and #hot.calls < most_calls then hot.calls[#hot.calls + 1] = name:sub(1, 40) end
end

function hot_loop.keep(mix, hot, code, from, at)
  if mix.hot and mix.hot.cost >= hot.cost then return end
  hot.code, hot.from, hot.at, hot.instructions = code, from, at, at - from + 1
  mix.hot = hot
end

-- What is kept of it: lines of assembly, addresses from its start.
function hot_loop.tell(hot)
  if not hot then return nil end
  local lines, first = {}, hot.code[hot.from].address
  local shown = math.min(hot.instructions, most_lines)
  for i = hot.from, hot.from + shown - 1 do
    local ins = hot.code[i]
    local target = ins.op:sub(1, 1) == "j" and tonumber(ins.operands:match "^(%x+)" or "", 16)
    local operands = ins.raw:gsub("%s*#.*$", "")
    if target then
      operands = ("%s%x"):format(target < first and "-" or "+", math.abs(target - first))
    else
      operands = operands:gsub("^%x+ (<[%w_@]+>)", "%1")
    end
    lines[#lines + 1] = ("%4x  %-10s %s"):format(ins.address - first, ins.op, operands:sub(1, 72))
  end
  return { text = table.concat(lines, "\n"):gsub("[^\x20-\x7e\n]", "?"):gsub(" +\n", "\n"),
           instructions = hot.instructions, shown = shown, calls = hot.calls }
end

return hot_loop
