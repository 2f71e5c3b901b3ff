-- bench/sweep.lua - kb.sweep: many searches, over all cores, one row each.
--
--   kb.sweep { spaces = { kb.trace(..), .. }, policies = { "policies/random.lua",
--              { file =, params =, name =, reward = }, .. },
--              grid = { alpha = { 0, 0.5, { name = "falling", value = f } } },
--              baselines = { "oracle", "oracle-best", "sample", "arms" },
--              seeds = 100, steps = 60, jobs = cores, out = "rows.jsonl",
--              stages = { {..}, function(rows) return {..} or nil end } } -> { rows =, out = }
--
-- A stage is laid over the options above; a function is given the rows so far, so
-- that it may drop what lost. grid is laid over the parameters of every policy, all
-- combinations.
--
-- Children are this binary running the same script again: they reach the same
-- kb.sweep, do their part of it and end there. So policies, rewards and parameters
-- may be functions; a script should do nothing before its sweep that it would not do
-- twice. Searches that out holds already are not run again.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local jobs    = require "kernelband.base.jobs"
local json    = require "kernelband.base.json"
local runner  = require "kernelband.bench.sweep_run"
local schema  = require "kernelband.base.schema"

local sweep = {}

local role_variable = "KERNELBAND_SWEEP"
local least_pulls = 4000                -- fewer are not worth a process
local most_parts  = 256                 -- processes
local most_said   = 16 << 20            -- bytes a child may print
local longest_ns  = 10 ^ 18 // 1        -- a sweep may take as long as it wants

local stage_rules = {
  { "spaces", "list", at_least = 1, item = { type = "table" },
    doc = "tasks: kb.trace(FILE), kb.synthetic {}" },
  { "policies", "list", default = {}, item = { type = "any" },
    doc = "files, or { file =, params =, name =, reward = }" },
  { "grid", "table", default = {},
    doc = "parameter = { value, .. }: each policy with every combination" },
  { "baselines", "list", default = {}, item = { type = "string", one_of = runner.baselines },
    doc = "what policies are compared with" },
  { "seeds", { "integer", "list" }, default = 50, at_least = 1,
    doc = "how many seeds from 1 up, or a list of them" },
  { "steps", "integer", default = 60, at_least = 1, doc = "pulls of a search" },
}

local rules = schema.declare("kb.sweep", {
  { "stages", "list", optional = true, item = { type = "any" },
    doc = "options laid over these, one stage after the other; or function(rows) returning them" },
  { "jobs", "integer", optional = true, at_least = 1, at_most = most_parts,
    doc = "processes; else one a processor" },
  { "out", "string", optional = true, doc = "the file of rows; what it holds is not run again" },
  { "quiet", "boolean", optional = true, doc = "true: print nothing" },
})
for _, rule in ipairs(stage_rules) do
  rules[#rules + 1] = lists.with(rule, { optional = true })
  rules[#rules].default = nil
end

-- Rows on disk --------------------------------------------------------------------
--
-- A process writes the rows of a stage to a part of its own as they come. Before a stage all
-- rows there are, of a sweep that was broken off too, are in the file, and no part is left.

local function part_file(base, i) return ("%s.part%d"):format(base, i) end

-- Adds the rows of a file to done, by their keys; a last line that was cut off is left out.
local function load_rows(file, done)
  if core.system.exists(file) ~= "file" then return end
  for n, line in ipairs(lists.words(assert(core.system.read_file(file)), "([^\n]*)\n")) do
    local row = json.table(line)
    schema.must(row and type(row.key) == "string", "%s: line %d: no row of a sweep", file, n)
    done[row.key] = done[row.key] or row
  end
end

local function load_parts(base, done)
  for i = 1, most_parts do load_rows(part_file(base, i), done) end
end

local function save_rows(base, rows)
  local lines = lists.collect(rows, function(row) return json.encode(row) .. "\n" end)
  local ok, why = core.system.write_file(base, table.concat(lines))
  if not ok then schema.stop(why) end
  for i = 1, most_parts do os.remove(part_file(base, i)) end
end

-- Runs every step-th of the units; false: interrupted.
local function write_part(base, units, first, step)
  local file = part_file(base, first)
  local out <close>, none = io.open(file, "w")
  if not out then schema.stop(none) end
  for i = first, #units, step do
    if core.system.interrupts() > 0 then return false end
    local ok, why = out:write(json.encode(runner.run(units[i])), "\n")
    if ok then ok, why = out:flush() end
    if not ok then
      schema.stop(("%s: %s; the rows before are kept: make room, then run the sweep again")
                  :format(file, why))
    end
  end
  return true
end

-- Children ------------------------------------------------------------------------

local calls = 0                         -- sweeps this process has come to
local scratch                           -- { folder = } of the rows of sweeps without out

-- What a child is to do: part of so many, `at` the n-th sweep of the script and a stage of it. nil
-- in a process of the user's own.
local function role()
  local told = os.getenv(role_variable)
  if not told then return nil end
  local at, part, parts, folder = told:match "^(%d+ %d+) (%d+) (%d+) (.*)$"
  assert(at, role_variable .. " is set, and not by kb.sweep")
  scratch = { folder = folder }
  return { at = at, part = math.tointeger(part), parts = math.tointeger(parts) }
end

local function clear(s)
  for _, name in ipairs(core.system.list(s.folder) or {}) do os.remove(s.folder .. "/" .. name) end
  os.remove(s.folder)
end

-- The file of this sweep's rows, the same in the children.
local function base_of(o)
  if o.out then return o.out end
  scratch = scratch or setmetatable({ folder = assert(core.system.temp_dir()) }, { __gc = clear })
  return ("%s/sweep%d"):format(scratch.folder, calls)
end

-- Runs a stage's pending units in n children, which are this script once more; their rows are in
-- part files then.
local function spread(units, stage, n)
  local children, script, failed = {}, rawget(_G, "arg"), nil
  for i = 1, n do
    local told = ("%s=%d %d %d %d %s"):format(role_variable, calls, stage, i, n,
                                              scratch and scratch.folder or "")
    local argv = { "/usr/bin/env", told, core.system.exe(), "run" }
    for k = 0, #script do argv[#argv + 1] = tostring(script[k]) end
    children[i] = { argv = argv, timeout_ns = longest_ns, max_bytes = most_said }
  end
  local whole = jobs.run(n, children, function(_, result, why)
    if result and result.status == 0 then return end
    failed = failed or result and result.output .. result.errors or tostring(why)
  end)
  if whole and failed then
    schema.stop(("kb.sweep: a child failed while %d searches were under way:\n%s"):format(
                #units, failed:sub(-2000)))
  end
end

-- Stages --------------------------------------------------------------------------

local function stage_options(o, stage, rows)
  if type(stage) == "function" then stage = stage(rows) end
  if stage == nil then return nil end
  schema.must_at_call(type(stage) == "table", "kb.sweep", "a stage must be, or return, a table of "
                      .. "options or nil, got %s", schema.show(stage))
  local own = {}
  for _, rule in ipairs(stage_rules) do own[rule[1]] = o[rule[1]] end
  return schema.options(lists.with(own, stage), stage_rules, "kb.sweep")
end

local function work(o, pending, base, stage, done)
  local pulls, script = #pending * pending[1].steps, rawget(_G, "arg")
  local n = math.min(o.jobs or #core.system.cpus(), pulls // least_pulls)
  save_rows(base, lists.collect(lists.keys(done), function(key) return done[key] end))
  if n > 1 and script and script[0] then
    spread(pending, stage, n)
  else
    write_part(base, pending, 1, 1)
  end
  load_parts(base, done)
end

-- Rows in the order of their units, whoever ran them.
local function in_order(units, done)
  return lists.distinct(lists.collect(units, function(unit) return done[unit.key] end))
end

function sweep.run(options)
  local o = schema.options(options, rules, "kb.sweep")
  calls = calls + 1
  local child, done, all = role(), {}, {}
  local base = base_of(o)
  load_rows(base, done)
  if not child then load_parts(base, done) end
  for stage, what in ipairs(o.stages or { {} }) do
    local so = stage_options(o, what, in_order(all, done))
    if not so then break end
    local units = runner.units(so, stage)
    table.move(units, 1, #units, #all + 1, all)
    local pending = lists.collect(units, function(unit) return not done[unit.key] and unit end)
    if child and child.at == calls .. " " .. stage then
      os.exit(write_part(base, pending, child.part, child.parts) and 0 or 1, true)
    elseif #pending > 0 and not child then
      if not o.quiet then
        io.stderr:write(("sweep: %d searches%s\n"):format(#pending,
                        #pending < #units and ", " .. #units - #pending .. " are there" or ""))
      end
      work(o, pending, base, stage, done)
      if core.system.interrupts() > 0 then
        schema.stop("kb.sweep: interrupted" .. (o.out and "; run it again to go on" or ""))
      end
    end
  end
  local result = in_order(all, done)
  if not child then save_rows(base, result) end
  return { rows = result, out = o.out }
end

return sweep
