-- sass.lua - which loop of a CUDA kernel is shown to a model: of its machine code (SASS), as
-- nvdisasm prints it, the innermost loop that lies deepest, of those the one with most
-- instructions, of those the first. There are no samples that say where time goes.
--
-- A loop is a branch backwards that can be reached from its target without leaving what lies
-- between the two: code moved behind a kernel's end, which jumps back into it, is none.
local hot_loop = require "kernelband.evaluate.hot_loop"
local lists    = require "kernelband.base.lists"
local toolkit  = require "kernelband.base.toolkit"

local sass = {}

local most_columns <const> = 78
-- Beyond these the rest is not looked at: a source of a page may make a page of loops.
local most_read <const> = 100000        -- instructions
local most_loops <const> = 400
local most_steps <const> = 1000000      -- on the ways through loops

-- The instructions of a kernel { address, text } and, by label, the position of what it marks.
local function read(text, kernel)
  local code, labels = {}, {}
  local _, from = text:find("\n.text." .. kernel .. ":\n", 1, true)
  local upto = from and text:find("\n//-----", from, true) or #text
  for line in text:sub((from or #text) + 1, upto):gmatch "[^\n]+" do
    local at, ins = line:match "^%s*/%*(%x+)%*/%s+(.-)%s*;?%s*$"
    local label = line:match "^([%w_.$]+):$"
    if label then
      labels[label] = #code + 1
    elseif at then
      if #code == most_read then break end
      code[#code + 1] = { address = tonumber(at, 16), text = ins }
    end
  end
  return code, labels
end

-- Where an instruction may go: the position that it names, and whether to the one after it.
local function ways(code, labels)
  for _, ins in ipairs(code) do
    local predicate, rest = ins.text:match "^(@!?%w+)%s+(.*)$"
    rest = rest or ins.text
    local op, label = rest:match "^%w+", rest:match "`%(([^)]*)%)"
    ins.branch = op == "BRA" or op == "JMP"
    ins.to = op ~= "CALL" and op ~= "RET" and labels[label or ""] or nil
    ins.on = predicate or not (op == "EXIT" or op == "RET" or ins.branch and rest:match "^%S+%s+`")
  end
end

-- Is the branch at `last` reached from `first` by ways between them?
local function comes_round(code, first, last, budget)
  local seen, stack = { [first] = true }, { first }
  while #stack > 0 and budget.steps > 0 do
    local i = table.remove(stack)
    if i == last then return true end
    budget.steps = budget.steps - 1
    local ins = code[i]
    for _, to in ipairs { ins.on and i + 1 or i, ins.to or i } do
      if to >= first and to <= last and not seen[to] then seen[to], stack[#stack + 1] = true, to end
    end
  end
  return false
end

-- Loops { first, last } in the order of their ends; branches to one place are one loop.
local function loops_of(code)
  local out, place, budget = {}, {}, { steps = most_steps }
  for i, ins in ipairs(code) do
    local first = ins.branch and ins.to
    if first and first < i and #out < most_loops and comes_round(code, first, i, budget) then
      place[first] = place[first] or #out + 1
      out[place[first]] = { first = first, last = i }
    end
  end
  return out
end

local function hottest(loops)
  return lists.best(loops, function(a)
    local depth = 0
    for _, b in ipairs(loops) do
      if b ~= a and b.first >= a.first and b.last <= a.last then return nil end
      if b ~= a and b.first <= a.first and b.last >= a.last then depth = depth + 1 end
    end
    return depth * most_read + a.last - a.first
  end)
end

-- text: nvdisasm's, of a cubin; kernel: a kernel's name. { text, instructions, shown, sass = true }
-- with addresses from the loop's start, or nil where there is no loop.
function sass.hot(text, kernel)
  local code, labels = read("\n" .. text, kernel)
  ways(code, labels)
  local loop = hottest(loops_of(code))
  if not loop then return nil end
  local out = hot_loop.show(code, loop.first, loop.last, function(ins, start)
    local to = code[ins.to]
    local shown = ins.text:gsub("`%(([^)]*)%)", to and hot_loop.offset(to.address, start) or "%1")
    return shown:gsub("%s+", " "):sub(1, most_columns)
  end)
  out.sass = true
  return out
end

-- Of a built object; nil where there is no nvdisasm, or it does not know what to do with it.
function sass.of(object, kernel)
  local tool = toolkit.program "nvdisasm"
  local text = tool and object:text(tool)
  return text and sass.hot(text, kernel)
end

return sass
