-- hot_loop.lua - which of an object's innermost loops is shown to a model, and how. Where no
-- samples say where time goes, the one whose turn costs most by a rough count of cycles.
local hot_loop = {}

local most_lines <const> = 40
local most_calls <const> = 4

-- Cycles of an instruction, about: what a loop spends its time on.
function hot_loop.cost(op)
  return op:find "^call" and 40 or (op:find "div" or op:find "sqrt" or op:find "gather"
                                    or op:find "scatter") and 8 or 1
end

-- An address as it is shown: from a loop's start.
function hot_loop.offset(address, start)
  return ("%s%x"):format(address < start and "-" or "+", math.abs(address - start))
end

-- What is shown of a loop, the instructions from .. last of code, { address } each: { text,
-- instructions, shown }. said(ins, start): of an instruction, with addresses from the loop's start.
function hot_loop.show(code, from, last, said)
  local lines, n, start = {}, last - from + 1, code[from].address
  for i = from, from + math.min(n, most_lines) - 1 do
    lines[#lines + 1] = ("%4x  %s"):format(code[i].address - start, said(code[i], start))
  end
  return { text = table.concat(lines, "\n"):gsub("[^\x20-\x7e\n]", "?"):gsub(" +\n", "\n"),
           instructions = n, shown = #lines }
end

-- The same of the instructions from .. last of hot.code, { address, op, raw, target } each, and
-- calls, the functions that they call.
function hot_loop.tell(hot)
  local calls = {}
  for i = hot.last, hot.from, -1 do
    local ins = hot.code[i]
    local name = ins.op:find "^call" and ins.raw:match "<([%w_]+)"
    if name and #calls < most_calls then calls[#calls + 1] = name:sub(1, 40) end
  end
  local out = hot_loop.show(hot.code, hot.from, hot.last, function(ins, start)
    local operands = ins.target and hot_loop.offset(ins.target, start)
                     or ins.raw:gsub("%s*#.*$", ""):gsub("^%x+ (<[%w_@]+>)", "%1")
    return ("%-10s %s"):format(ins.op, operands:sub(1, 72))
  end)
  out.calls = calls
  return out
end

return hot_loop
