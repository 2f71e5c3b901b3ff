-- cli/skeletons.lua - the first files kernelband new writes. They work as they are.
-- @NAME@ is the name given.

local skeletons = {}

local task_lua = [[
-- @NAME@: y = 2.5 x + z, element by element, fp32.  Edit the formula here, in
-- reference.c and in baseline.c, and the shapes to those that matter to you.
return {
  name = "@NAME@",
  summary = "y = 2.5 x + z, fp32",
  args = {                         -- parameters of the kernel, in order
    { "x", "f32", "in",  { "n" } },
    { "z", "f32", "in",  { "n" } },
    { "y", "f32", "out", { "n" } },
    { "n", "i32" },
  },
  shapes = {
    smoke    = { { n = 1 }, { n = 7 }, { n = 1000 } },      -- checked first
    timed    = { { n = 65536 }, { n = 1048576 } },          -- what is optimised
    held_out = { { n = 3 }, { n = 4097 }, { n = 99991 } },  -- checked, never shown
  },
  work = function(s) return { flops = 2 * s.n, bytes = 12 * s.n } end,
  reduction = function() return 1 end,      -- terms summed into one output
  reference = { c = "reference.c" },        -- slow, clear, float64 inside
  baseline  = { c = "baseline.c" },         -- what speed-ups are measured against
  schedule  = "schedule.lua",               -- what the built-in generator may do
}
]]

local reference_c = [[
#include <stdint.h>

/* y = 2.5 x + z, computed and left in double: what candidates are held to. */
void @NAME@_f64(const float *x, const float *z, double *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = 2.5 * (double)x[i] + (double)z[i];
}
]]

local baseline_c = [[
#include <stdint.h>

void @NAME@(const float *x, const float *z, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = 2.5f * x[i] + z[i];
}
]]

local schedule_lua = [==[
-- How @NAME@ may be written. The first value of each parameter is what
-- baseline.c does; a strategy with the parameter among its moves may change it.

local parameters = {
  { "vector", { 1, 4, 8 } },            -- floats handled as one
  { "unroll", { 1, 2, 4 } },            -- of them in one turn of the loop
  { "prefetch", { 0, 64, 256 } },       -- floats ahead; 0: none
}

local function valid() return true end  -- whether a point p makes sense

-- One element or vector, at offset from i.
local function statement(p, offset)
  local at = offset == 0 and "i" or "i + " .. offset
  if p.vector == 1 then
    return ("        y[%s] = 2.5f * x[%s] + z[%s];"):format(at, at, at)
  end
  return ("        *(vec *)&y[%s] = 2.5f * *(const vec *)&x[%s] + *(const vec *)&z[%s];")
    :format(at, at, at)
end

-- The whole candidate for the point p.
local function emit(p)
  local step = p.vector * p.unroll
  local out = { "#include <stdint.h>", "" }
  local function line(text, ...) out[#out + 1] = text:format(...) end
  if p.vector > 1 then
    line("typedef float vec")
    line("    __attribute__((vector_size(%d), aligned(4), may_alias));", 4 * p.vector)
    line ""
  end
  line "void @NAME@(const float *x, const float *z, float *y, int32_t n)"
  line "{"
  line "    int64_t i = 0;"
  line("    for (; i + %d <= n; i += %d) {", step, step)
  if p.prefetch > 0 then
    line("        __builtin_prefetch(x + i + %d);", p.prefetch)
    line("        __builtin_prefetch(z + i + %d);", p.prefetch)
  end
  for u = 0, p.unroll - 1 do line("%s", statement(p, u * p.vector)) end
  line "    }"
  line "    for (; i < n; i++)"
  line "        y[i] = 2.5f * x[i] + z[i];"
  line "}"
  return table.concat(out, "\n") .. "\n"
end

return { parameters = parameters, valid = valid, emit = emit }
]==]

local strategy_lua = [==[
-- @NAME@: say here what it changes in a kernel and when that pays.

-- Optional: kernels it makes no sense for. Without it, it applies to all.
local function applies(kernel)
  return kernel.depth < 20
end

-- What a model is asked. It may also be function(kernel, profile) returning a text.
local prompt = [[
Unroll the inner loop of the kernel.
- Finish the iterations that are left over in a simple loop.
]]

return {
  name = "@NAME@",
  target = "sm",            -- the resource it relieves: "sm", "dram" or "l2"
  summary = "unrolls the inner loop",
  prompt = prompt,
  facts = { "sm" },         -- metrics appended to the prompt, where known, such as
                            -- percent of peak of "sm", "dram", "l2"
  applies = applies,
  moves = { "@NAME@" },     -- parameters of schedule.lua it may change; within a
}                           -- set each belongs to one strategy
]==]

local policy_lua = [==[
-- @NAME@: the fastest kernel, under the strategy that has paid best so far
-- (UCB1 over strategies). Parameters are set from a script:
--   kb.policy("@PATH@", { c = 0.5 })

local function new(params, ctx)
  local strategies = #ctx.strategies
  local ucb = ctx.core.ucb(strategies, { c = params.c })
  local policy = {}

  -- The kernel to start from and the strategy to try on it; nil ends the search.
  -- ctx.pool has the verified kernels, fastest first; ctx.open says whether there is
  -- anything new to try.
  function policy.choose(_pending)
    for _, kernel in ipairs(ctx.pool) do
      local arms = {}
      for i = 1, strategies do
        if ctx.open(kernel, i) then arms[#arms + 1] = i end
      end
      if #arms > 0 then return kernel, arms[ucb:select(arms)] end
    end
  end

  -- What came of a choice: pull.reward, pull.verdict, pull.child (nil if none).
  function policy.learn(pull) ucb:update(pull.strategy, pull.reward) end

  return policy
end

return {
  name = "@NAME@",
  summary = "UCB1 over strategies, fastest kernel first",
  defaults = { c = 2 ^ 0.5 },           -- every tunable
  new = new,
}
]==]

local function fill(text, name, path)
  return (text:gsub("@(%u+)@", { NAME = name, PATH = path }))
end

function skeletons.task(dir, name)
  local folder = dir .. name
  local files = {}
  for i, part in ipairs {
    { "task.lua", task_lua }, { "reference.c", reference_c },
    { "baseline.c", baseline_c }, { "schedule.lua", schedule_lua } } do
    files[i] = { path = folder .. "/" .. part[1], text = fill(part[2], name) }
  end
  return files, ("next: kernelband eval %s %s/baseline.c, then edit task.lua,\n"
                 .. "reference.c and baseline.c; schedule.lua is optional")
                :format(folder, folder)
end

function skeletons.strategy(dir, name)
  local path = dir .. name .. ".lua"
  return { { path = path, text = fill(strategy_lua, name) } },
    ("next: edit target, prompt and moves; use it with kb.strategies { %q, ... }\n"
     .. "or by putting it in a folder of strategies"):format(path)
end

function skeletons.policy(dir, name)
  local path = dir .. name .. ".lua"
  return { { path = path, text = fill(policy_lua, name, path) } },
    ("next: edit choose; use it with policy = kb.policy(%q, {})"):format(path)
end

return skeletons
