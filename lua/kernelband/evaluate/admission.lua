-- evaluate/admission.lua - what may run when a C candidate's object is loaded, before anything
-- watches: only code that the compiler or its library brought.
--
-- Two kinds of it are honest. __builtin_cpu_supports and target_clones link a
-- constructor of libgcc's, which asks the processor what it can do: allowed where the
-- source's own part of the object, kernel.o, has nothing that runs at load. The functions
-- of target_clones are indirect: the loader calls a resolver that says which clone to use.
-- Such a resolver is told from one that the source wrote, whatever words or directives
-- made it, by its name and by all of its instructions: they ask for the processor, read,
-- and return.
local lists = require "kernelband.base.lists"

local admission = {}

local function words(text) return lists.places(lists.words(text)) end

-- Sections that hold or name code to run, and entries of the dynamic section that do.
local at_load = words "init fini init_array fini_array preinit_array ctors dtors"
local ask_processor = "__cpu_indicator_init"

-- Reading ------------------------------------------------------------------------

local function read_section(part, line)
  local name = line:match "^%s*%[%s*%d+%]%s+(%S+)"
  if not name then return end
  local flags = line:match "%s(%a+)%s+%d+%s+%d+%s+%d+$" or ""
  if flags:find "X" and (flags:find "W" or not flags:find "A") then
    part.loose = "a section " .. name .. " of code that can change or is not loaded"
  end
  if at_load[name:match "^%.([^.]+)"] and (part.own or name ~= ".init_array")
     or part.own and (line:find "%s%u+_ARRAY%s" or name:find "^%.gnu%.lto_") then
    part.runs = "a section " .. name        -- the last kind is compiled by the linker
  end
end

local function read_symbol(part, line)
  local at, kind, rest = line:match "^%s*%d+:%s+(%x+)%s+%w+%s+(%S+)%s+%S+%s+%S+%s+(.*)$"
  if not at or rest:find "^UND%s" then return end
  at = tonumber(at, 16)
  local name = rest:match "^%S+%s+(.*)$" or rest
  if part.own then
    if name:find "^__cpu_" then part.forged = name:match "%S+" end
  elseif kind == "IFUNC" or kind:find "^<" then
    part.indirect[#part.indirect + 1] = { name = name, at = at }
  elseif kind == "FUNC" then
    part.functions[name] = part.functions[name] or {}
    part.functions[name][at] = true
  end
end

local function read_dynamic(part, line)
  local entry = line:match "^%s+0x%x+ %(([%u_]+)%)" or ""
  if entry == "INIT_ARRAY" then
    part.library = entry
  elseif at_load[entry:lower()] then
    part.runs = entry
  elseif entry == "TEXTREL" or entry == "FLAGS" and line:find "TEXTREL" then
    part.loose = "code that the loader changes"
  end
  if line:find("_IRELATIV", 1, true) then
    part.resolvers[#part.resolvers + 1] = tonumber(line:match "(%x+)%s*$" or "", 16) or -1
  end
end

-- text: what readelf said of the object and of kernel.o. Returns what is known of both.
local function read(text)
  local whole, own = { indirect = {}, functions = {}, resolvers = {} }, { own = true }
  local part = whole
  for line in text:gmatch "[^\n]+" do
    if line:find "^Disassembly of section" then break end
    if line:find "^File: " then
      part = line:find "kernel%.o$" and own or whole
      own.seen = own.seen or part.own
    elseif line:find ":%s+file format " then
      part = whole
    end
    read_section(part, line)
    read_symbol(part, line)
    if not part.own then read_dynamic(part, line) end
  end
  return whole, own
end

-- A resolver's instructions ------------------------------------------------------

-- Registers that a function may leave changed, under all their names.
local free = words [[%rax %eax %ax %al %ah %rcx %ecx %cx %cl %ch %rdx %edx %dx %dl %dh
  %rsi %esi %si %sil %rdi %edi %di %dil %r8 %r8d %r8w %r8b %r9 %r9d %r9w %r9b
  %r10 %r10d %r10w %r10b %r11 %r11d %r11w %r11b]]
local compares = words "cmp test bt"
local computes = words "mov lea and or xor add sub not neg shl shr sar"
local widens = words "movabs movzbl movzwl movzbw movsbl movswl movslq"

local function of_any_width(set, op) return set[op] or set[op:match "^(.+)[bwlq]$"] end

-- What an instruction does to the stack: bytes it holds more of, or nil where the
-- instruction is none that a resolver of the compiler's has.
local function stack_change(op, operands)
  local bytes = (op == "sub" or op == "add") and operands:match "^%$0x(%x+),%%rsp$"
  if bytes then return (op == "sub" and 1 or -1) * tonumber(bytes, 16) end
  if op == "push" and operands:find "^%%%w+$" then return 8 end
  if op == "pop" and free[operands] then return -8 end
  if op == "endbr64" or op:find "^nop[wl]?$" or op == "xchg" and operands == "%ax,%ax"
     or of_any_width(compares, op) then
    return 0
  end
  local sets = of_any_width(computes, op) or widens[op] or op:find "^cmov%l+$" or op:find "^set%l+$"
  return sets and free[operands:match "([^,]+)$"] and 0 or nil
end

-- Every instruction that can be reached from start, with the stack as deep on each way
-- to it; ask: where the one function lies that may be called. True when all are harmless:
-- nothing is stored but on its own stack, no register of the caller's changes, and it
-- returns to where it was called from.
local function is_harmless(code, start, ask)
  local depth_at, todo = {}, { { start, 0 } }
  while #todo > 0 do
    local at, depth = table.unpack(table.remove(todo))
    local ins = code[at]
    if not ins or depth < 0 or depth > 1024 or depth_at[at] and depth_at[at] ~= depth then
      return false
    end
    if not depth_at[at] then
      depth_at[at] = depth
      local target = tonumber(ins.operands:match "^(%x+)$" or "", 16)
      if ins.op == "ret" or ins.op == "retq" or ins.op == "repz" and ins.operands == "ret" then
        if depth ~= 0 or ins.operands:find "%d" then return false end
      elseif ins.op:find "^j%l+$" and target then
        todo[#todo + 1] = { target, depth }
        if ins.op ~= "jmp" then todo[#todo + 1] = { ins.next, depth } end
      else
        local asks = ins.op:find "^callq?$" and target and target == ask
        local change = asks and 0 or stack_change(ins.op, ins.operands)
        if not change then return false end
        todo[#todo + 1] = { ins.next, depth + change }
      end
    end
  end
  return true
end

local function only(set)
  local first = set and next(set)
  return first and next(set, first) == nil and first or nil
end

-- nil, or what is wrong with the indirect functions.
local function judge_indirect(whole, own, functions)
  if #whole.indirect == 0 and #whole.resolvers == 0 then return nil end
  if own.forged then return "its own " .. own.forged end
  if whole.loose then return "an indirect function and " .. whole.loose end
  local code, known, ask = {}, {}, only(whole.functions[ask_processor])
  for _, list in ipairs(functions) do
    for _, ins in ipairs(list) do code[ins.address] = ins end
  end
  for _, f in ipairs(whole.indirect) do
    local resolver = whole.functions[f.name:gsub("%.ifunc$", "") .. ".resolver"]
    if not (resolver and resolver[f.at] and is_harmless(code, f.at, ask)) then
      return ("the indirect function %s, whose resolver is not one that target_clones makes")
             :format(f.name)
    end
    known[f.at] = true
  end
  return lists.find(whole.resolvers, function(at) return not known[at] end)
         and "an indirect function without a name"
end

-- text: of readelf; functions: evidence.lua's, of the disassembly. nil, or what would run at load
-- besides what the compiler brings.
function admission.judge(text, functions)
  local whole, own = read(text)
  local ours = own.seen and not own.forged and not whole.loose
  return whole.runs or own.runs or not ours and whole.library
         or judge_indirect(whole, own, functions)
end

return admission
