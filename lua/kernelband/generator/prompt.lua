-- generator/prompt.lua - what a model is asked. Its text is in prompt.in, part by part; here is
-- what that is filled with. A question has three sections. system and stable
-- are the same bytes in every question of a search, so that providers' caches hit;
-- fresh is the rest, from what changes least to what changes most. Each section has parts.
--
--   p = prompt.new(task, overrides, device [, baseline])
--   q = p.propose(parent, strategy, { history =, best =, .. })  -> { system, stable, fresh, text }
--   q = p.repair(candidate, evaluation, strategy)
--   q = p.first(parent, parameters, file, { .. })
--
-- overrides (`prompt = { .. }` of a generator) replaces parts by name: a text, a
-- function(about) returning one, or false for nothing. about.default is what would
-- be said; beside it stand task, device, language, baseline (its evaluation), and for fresh
-- parts kernel, profile, measured (times by shape, hot loop, remarks), strategy, history
-- (pulls on this kernel), rows (all), made (by kernel, the row of its pull), best, hints,
-- candidate, evaluation.
--   stable   system hardware task judged contract
--   fresh    parent profile history strategy hints ask,  or repair;  first, which stays as it is
-- hints are what a person says while the search runs (kernelband steer).
local changes   = require "kernelband.base.changes"
local core      = require "kernelband.core"
local json      = require "kernelband.base.json"
local lists     = require "kernelband.base.lists"
local reply     = require "kernelband.llm.reply"
local schema    = require "kernelband.base.schema"
local base_text = require "kernelband.base.text"
local tasks     = require "kernelband.task"
local template  = require "kernelband.base.template"
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

-- What all parts are filled with -----------------------------------------------------

-- A fence longer than any inside.
local function fenced(tag, text)
  local fence = "```"
  for run in text:gmatch "```+" do fence = #run < #fence and fence or run .. "`" end
  return ("%s%s\n%s%s%s"):format(fence, tag, text, text:sub(-1) == "\n" and "" or "\n", fence)
end

local types = {
  c = { f64 = "double", f32 = "float", f16 = "_Float16", bf16 = "__bf16", i8 = "int8_t",
        u8 = "uint8_t", i32 = "int32_t", i64 = "int64_t" },
  cuda = { f64 = "double", f32 = "float", f16 = "__half", bf16 = "__nv_bfloat16",
           i8 = "signed char", u8 = "unsigned char", i32 = "int", i64 = "long long" },
}

-- The parameters of the kernel, as its language writes them.
local function signature(task, language)
  local names = types[language]
  return not task.args and "..." or table.concat(collect(task.args, function(a)
    if a.mode == "scalar" then return names[a.dtype] .. " " .. a.name end
    return (a.mode == "in" and "const " or "") .. names[a.dtype] .. " *" .. a.name
  end), ", ")
end

local long_file <const> = 200           -- lines; of such a file a patch will do

-- How many lines a source has, where they are many.
local function long(source)
  local lines = select(2, source:gsub("\n", "\n"))
  return lines > long_file and lines
end

-- Names that every part may use. The last four are what stands for what a part is not told.
local common = {
  amount = base_text.amount, bytes = base_text.bytes, time = base_text.time, ahead = words.ahead,
  code = changes.code, encode = json.encode, fenced = fenced, known = words.known, long = long,
  show_shape = tasks.show_shape, signature = signature,
  best = false, device = {}, hints = {}, strategy = false,
}

-- What one part alone is filled with ------------------------------------------------

local values = { hardware = words.hardware, judged = words.judged, profile = words.profile,
                 history = tried.values }

function values.task(about)
  local file = about.task.reference and about.task.reference[about.language]
  return { reference = file and core.system.read_file(file) or false }
end

function values.contract(about)
  local t = about.task
  return { arguments = table.concat(collect(t.args or {}, "name"), ", "),
           size = (t.shape_names or {})[1] or "n" }
end

-- The strategy's own text; a function of it gets the kernel and its profile.
function values.strategy(about)
  local s = about.strategy
  local text = s.prompt
  if type(text) == "function" then text = text(about.kernel, about.profile or {}) end
  if not text or text == "" then text = s.summary or s.name end
  return { direction = text:match "^(.-)%s*$" }
end

local most_log <const> = 4000

-- The log where it holds the reason, else both.
function values.repair(about)
  local e = about.evaluation
  local reason, log = tostring(e.reason or ""), type(e.log) == "string" and e.log or ""
  local has = log:find(reason, 1, true) or log:find(reason:match ": (.*)$" or reason, 1, true)
  if not has then log = log == "" and reason or reason .. "\n" .. log end
  return { log = reply.utf8(log:sub(1, most_log)) }
end

local most_head <const> = 60            -- lines of a schedule's file

-- The head of the schedule's file, where it says all the parameters: comments tell what they do.
function values.first(about)
  local lines = base_text.lines(about.file and core.system.read_file(about.file) or "")
  local head = table.concat(lines, "\n", 1, math.min(#lines, most_head))
  local missed = lists.find(about.parameters, function(p)
    return not head:find('"' .. p[1] .. '"', 1, true)
  end)
  return { head = not missed and head,
           listed = function(list) return table.concat(collect(list, json.encode), ", ") end }
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

-- A part of prompt.in, filled in; nil: it says nothing, or is a title with nothing below.
function prompt.part(name, about)
  local more = values[name] and values[name](about)
  local text = template.fill("generator/prompt." .. name, with(with(common, about), more))
  return text ~= "" and not text:find "^# [^\n]*\n$" and text or nil
end

local function part(name, own, about)
  if own == false or type(own) == "string" then return own end
  local text = prompt.part(name, about)
  if type(own) ~= "function" then return text end
  about.default = text
  local said, info = own(about), debug.getinfo(own, "S")
  schema.must(said == nil or type(said) == "string", "%s:%d: prompt.%s must return a text or "
    .. "nothing, got %s", info.short_src, info.linedefined, name, schema.show(said))
  return said
end

local function getter(v) return type(v) == "function" and v or function() return v end end

-- device: a describe table; baseline: its evaluation; each may be a function that returns
-- one or nil.
function prompt.new(task, overrides, device, baseline)
  local language = task.language or "c"
  local p, system, stable = {}, nil, nil
  overrides, device, baseline = overrides or {}, getter(device), getter(baseline)

  -- about: what these parts are of, beside what all are of.
  local function gather(names, about)
    about = with(about, { task = task, device = device(), language = language,
                          tag = language == "triton" and "python" or language,
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

  local function of_kernel(kernel, ctx, more)
    return with(with(ctx, { kernel = kernel, profile = kernel.profile,
                            measured = ctx.measured and ctx.measured[kernel.id] or false }), more)
  end

  function p.propose(parent, strategy, ctx)
    return question(gather({ "parent", "profile", "history", "strategy", "hints", "ask" },
                           of_kernel(parent, ctx, { strategy = strategy })))
  end

  function p.repair(candidate, evaluation, strategy)
    return question(gather({ "repair" }, { candidate = candidate, evaluation = evaluation,
                                           strategy = strategy }))
  end

  -- Once, before the first pull: which sets of a schedule's parameters to begin with.
  function p.first(parent, list, file, ctx)
    return question(gather({ "parent", "profile", "first" },
                           of_kernel(parent, ctx, { parameters = list, file = file })))
  end

  return p
end

return prompt
