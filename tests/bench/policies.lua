-- The tables on policies of README.md here: how near the searches come to the optimum of
-- the six recorded spaces of benchmark_hub (../shared/data), from a random start. Means
-- over seeds, a column a space, then their geometric mean with a 95 % bootstrap interval.
--   kernelband run tests/bench/policies.lua DATA [seeds=20] [jobs=1] [out=FOLDER] [part ...]
--   parts: one (a child drawn a pull), all (all children listed, and the strategy anew),
--          tuners (Kernel Tuner's strategies, from tuners.tsv), shipped (every policy, one
--          draw, T = 60), flight (many pulls in flight), memory, product (recorded
--          on two GPUs), times; without any: all of them but shipped
-- jobs: processes that share the searches. out: a folder for what each search reached, a file
-- a process; what is in its files is not searched again, so that a call which was cut off goes
-- on, and jobs=0 only prints.
-- seeds: of T = 20 and 60; a quarter of them for T = 200 and a tenth for T = 512. The figures
-- of it are of seeds=200 where it does not say otherwise.
-- The default policy was tuned on the first three spaces alone; the others were held out.
local kb   = require "kernelband"
local core = kb.core
local memory = require "kernelband.policy.memory"
local path = require "kernelband.base.path"

local data = assert(arg[1], "a folder with the six files")
local seeds, jobs, parts = 20, 1, {}
local out_folder, mine                  -- mine: which of the processes this is, from 0
for i = 2, #arg do
  local key, value = arg[i]:match "^(%w+)=(.+)$"
  if key == "seeds" then seeds = tonumber(value)
  elseif key == "jobs" then jobs = tonumber(value)
  elseif key == "out" then out_folder = value
  elseif key == "mine" then mine = tonumber(value)
  else parts[arg[i]], parts[1] = true, true end
end
local function wanted(part) return parts[part] or not parts[1] and part ~= "shipped" end

-- Names, files, whether the kernel is the same as another's, groups of axes.
local files = {
  { "conv 2080Ti", "ktt-convolution-rtx2080ti.json.gz", "conv", {
    { "block_size", "BLOCK_SIZE_X", "BLOCK_SIZE_Y" }, { "tile_size", "TILE_SIZE_X", "TILE_SIZE_Y" },
    { "read_only", "READ_ONLY" }, { "shared_padding", "PADDING" } } },
  { "pnpoly 2080Ti", "ktt-pnpoly-rtx2080ti.json.gz", "pnpoly", {
    { "block_size", "BLOCK_SIZE_X" }, { "tile_size", "TILE_SIZE" },
    { "between_method", "BETWEEN_METHOD" }, { "use_method", "USE_METHOD" } } },
  { "conv A4000", "t4-convolution-a4000.json.gz", "conv", {
    { "block_size", "block_size_x", "block_size_y" }, { "tile_size", "tile_size_x", "tile_size_y" },
    { "read_only", "read_only" }, { "shared_padding", "use_shmem", "use_padding" } } },
  { "dedispersion", "t4-dedispersion-a4000.json.gz", "dedispersion", {
    { "block_size_x", "block_size_x" }, { "block_size_y", "block_size_y" },
    { "tile_size", "tile_size_x", "tile_size_y" },
    { "tile_stride", "tile_stride_x", "tile_stride_y" } } },
  { "gemm", "kt-gemm-rtx3090.json.gz", "gemm", {
    { "tile", "MWG", "NWG", "KWG" }, { "threads", "MDIMC", "NDIMC" },
    { "loads", "MDIMA", "NDIMB" }, { "vector", "VWM", "VWN" }, { "shared", "SA", "SB" } } },
  { "pnpoly 3060", "kt-pnpoly-rtx3060laptop.json.gz", "pnpoly", {
    { "block_size", "block_size_x" }, { "tile_size", "tile_size" },
    { "between_method", "between_method" }, { "use_method", "use_method" } } },
}

-- The spaces, each read when it is asked for.
local function load(options)
  return setmetatable({}, { __index = function(out, n)
    local f = files[n]
    local groups, o = {}, { name = f[1] }
    for i, g in ipairs(f[4]) do
      groups[i] = { name = g[1], axes = table.move(g, 2, #g, 1, {}) }
    end
    o.strategies = groups
    for key, v in pairs(options) do o[key] = v end
    out[n] = kb.trace(data .. "/" .. f[2], o)
    return out[n]
  end })
end

-- What one search reached: from a file of `out`, or run() -> numbers, kept there. nil: another
-- process searches that, or it is missing.
local known, kept = {}, nil

local function keep_results()
  if not out_folder then return end
  assert(core.system.mkdir_p(out_folder))
  for _, file in ipairs(path.files(out_folder, ".tsv")) do
    for text in io.lines(file) do
      local key, values = text:match "^(.+)\t=([%d. ]+)$"
      if key then
        known[key] = {}
        for v in values:gmatch "%S+" do table.insert(known[key], tonumber(v)) end
      end
    end
  end
  if mine then kept = assert(io.open(("%s/%d.tsv"):format(out_folder, mine), "a")) end
end

local searches = 0
local function reached(key, run)
  searches = searches + 1
  if known[key] then return known[key] end
  if jobs == 0 or mine and searches % jobs ~= mine then return nil end
  local values = run()
  if kept then
    kept:write(key, "\t=", table.concat(values, " "), "\n")
    kept:flush()
  end
  return values
end

-- The searches by `jobs` processes, after which this one only prints.
local function share_out()
  if mine or jobs < 2 then return end
  out_folder = out_folder or os.tmpname() .. ".d"
  local words = {}
  for i, a in ipairs(arg) do
    if i > 1 and not a:find "^out=" then words[#words + 1] = "'" .. a .. "'" end
  end
  local lines = {}
  for i = 0, jobs - 1 do
    lines[i + 1] = ("'%s' run '%s' '%s' %s 'out=%s' mine=%d >/dev/null & "):format(
      core.system.exe(), arg[0], data, table.concat(words, " "), out_folder, i)
  end
  os.execute(table.concat(lines) .. "wait")
  jobs = 0
end

-- Statistics ------------------------------------------------------------------------

local function mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v end
  return sum / #list
end

-- Geometric mean over the spaces of the means of shares[space][seed], and its interval.
local function summary(shares)
  local rng, draws, value = core.rng(1), {}, 1
  for d = 0, 1000 do
    local product = 1
    for _, list in ipairs(shares) do
      local sum = 0
      for at = 1, #list do sum = sum + list[d > 0 and 1 + rng:below(#list) or at] end
      product = product * math.max(1e-3, sum / #list)
    end
    product = product ^ (1 / #shares)
    if d == 0 then value = product else draws[d] = product end
  end
  table.sort(draws)
  return value, draws[25], draws[976]
end

local title_now
local function heading(title, first)
  title_now = title
  print(("\n## %s\n"):format(title))
  io.write("| ", first, " | T |")
  for _, f in ipairs(files) do io.write(" ", f[1], " |") end
  print(" all, 95 % | seeds |")
  print("|" .. ("---|"):rep(#files + 4))
end

local function line(name, T, shares)
  local words = {}
  for n, list in ipairs(shares) do words[n] = ("%.3f"):format(mean(list)) end
  local value, low, high = summary(shares)
  print(("| %s | %d | %s | %.3f (%.3f to %.3f) | %d |"):format(name, T, table.concat(words, " | "),
                                                              value, low, high, #shares[1]))
  io.stdout:flush()
end

-- The same of means and standard errors that are kept.
local function kept_line(name, T, cells)
  local words, log, squares = {}, 0, 0
  for n, c in ipairs(cells) do
    local m = math.max(1e-3, c.mean)
    words[n], log, squares = ("%.3f"):format(c.mean), log + math.log(m), squares + (c.error / m) ^ 2
  end
  local value, wide = math.exp(log / #cells), 1.96 * squares ^ 0.5 / #cells
  print(("| %s | %d | %s | %.3f (%.3f to %.3f) | %d |"):format(name, T, table.concat(words, " | "),
        value, value * math.exp(-wide), value * math.exp(wide), cells[1].runs))
end

-- Searches --------------------------------------------------------------------------

-- The share after each number of pulls in `at`, and the verdicts of the last.
local function shares_of(task, policy, at, seed, parallel)
  local r = kb.search { task = task, policy = policy, budget = { steps = at[#at] }, seed = seed,
                        parallel = parallel or 1, confirm = false, quiet = true }
  local out, last = {}, r.rows[#r.rows].best_speedup
  for i, T in ipairs(at) do
    out[i] = r.share_of_optimum * r.rows[math.min(T, #r.rows)].best_speedup / last
  end
  return out, r.verdicts
end

-- shares[T][space][seed] of run(space, number, at, seed) -> shares, at several T; the
-- longer searches are of fewer seeds.
local function measure(name, spaces, budgets, run)
  local shares = {}
  for _, T in ipairs(budgets) do shares[T] = {} end
  for n in ipairs(files) do
    for _, T in ipairs(budgets) do shares[T][n] = {} end
    for seed = 1, seeds do
      local at = {}
      for _, T in ipairs(budgets) do
        local few = T >= 512 and seeds / 10 or T >= 200 and seeds / 4 or seeds
        if seed <= math.max(2, few) then at[#at + 1] = T end
      end
      local key = table.concat({ title_now, name, n, seed, table.concat(at, " ") }, "\t")
      local got = reached(key, function() return run(spaces[n], n, at, seed) end)
      for i, share in ipairs(got or {}) do
        table.insert(shares[at[i]][n], share)
      end
    end
  end
  return shares
end

local function rows(name, spaces, budgets, run)
  local shares = measure(name, spaces, budgets, run)
  for _, T in ipairs(budgets) do
    local all = true
    for n in ipairs(files) do all = all and shares[T][n][1] ~= nil end
    if all then line(name, T, shares[T]) end
  end
end

local default = "policies/kernelband.lua"

local function by(policy, parallel)
  return function(space, _, at, seed) return shares_of(space, policy, at, seed, parallel) end
end

local function picked(share, at)
  local out = {}
  for i, T in ipairs(at) do out[i] = share[T] end
  return out
end

local function oracle(space, _, at, seed)
  return picked(space.oracle { steps = at[#at], seed = seed }.share, at)
end

local function sample(space, _, at, seed)
  return picked(space.sample { steps = at[#at], seed = seed }.share, at)
end

-- Parts -----------------------------------------------------------------------------

share_out()
keep_results()
local single = load {}
local whole  = load { draws = "all", anew = true }

if wanted "one" then
  heading("One child drawn a pull", "policy")
  rows("oracle", single, { 20, 60 }, oracle)
  rows("kernelband", single, { 20, 60, 200 }, by(default))
end

if wanted "all" then
  heading("All children listed, with the strategy anew", "policy")
  rows("uniform sampling", whole, { 20, 60, 200 }, sample)
  rows("kernelband", whole, { 20, 60, 200 }, by(default))
end

-- Lines of tuners.tsv: space, strategy, T, seeds, mean, its standard error; # for remarks.
if wanted "tuners" then
  local file, by_name, names = io.open "tests/bench/tuners.tsv", {}, {}
  for text in file and file:lines() or function() end do
    local space, name, T, runs, share, err = text:match
      "^([^#\t]+)\t([^\t]+)\t(%d+)\t(%d+)\t([%d.]+)\t([%d.]+)$"
    for n, f in ipairs(files) do
      if space and f[2]:find(space, 1, true) == 1 then
        if not by_name[name] then by_name[name], names[#names + 1] = {}, name end
        local at = by_name[name][tonumber(T)] or {}
        by_name[name][tonumber(T)] = at
        at[n] = { mean = tonumber(share), error = tonumber(err), runs = tonumber(runs) }
      end
    end
  end
  heading("Kernel Tuner's strategies, at the same number of evaluations", "strategy")
  for _, name in ipairs(names) do
    for _, T in ipairs { 20, 60, 200 } do
      local at = by_name[name][T]
      if at and #at == #files then kept_line(name, T, at) end
    end
  end
  if not file then print "(no tests/bench/tuners.tsv)" end
end

if wanted "shipped" then
  heading("Every policy, one child drawn a pull", "policy")
  for _, file in ipairs(assert(path.files("policies", ".lua"))) do
    rows(file:match "([%w_]+)%.lua$", single, { 20, 60 }, by(file))
  end
end

-- Ratio to sequential searches of as many pulls, and pulls that gave no candidate.
local function flight(title, spaces, T, parallel, count)
  print(("\n## %s: %d pulls, %d in flight, %d seeds\n"):format(title, T, parallel, count))
  print "| space | one in flight | many | ratio | no_candidate, one | many |"
  print "|---|---|---|---|---|---|"
  for n in ipairs(files) do
    local sum, dry, complete = { 0, 0 }, { 0, 0 }, true
    for i, p in ipairs { 1, parallel } do
      for seed = 1, count do
        local key = table.concat({ "flight", title, n, seed, T, p }, "\t")
        local got = reached(key, function()
          local share, verdicts = shares_of(spaces[n], default, { T }, seed, p)
          return { share[1], verdicts.no_candidate or 0 }
        end)
        complete = complete and got
        if got then sum[i], dry[i] = sum[i] + got[1] / count, dry[i] + got[2] / count end
      end
    end
    if complete then
      print(("| %s | %.3f | %.3f | %.2f | %.1f | %.1f |"):format(files[n][1], sum[1], sum[2],
                                                               sum[2] / sum[1], dry[1], dry[2]))
      io.stdout:flush()
    end
  end
end

if wanted "flight" then
  flight("One child drawn", single, 60, 16, math.max(2, seeds // 4))
  flight("All children listed", whole, 60, 16, math.max(2, seeds // 4))
  flight("All children listed", whole, 512, 64, math.max(2, seeds // 20))
end

-- The file that ten searches of 60 pulls leave of a space.
local function remember_searches(space)
  local file = os.tmpname()
  os.remove(file)
  for seed = 5001, 5010 do
    kb.search { task = space, budget = { steps = 60 }, seed = seed, confirm = false,
                quiet = true, policy = kb.policy(default, { remember = file }) }
  end
  return file
end

local function remembered()
  local out = {}
  for n in ipairs(files) do             -- kept in `out`, for a call that goes on
    local file = out_folder and ("%s/memory-%d.json"):format(out_folder, n)
    if not file or not core.system.exists(file) then
      local fresh = remember_searches(whole[n])
      if file then assert(core.system.write_file(file, core.system.read_file(fresh))) end
      out[n] = memory.load(fresh)[1]
      os.remove(fresh)
    else
      out[n] = memory.load(file)[1]
    end
  end
  return out
end

if wanted "memory" then
  heading("All children listed, with a memory of searches on other spaces", "memory of")
  local memories = jobs > 0 and remembered() or {}
  for _, kind in ipairs {
    { "nothing", function() return false end },
    { "other kernels", function(a, b) return a[3] ~= b[3] end },
    { "the same kernel on another GPU", function(a, b) return a ~= b and a[3] == b[3] end },
  } do
    local policies = {}
    for n, own in ipairs(files) do
      local file, any = os.tmpname(), false
      os.remove(file)
      for other, of in ipairs(memories) do
        if kind[2](own, files[other]) then
          memory.save(file, of.name, of.points)
          any = true
        end
      end
      policies[n] = kb.policy(default, any and { memory = file } or {})
      os.remove(file)
    end
    rows(kind[1], whole, { 20, 60 }, function(space, n, at, seed)
      return shares_of(space, policies[n], at, seed)
    end)
  end
  print "\ndedispersion and gemm are there on one GPU alone: the last rows are without a memory"
end

-- The tiled product of examples/traces, recorded on two GPUs: each space with what ten searches of
-- 60 pulls on the other left.
if wanted "product" and jobs > 0 and not mine then
  local gpus, spaces = { "h200", "h100" }, {}
  for n, gpu in ipairs(gpus) do
    spaces[n] = kb.trace(("examples/traces/gemm_f32_1024-%s.jsonl.gz"):format(gpu),
                         { draws = "all", anew = true })
  end
  print(("\n## A product on two GPUs, all children listed, %d seeds\n"):format(seeds))
  print "| space | memory of | T = 20 | least | T = 60 | least |"
  print "|---|---|---|---|---|---|"
  for n, gpu in ipairs(gpus) do
    local of = remember_searches(spaces[3 - n])
    for _, file in ipairs { false, of } do
      local policy, shares = kb.policy(default, file and { memory = file } or {}), { {}, {} }
      local name = file and gpus[3 - n] or "nothing"
      for seed = 1, seeds do
        local got = shares_of(spaces[n], policy, { 20, 60 }, seed)
        shares[1][seed], shares[2][seed] = got[1], got[2]
      end
      print(("| %s | %s | %.3f | %.3f | %.3f | %.3f |"):format(gpu, name,
            core.stats.mean(shares[1]), math.min(table.unpack(shares[1])),
            core.stats.mean(shares[2]), math.min(table.unpack(shares[2]))))
    end
    os.remove(of)
  end
end

if wanted "times" and not mine then
  print "\n## Times\n"
  local function seconds(fn)
    local start_ns = core.system.now_ns()
    fn()
    return (core.system.now_ns() - start_ns) / 1e9
  end
  local list = {}
  for _, name in ipairs { "kernelband_v1", "kernelband_v2", "kernelband" } do
    for run = 1, 3 do
      list[run] = seconds(function()
        for seed = 1, 1000 do
          kb.search { task = kb.synthetic { seed = seed }, policy = "policies/" .. name .. ".lua",
                      budget = { steps = 60 }, seed = seed, confirm = false, quiet = true }
        end
      end)
    end
    print(("1,000 searches of 60 pulls on kb.synthetic, %s: %.1f %.1f %.1f s"):format(name,
          table.unpack(list)))
  end
  local listed = whole[5].rows            -- read before its first choice is timed
  for run = 1, 3 do
    list[run] = seconds(function() shares_of(whole[5], default, { 60 }, run) end) / 60 * 1e3
  end
  print(("a choice of the default, all of gemm's %d rows listed, mean of 60 pulls: "
         .. "%.1f %.1f %.1f ms"):format(listed, table.unpack(list)))
end
