-- generator/prompt.lua - what a model is asked. A question has three parts: system and stable
-- are the same bytes in every question of a search, so that providers' caches hit;
-- fresh is the rest, from what changes least to what changes most.
--
--   p = prompt.new(task, overrides, device [, baseline])
--   q = p:propose(parent, strategy, { history =, best =, .. })  -> { system, stable, fresh, text }
--   q = p:repair(candidate, evaluation, strategy)
--
-- overrides (`prompt = { .. }` of a generator) replaces parts by name: a text, a
-- function(about) returning one, or false for nothing. about.default is what would
-- be said; beside it stand task, device, language, baseline (its evaluation), and for fresh
-- parts kernel, profile, measured (times by shape, hot loop, remarks), strategy, history
-- (pulls on this kernel), rows (all), made (by kernel, the row of its pull), best, hints,
-- candidate, evaluation.
--   stable   system hardware task judged contract
--   fresh    parent profile history strategy hints ask,  and repair
-- hints are what a person says while the search runs (kernelband steer).
local changes = require "kernelband.base.changes"
local collect = require("kernelband.base.lists").collect
local core    = require "kernelband.core"
local points  = require "kernelband.llm.points"
local judged  = require "kernelband.generator.judged"
local prose   = require("kernelband.base.path").prose
local reply   = require "kernelband.llm.reply"
local schema  = require "kernelband.base.schema"
local tasks   = require "kernelband.task"
local source_of = require "kernelband.base.text".source_of
local tried   = require "kernelband.generator.tried"
local words   = require "kernelband.generator.words"

local prompt = {}

local parts = { "system", "hardware", "task", "judged", "contract", "parent", "profile", "history",
                "strategy", "hints", "ask", "repair" }

prompt.rules = collect(parts, function(name)
  return { name, { "string", "function", "boolean" }, optional = true,
           doc = "the part '" .. name .. "' of the prompt" }
end)

local methods = {}
methods.__index = methods

-- A fence longer than any inside.
local function fenced(tag, text)
  local longest, at = 2, text:find("`", 1, true)
  for run in (at and text:sub(at) or ""):gmatch "`+" do longest = math.max(longest, #run) end
  local fence = ("`"):rep(longest + 1)
  return ("%s%s\n%s%s%s"):format(fence, tag, text, text:sub(-1) == "\n" and "" or "\n", fence)
end

local c_types = { f64 = "double", f32 = "float", f16 = "_Float16", bf16 = "__bf16", i8 = "int8_t",
                  u8 = "uint8_t", i32 = "int32_t", i64 = "int64_t" }
local cuda_types = { f64 = "double", f32 = "float", f16 = "__half", bf16 = "__nv_bfloat16",
                     i8 = "signed char", u8 = "unsigned char", i32 = "int", i64 = "long long" }

local function type_of(a, types)
  if a.mode == "scalar" then return types[a.dtype] .. " " end
  return (a.mode == "in" and "const " or "") .. types[a.dtype] .. " *"
end

local function parameters(task, types)
  return table.concat(collect(task.args, function(a) return type_of(a, types) .. a.name end), ", ")
end

-- The defaults -------------------------------------------------------------------

local default = {}


local function shape_lines(task, out)
  for _, s in ipairs(task.shapes and task.shapes.timed or {}) do
    local ok, work = pcall(task.work, s)
    out[#out + 1] = "- timed: " .. tasks.show_shape(task, s) .. (ok and (": %s, at least %s moved")
      :format(words.amount(work.flops, "flop"), words.amount(work.bytes, "B")) or "")
  end
end

function default.task(about)
  local t, out = about.task, {}
  out[1] = ("# Task\n\n%s: %s"):format(t.name, t.summary or "")
  if not t.args then return out[1] end
  out[2] = ("\nArguments, in this order: (%s)"):format(
    parameters(t, about.language == "cuda" and cuda_types or c_types))
  for _, a in ipairs(t.args) do
    if a.dims then
      out[#out + 1] = ("- %s: %s, %s, [%s]"):format(a.name, a.dtype, a.mode,
                                                  table.concat(a.dims, "]["))
    end
  end
  shape_lines(t, out)
  local file = t.reference and t.reference[about.language]
  local text = file and core.system.read_file(file)
  if text then
    out[#out + 1] = "\nThe reference, which says what the result is:\n\n"
                    .. fenced(about.language == "cuda" and "cuda" or "c", text)
  end
  return table.concat(out, "\n")
end

local function titled(title, text) return text and ("# %s\n\n%s"):format(title, text) end

function default.hardware(about) return titled("Machine", words.hardware(about.device)) end

function default.judged(about) return titled("How it is judged", judged.text(about)) end

local of_atomics = "; of sums by atomics the last bits may differ"

function default.system(about)
  return prose("generator/system.md", { KERNELS = about.language == "cuda"
    and "CUDA kernels for NVIDIA GPUs" or "C kernels for CPUs" })
end

function default.contract(about)
  local t, cuda = about.task, about.language == "cuda"
  return prose(cuda and "generator/contract_cuda.md" or "generator/contract_c.md", { ENTRY = t.name,
    PARAMETERS = t.args and parameters(t, c_types) or "...", SIZE = (t.shape_names or {})[1] or "n",
    ARGS = table.concat(collect(t.args or {}, "name"), ", "),
    ATOMICS = t.reduction and of_atomics or "" })
    .. "\n" .. prose "generator/contract.md"
end

function default.parent(about)
  local k = about.kernel
  local from = k.parent and k.strategy
    and (", made from kernel %d in direction %s"):format(k.parent, changes.code(k.strategy))
    or k.id == 1 and ", the first version" or ""
  return ("# Kernel %s%s\n\n%s"):format(k.id or "", from, fenced(about.tag, k.source or ""))
end

local function hot_loop(hot)
  if type(hot) ~= "table" or type(hot.text) ~= "string" then return nil end
  local which = hot.sass and "The deepest inner loop, the longest if there are several, as SASS"
    or "The inner loop a turn of which costs most by instruction counts"
  return ("%s (no samples), %d of its %d instructions:\n\n%s"):format(which, hot.shown,
    hot.instructions, fenced("asm", hot.text))
end

-- Overall, where there is more than one shape; the fastest so far beside it.
local function standing(about)
  local k, best, out = about.kernel, about.best, {}
  local several = about.measured and about.measured.shapes[2]
  if k.id ~= 1 and k.speedup and (several or not about.measured) then
    out[1] = ("- geometric mean: %.2fx the first version%s"):format(k.speedup,
      words.interval(k.speedup_low, k.speedup_high))
  end
  if best and best.id ~= k.id and best.speedup then
    local how = k.speedup and best.speedup <= k.speedup and "; side by side it was faster" or ""
    out[#out + 1] = ("- the fastest so far is kernel %d: %.2fx the first version%s%s"):format(
      best.id, best.speedup, words.interval(best.speedup_low, best.speedup_high), how)
  end
  return #out > 0 and table.concat(out, "\n") or nil
end

function default.profile(about)
  local measured, out = about.measured, { "# Measured of this kernel\n" }
  if measured then
    out[2] = words.shapes(measured, about.kernel.id == 1, about)
  elseif type(about.kernel.time_ns) == "number" then
    out[2] = "- time: " .. words.time(about.kernel.time_ns)
  end
  out[#out + 1] = standing(about)
  local found = words.findings(about.kernel, measured, about)
  if #found > 0 then
    out[#out + 1] = "\nWhat stands out:\n- " .. table.concat(found, "\n- ")
  end
  local hot = measured and hot_loop(measured.hot)
  if hot then out[#out + 1] = "\n" .. hot end
  if measured and type(measured.remarks) == "table" and measured.remarks[1] then
    out[#out + 1] = "\nThe compiler on its loops:\n\n"
                    .. fenced("text", table.concat(measured.remarks, "\n"))
  end
  return #out > 1 and table.concat(out, "\n") or nil
end

function default.history(about) return titled("What was tried", tried.text(about)) end

-- The strategy's own text; a function of it gets the kernel and its profile.
function default.strategy(about)
  local s = about.strategy
  local text = s.prompt
  if type(text) == "function" then text = text(about.kernel, about.profile or {}) end
  if not text or text == "" then text = s.summary or s.name end
  return titled("Direction: " .. s.name, (text:gsub("%s+$", "")))
end

function default.hints(about)
  if not about.hints or #about.hints == 0 then return nil end
  return titled("From the person who runs this search",
                "- " .. table.concat(about.hints, "\n- "))
end

local long_file <const> = 200           -- lines; of such a file a patch will do

local function lines_in(source)
  local _, lines = (source or ""):gsub("\n", "\n")
  return lines
end

function default.ask(about)
  local lines = lines_in(about.kernel.source)
  if lines <= long_file then return nil end
  return ("The kernel has %d lines: a unified diff of it in one ```diff block will do, its context "
    .. "copied exactly."):format(lines)
end

local most_log <const> = 4000

local what_failed = {
  build_failed = "It does not compile:", launch_failed = "It cannot be launched:",
  wrong = "It compiles, and its result is wrong:", crashed = "It crashes:",
  timeout = "It does not return in time:",
}

-- The log where it holds the reason, else both.
local function complaint(e)
  local reason, log = tostring(e.reason or ""), type(e.log) == "string" and e.log or ""
  if log:find(reason, 1, true) or log:find(reason:match ": (.*)$" or reason, 1, true) then
    return log
  end
  return log == "" and reason or reason .. "\n" .. log
end

function default.repair(about)
  local e = about.evaluation
  return table.concat({ "# A kernel that failed", "", fenced(about.tag, about.candidate.source), "",
    what_failed[e.verdict] or e.verdict, "",
    fenced("text", reply.utf8(complaint(e):sub(1, most_log))), "",
    "Find the mistake, keep the idea" .. (about.strategy and " (" .. about.strategy.name .. ")"
    or "") .. ", and answer with the whole corrected source"
    .. (lines_in(about.candidate.source) > long_file and " or a unified diff of it in one ```diff "
        .. "block." or ".") }, "\n")
end

-- Putting it together --------------------------------------------------------------

local function part(self, name, about)
  local own = self.overrides[name]
  if own == false then return nil end
  if type(own) == "string" then return own end
  local said_by_task = self.task.words  -- it may speak for its language
  local text = (said_by_task and said_by_task[name] or default[name])(about)
  if type(own) ~= "function" then return text end
  about.default = text
  local said = own(about)
  if said ~= nil and type(said) ~= "string" then
    local info = debug.getinfo(own, "S")
    schema.raise("%s:%d: prompt.%s must return a text or nothing, got %s", info.short_src,
                 info.linedefined, name, schema.show(said))
  end
  return said
end

local function gather(self, names, about)
  return reply.utf8(table.concat(collect(names, function(name)
    local text = part(self, name, about)
    return text ~= "" and text
  end), "\n\n"))
end

local function about_of(self, more)
  more.task, more.device, more.language, more.tag = self.task, self.device(), self.language,
                                                    self.tag
  more.baseline = self.baseline()
  return more
end

-- The stable part is made once: a fact that became known later would change it.
local function question(self, fresh)
  if not self.stable then
    self.system = gather(self, { "system" }, about_of(self, {}))
    self.stable = gather(self, { "hardware", "task", "judged", "contract" }, about_of(self, {}))
                  .. "\n\n"
  end
  return { system = self.system, stable = self.stable, fresh = fresh,
           text = self.system .. "\n\n" .. self.stable .. fresh }
end

function methods:propose(parent, strategy, ctx)
  return question(self, gather(self, { "parent", "profile", "history", "strategy", "hints",
                                        "ask" },
    about_of(self, { kernel = parent, profile = parent.profile, strategy = strategy,
                     history = ctx.history, best = ctx.best, hints = ctx.hints, rows = ctx.rows,
                     made = ctx.made, measured = ctx.measured and ctx.measured[parent.id] })))
end

function methods:repair(candidate, evaluation, strategy)
  return question(self, gather(self, { "repair" }, about_of(self, {
    candidate = candidate, evaluation = evaluation, strategy = strategy })))
end

-- Once, before the first pull: which sets of a schedule's parameters to begin with.
function methods:first(parent, list, file, ctx)
  local about = about_of(self, { kernel = parent, profile = parent.profile,
                                 measured = ctx.measured and ctx.measured[parent.id] })
  return question(self, gather(self, { "parent", "profile" }, about) .. "\n\n"
                        .. points.ask(list, file))
end

-- What tells overrides apart, for the identity of a run: by name a hash of the text, or
-- of the function's lines (not of what it reads elsewhere); nil when there are none.
function prompt.identity(overrides)
  local out
  for name, own in pairs(overrides or {}) do
    local text = type(own) == "function" and source_of(own) or own
    out = out or {}
    out[name] = text and core.system.hash(tostring(text)) or "none"
  end
  return out
end

local function getter(v) return type(v) == "function" and v or function() return v end end

-- device: a describe table; baseline: its evaluation; each may be a function that returns
-- one or nil.
function prompt.new(task, overrides, device, baseline)
  local language = task.language or "c"
  return setmetatable({
    task = task, overrides = overrides or {}, language = language,
    tag = task.words and task.words.tag or language == "cuda" and "cuda" or "c",
    device = getter(device), baseline = getter(baseline),
  }, methods)
end

return prompt
