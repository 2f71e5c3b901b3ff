-- generator/facts.lua - what was measured of a kernel, as sentences below a strategy's prompt.
-- A strategy lists those that matter to it:
--
--   facts = { "dram", "occupancy", { 8, "% of loads and stores are contiguous" } }
--
-- Of each its figure in percent and where that is from: measured, derived, .. What is
-- missing is not told. Times by shape, and what stands out, every question has by itself.
-- A fact is a name below or a feature's number, 1 to 9 (kernel.phi), with words of the
-- strategy's own where it has better ones, or where there are none: what a feature
-- means depends on the device. Words have one %, where the figure goes, and no full stop.
local schema = require "kernelband.base.schema"

local facts = {}

-- Name, where it is, words. Percent of peak stands in kernel.h, features of a GPU (those
-- of a CPU mean something else: see evidence.lua) as shares in kernel.phi.
local known = {
  { "sm", "h", "sm", "Arithmetic is at % of its peak" },
  { "dram", "h", "dram", "Memory bandwidth is at % of its peak" },
  { "l2", "h", "l2", "Second-level cache traffic is at % of its peak" },
  { "l2_hits", "phi", 1, "% of second-level accesses hit" },
  { "issue", "phi", 3, "Multiprocessors issue in % of cycles" },
  { "lanes", "phi", 4, "% of the lanes of an issued warp are active" },
  { "occupancy", "phi", 5, "Achieved occupancy is %" },
  { "registers", "phi", 6, "Registers take % of what a thread may have" },
  { "bank_conflicts", "phi", 7, "Shared-memory bank conflicts: %" },
  { "coalesced", "phi", 8, "% of loads and stores are coalesced" },
  { "tensor", "phi", 9, "Tensor cores are at % of their peak" },
}

facts.names = {}
local by_name = {}
for i, f in ipairs(known) do facts.names[i], by_name[f[1]] = f[1], f end

-- Where the figure is (key and index in a kernel) and the words around it; nil and what a
-- fact must be.
local function read(fact)
  local name, words = fact, nil
  if type(fact) == "table" then
    name, words = fact[1], fact[2]
    if #fact ~= 2 or type(words) ~= "string" then
      return nil, 'a pair such as { "occupancy", "Occupancy is %" }'
    end
  end
  local number = type(name) == "number" and math.tointeger(name)
  local f = number and number >= 1 and number <= 9 and { name, "phi", number, words }
            or by_name[name]
  if not f then
    return nil, "a feature's number 1..9, or a name"
                .. schema.hint(type(name) == "string" and name or "", facts.names)
  end
  words = words or f[4]
  if not words then return nil, 'its words too: { 2, "% of the bandwidth is used" }' end
  local before, after = words:match "^([^%%]*)%%([^%%]*)$"
  if not before then return nil, "words with one % where the figure goes" end
  return { key = f[2], at = f[3], before = before, after = after }
end

-- The field of a strategy, for schema.check.
facts.rule = {
  "facts", "list", optional = true,
  doc = "metrics appended to the prompt, where they are known",
  item = { type = { "string", "number", "table" },
           check = function(fact)
             local fine, must = read(fact)
             return fine ~= nil, must
           end },
}

-- No address, which would differ from run to run.
local function plain(v)
  local t = type(v)
  return (t == "string" or t == "number" or t == "boolean") and tostring(v) or t
end

-- The figure of a fact and where it is from, nil when missing. Kernels may come from
-- elsewhere: anything may stand anywhere.
local function figure(kernel, f)
  local values, kinds = kernel[f.key], kernel[f.key .. "_kind"]
  local value = type(values) == "table" and values[f.at]
  local kind = type(kinds) == "table" and kinds[f.at] or "unknown origin"
  if type(value) ~= "number" or kind == "missing" then return nil end
  return f.key == "phi" and value * 100 or value, plain(kind)
end

-- function(text, kernel) -> the text and the sentences below it, for a list that passed
-- the rule.
function facts.teller(list)
  local wanted = {}
  for i, fact in ipairs(list) do wanted[i] = assert(read(fact)) end
  return function(text, kernel)
    if type(kernel) ~= "table" then return text end
    local say = { text }
    for _, f in ipairs(wanted) do
      local value, kind = figure(kernel, f)
      if value then
        say[#say + 1] = ("%s%.0f%%%s (%s)."):format(f.before, value, f.after, kind)
      end
    end
    return table.concat(say, "\n")
  end
end

return facts
