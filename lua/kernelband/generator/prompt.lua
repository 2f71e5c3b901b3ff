-- generator/prompt.lua - what a model is asked. A question has three parts: system and stable
-- are the same bytes in every question of a search, so that providers' caches hit;
-- fresh is the rest, from what changes least to what changes most.
--
--   p = prompt.new(task, overrides, device [, baseline])
--   q = p.propose(parent, strategy, { history =, best =, .. })  -> { system, stable, fresh, text }
--   q = p.repair(candidate, evaluation, strategy)
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
local changes   = require "kernelband.base.changes"
local core      = require "kernelband.core"
local judged    = require "kernelband.generator.judged"
local lists     = require "kernelband.base.lists"
local points    = require "kernelband.llm.points"
local prose     = require("kernelband.base.path").prose
local reply     = require "kernelband.llm.reply"
local schema    = require "kernelband.base.schema"
local base_text = require "kernelband.base.text"
local tasks     = require "kernelband.task"
local tried     = require "kernelband.generator.tried"
local words     = require "kernelband.generator.words"

local collect, with = lists.collect, lists.with

local prompt = {}

local parts = { "system", "hardware", "task", "judged", "contract", "parent", "profile", "history",
                "strategy", "hints", "ask", "repair" }

prompt.rules = collect(parts, function(name)
  return { name, { "string", "function", "boolean" }, optional = true,
           doc = "the part '" .. name .. "' of the prompt" }
end)

-- A fence longer than any inside.
local function fenced(tag, text)
  local fence = "```"
  for run in text:gmatch "```+" do fence = #run < #fence and fence or run .. "`" end
  return ("%s%s\n%s%s%s"):format(fence, tag, text, text:sub(-1) == "\n" and "" or "\n", fence)
end

-- A section; nil without a text.
local function titled(title, text) return text and ("# %s\n\n%s"):format(title, text) end

local types = {
  c = { f64 = "double", f32 = "float", f16 = "_Float16", bf16 = "__bf16", i8 = "int8_t",
        u8 = "uint8_t", i32 = "int32_t", i64 = "int64_t" },
  cuda = { f64 = "double", f32 = "float", f16 = "__half", bf16 = "__nv_bfloat16",
           i8 = "signed char", u8 = "unsigned char", i32 = "int", i64 = "long long" },
}

local function parameters(task, names)
  return table.concat(collect(task.args, function(a)
    if a.mode == "scalar" then return names[a.dtype] .. " " .. a.name end
    return (a.mode == "in" and "const " or "") .. names[a.dtype] .. " *" .. a.name
  end), ", ")
end

-- The defaults -------------------------------------------------------------------

local default = {}

function default.system(about)
  return prose("generator/system.md", { KERNELS = about.language == "cuda"
    and "CUDA kernels for NVIDIA GPUs" or "C kernels for CPUs" })
end

function default.hardware(about) return titled("Machine", words.hardware(about.device)) end

function default.task(about)
  local t = about.task
  local out = { ("# Task\n\n%s: %s"):format(t.name, t.summary or "") }
  local function add(form, ...) out[#out + 1] = form:format(...) end
  if not t.args then return out[1] end
  add("\nArguments, in this order: (%s)", parameters(t, types[about.tag]))
  for _, a in ipairs(t.args) do
    local dims = a.dims and table.concat(a.dims, "][")
    if dims then add("- %s: %s, %s, [%s]", a.name, a.dtype, a.mode, dims) end
  end
  for _, s in ipairs(t.shapes and t.shapes.timed or {}) do
    local work = t.work(s)
    add("- timed: %s: %s, at least %s moved", tasks.show_shape(t, s),
        base_text.amount(work.flops, "flop"), base_text.amount(work.bytes, "B"))
  end
  local file = t.reference and t.reference[about.language]
  local text = file and core.system.read_file(file)
  if text then
    add("\nThe reference, which says what the result is:\n\n%s", fenced(about.tag, text))
  end
  return table.concat(out, "\n")
end

function default.judged(about) return titled("How it is judged", judged.text(about)) end

function default.contract(about)
  local t = about.task
  return prose(about.language == "cuda" and "generator/contract_cuda.md"
               or "generator/contract_c.md", {
    ENTRY = t.name, PARAMETERS = t.args and parameters(t, types.c) or "...",
    ARGS = table.concat(collect(t.args or {}, "name"), ", "),
    SIZE = (t.shape_names or {})[1] or "n",
    ATOMICS = t.reduction and "; of sums by atomics the last bits may differ" or "" })
    .. "\n" .. prose "generator/contract.md"
end

function default.parent(about)
  local k = about.kernel
  local from = k.parent and k.strategy
    and (", made from kernel %d in direction %s"):format(k.parent, changes.code(k.strategy))
    or k.id == 1 and ", the first version" or ""
  return titled(("Kernel %s%s"):format(k.id or "", from), fenced(about.tag, k.source or ""))
end

function default.profile(about)
  local measured, k, best = about.measured, about.kernel, about.best
  local m, out = measured or {}, { "# Measured of this kernel\n" }
  local function add(form, ...) out[#out + 1] = form:format(...) end
  if measured then
    add("%s", words.shapes(measured, k.id == 1, about))
  elseif type(k.time_ns) == "number" then
    add("- time: %s", base_text.time(k.time_ns))
  end
  -- Overall, where there is more than one shape; the fastest so far beside it.
  if k.id ~= 1 and k.speedup and (not measured or measured.shapes[2]) then
    add("- geometric mean: %.2fx the first version%s", k.speedup,
        words.interval(k.speedup_low, k.speedup_high))
  end
  if best and best.id ~= k.id and best.speedup then
    add("- the fastest so far is kernel %d: %.2fx the first version%s%s", best.id, best.speedup,
        words.interval(best.speedup_low, best.speedup_high),
        k.speedup and best.speedup <= k.speedup and "; side by side it was faster" or "")
  end
  local found = words.findings(k, measured, about)
  if #found > 0 then add("\nWhat stands out:\n- %s", table.concat(found, "\n- ")) end
  local hot = reply.list(m.hot)
  if type(hot.text) == "string" then
    add("\n%s (no samples), %d of its %d instructions:\n\n%s",
        hot.sass and "The deepest inner loop, the longest if there are several, as SASS"
        or "The inner loop a turn of which costs most by instruction counts",
        hot.shown, hot.instructions, fenced("asm", hot.text))
  end
  local remarks = reply.list(m.remarks)
  if remarks[1] then
    add("\nThe compiler on its loops:\n\n%s", fenced("text", table.concat(remarks, "\n")))
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
  local hints = about.hints or {}
  return hints[1] and titled("From the person who runs this search",
                             "- " .. table.concat(hints, "\n- "))
end

local long_file <const> = 200           -- lines; of such a file a patch will do

local function lines_in(source) return select(2, (source or ""):gsub("\n", "\n")) end

function default.ask(about)
  local lines = lines_in(about.kernel.source)
  return lines > long_file and ("The kernel has %d lines: a unified diff of it in one ```diff "
    .. "block will do, its context copied exactly."):format(lines) or nil
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
  local e, source = about.evaluation, about.candidate.source
  return titled("A kernel that failed", ("%s\n\n%s\n\n%s\n\nFind the mistake, keep the idea%s, "
    .. "and answer with the whole corrected source%s."):format(fenced(about.tag, source),
    what_failed[e.verdict] or e.verdict, fenced("text", reply.utf8(complaint(e):sub(1, most_log))),
    about.strategy and " (" .. about.strategy.name .. ")" or "",
    lines_in(source) > long_file and " or a unified diff of it in one ```diff block" or ""))
end

-- Putting it together --------------------------------------------------------------

-- What tells overrides apart, for the identity of a run: by name a hash of the text, or
-- of the function's lines (not of what it reads elsewhere); nil when there are none.
function prompt.identity(overrides)
  local out
  for name, own in pairs(overrides or {}) do
    local text = type(own) == "function" and base_text.source_of(own) or own
    out = with(out or {}, { [name] = text and core.system.hash(tostring(text)) or "none" })
  end
  return out
end

local function part(name, own, about)
  if own == false or type(own) == "string" then return own end
  local said_by_task = about.task.words -- it may speak for its language
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

local function getter(v) return type(v) == "function" and v or function() return v end end

-- device: a describe table; baseline: its evaluation; each may be a function that returns
-- one or nil.
function prompt.new(task, overrides, device, baseline)
  local language = task.language or "c"
  local tag = task.words and task.words.tag or language == "cuda" and "cuda" or "c"
  local p, system, stable = {}, nil, nil
  overrides, device, baseline = overrides or {}, getter(device), getter(baseline)

  -- about: what these parts are of, beside what all are of.
  local function gather(names, about)
    about = with(about, { task = task, device = device(), language = language, tag = tag,
                          baseline = baseline() })
    return reply.utf8(table.concat(collect(names, function(name)
      local text = part(name, overrides[name], about)
      return text ~= "" and text
    end), "\n\n"))
  end

  -- The stable part is made once: a fact that became known later would change it.
  local function question(fresh)
    system = system or gather({ "system" }, {})
    stable = stable or gather({ "hardware", "task", "judged", "contract" }, {}) .. "\n\n"
    return { system = system, stable = stable, fresh = fresh,
             text = system .. "\n\n" .. stable .. fresh }
  end

  local function of_kernel(kernel, ctx, strategy)
    return with(ctx, { kernel = kernel, profile = kernel.profile, strategy = strategy,
                       measured = ctx.measured and ctx.measured[kernel.id] or false })
  end

  function p.propose(parent, strategy, ctx)
    return question(gather({ "parent", "profile", "history", "strategy", "hints", "ask" },
                           of_kernel(parent, ctx, strategy)))
  end

  function p.repair(candidate, evaluation, strategy)
    return question(gather({ "repair" }, { candidate = candidate, evaluation = evaluation,
                                           strategy = strategy }))
  end

  -- Once, before the first pull: which sets of a schedule's parameters to begin with.
  function p.first(parent, list, file, ctx)
    return question(gather({ "parent", "profile" }, of_kernel(parent, ctx)) .. "\n\n"
                    .. points.ask(list, file))
  end

  return p
end

return prompt
