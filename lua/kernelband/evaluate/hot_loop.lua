-- hot_loop.lua - which of an object's innermost loops is shown to a model, and how. Where no
-- samples say where time goes, the one whose turn costs most by a rough count of cycles.
local hot_loop = {}

local most_lines <const> = 40
local most_calls <const> = 4

-- Cycles of an instruction, about: what a loop spends its time on.
local function cost_of(op)
  return op:find "^call" and 40 or (op:find "div" or op:find "sqrt" or op:find "gather"
                                    or op:find "scatter") and 8 or 1
end

-- The instructions from .. last of code, { address, op, operands, raw } each, are a loop: it is
-- mix.hot when it is the costliest so far.
function hot_loop.keep(mix, code, from, last)
  local cost, calls = 0, {}
  for i = last, from, -1 do
    local op = code[i].op
    cost = cost + cost_of(op)
    local name = op:find "^call" and code[i].raw:match "<([%w_]+)"
    if name and #calls < most_calls then calls[#calls + 1] = name:sub(1, 40) end
  end
  if cost > (mix.hot and mix.hot.cost or 0) then
    mix.hot = { cost = cost, code = code, from = from, last = last, calls = calls }
  end
end

-- An address as it is shown: from a loop's start.
function hot_loop.offset(address, start)
  return ("%s%x"):format(address < start and "-" or "+", math.abs(address - start))
end

-- What is shown of a loop: { text, instructions, shown }. line(i): of an instruction.
function hot_loop.show(from, last, line)
  local lines, n = {}, last - from + 1
  for i = from, from + math.min(n, most_lines) - 1 do lines[#lines + 1] = line(i) end
  return { text = table.concat(lines, "\n"):gsub("[^\x20-\x7e\n]", "?"):gsub(" +\n", "\n"),
           instructions = n, shown = #lines }
end

-- The same of mix.hot, or nil.
function hot_loop.tell(hot)
  if not hot then return nil end
  local start = hot.code[hot.from].address
  local out = hot_loop.show(hot.from, hot.last, function(i)
    local ins = hot.code[i]
    local operands = ins.target and hot_loop.offset(ins.target, start)
                     or ins.raw:gsub("%s*#.*$", ""):gsub("^%x+ (<[%w_@]+>)", "%1")
    return ("%4x  %-10s %s"):format(ins.address - start, ins.op, operands:sub(1, 72))
  end)
  out.calls = hot.calls
  return out
end

return hot_loop
