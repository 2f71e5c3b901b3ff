-- What first points from a model bring: kb.generator.schedule { first = GENERATOR } on the recorded
-- spaces of ../shared/data, beside a search without them. The points are one strong model's,
-- written from names and values of the parameters and the GPU's name, before any time was seen.
--   kernelband run tests/bench/first_points.lua DATA [SEEDS] [PULLS]
-- Printed: mean share of the optimum after so many pulls, by space and over all (geometric mean),
-- without first points, with them first of all, and in turns with the search's own (as
-- generator/schedule.lua has it).
local kb = require "kernelband"
local space = require "kernelband.trace.space"
local walk = require "kernelband.trace.walk"

local data, seeds, pulls = arg[1], tonumber(arg[2] or 16), tonumber(arg[3] or 40)
local marks = { 5, 10, 16, 20, 40, 60, 100, 200 }

local polygon = "256 4 1 1, 256 8 2 2, 128 8 1 1, 128 10 2 1, 512 4 2 1, 256 10 3 2, 192 6 3 1, "
  .. "320 8 0 1, 256 2 1 0, 128 12 2 2, 224 10 1 2, 448 6 2 0, 160 14 3 1, 256 20 1 1, 96 6 2 1, "
  .. "640 8 3 2"

-- File, groups of axes (strategies), axes and points.
local spaces = {
  { "ktt-convolution-rtx2080ti", "BLOCK_SIZE_X BLOCK_SIZE_Y, TILE_SIZE_X TILE_SIZE_Y, READ_ONLY, "
    .. "PADDING", "BLOCK_SIZE_X BLOCK_SIZE_Y TILE_SIZE_X TILE_SIZE_Y PADDING READ_ONLY",
    "32 4 4 4 0 0, 32 8 2 4 0 0, 32 4 2 4 0 1, 16 8 4 4 1 0, 16 16 4 4 0 0, 32 8 4 4 0 0, "
    .. "64 4 2 4 0 0, 32 2 4 8 0 0, 16 4 8 4 1 0, 64 2 4 4 0 1, 32 4 1 8 0 0, 32 8 1 4 0 0, "
    .. "16 8 8 2 1 0, 32 4 2 8 1 1, 64 2 2 8 0 0, 128 1 2 4 0 0" },
  { "ktt-pnpoly-rtx2080ti", "BLOCK_SIZE_X, TILE_SIZE, BETWEEN_METHOD, USE_METHOD",
    "BLOCK_SIZE_X TILE_SIZE BETWEEN_METHOD USE_METHOD", polygon },
  { "t4-convolution-a4000", "block_size_x block_size_y, tile_size_x tile_size_y, read_only, "
    .. "use_shmem use_padding", "block_size_x block_size_y read_only tile_size_x tile_size_y "
    .. "use_padding use_shmem", "32 4 0 4 4 0 1, 32 8 1 2 4 0 0, 64 4 0 2 4 0 1, 16 16 0 4 4 1 1, "
    .. "16 8 0 4 4 1 1, 128 2 0 2 4 0 1, 48 4 0 2 4 1 1, 32 4 0 2 4 0 1, 32 4 0 1 4 0 1, "
    .. "64 2 0 4 4 0 1, 128 1 1 1 4 0 0, 256 1 0 1 4 0 1, 32 2 0 4 4 0 1, 64 4 0 1 4 0 1, "
    .. "96 2 0 2 4 0 1, 16 4 0 4 4 1 1" },
  { "t4-dedispersion-a4000", "block_size_x, block_size_y, tile_size_x tile_size_y, tile_stride_x "
    .. "tile_stride_y", "block_size_x block_size_y tile_size_x tile_size_y tile_stride_x "
    .. "tile_stride_y", "16 32 4 4 1 1, 8 64 4 4 1 0, 32 32 2 2 1 1, 4 128 4 4 1 0, 16 64 2 4 0 1, "
    .. "8 32 4 8 1 1, 16 32 2 8 1 0, 2 256 4 4 1 0, 32 32 1 4 0 1, 8 128 2 2 1 1, 4 64 4 8 0 0, "
    .. "1 256 4 4 0 0, 16 48 3 4 1 1, 8 96 4 2 1 0, 32 32 4 2 1 0, 8 64 1 8 0 1" },
  { "kt-gemm-rtx3090", "MWG NWG KWG, MDIMC NDIMC, MDIMA NDIMB, VWM VWN, SA SB",
    "MWG NWG MDIMC NDIMC MDIMA NDIMB VWM VWN SA SB", "128 128 16 16 16 16 4 4 1 1, "
    .. "128 128 16 16 32 32 4 4 1 1, 128 128 16 16 32 32 2 2 1 1, 128 128 32 8 32 8 4 4 1 1, "
    .. "128 64 16 16 16 16 4 4 1 1, 128 64 16 8 16 8 4 4 1 1, 64 128 8 16 8 16 4 4 1 1, "
    .. "64 64 8 8 8 8 4 4 1 1, 64 64 16 16 16 16 2 2 1 1, 128 128 16 8 16 8 4 8 1 1, "
    .. "128 128 8 16 16 16 8 4 1 1, 64 64 16 8 16 8 4 4 1 1, 128 128 16 16 16 16 8 8 1 1, "
    .. "64 128 16 16 16 16 4 4 1 1, 128 64 8 8 16 16 4 4 0 0, 64 64 8 8 8 8 8 8 0 1" },
  { "kt-pnpoly-rtx3060laptop", "block_size_x, tile_size, between_method, use_method",
    "block_size_x tile_size between_method use_method", polygon },
}

local function words(text)
  local out = {}
  for word in text:gmatch "[^ ]+" do out[#out + 1] = tonumber(word) or word end
  return out
end

-- The rows of the points; those that are not in the space are left out.
local function rows_of(W, axes, points)
  local at, out = {}, {}
  for a, name in ipairs(W.axes) do at[name] = a end
  for text in points:gmatch "[^,]+" do
    local values = words(text)
    for i = 1, W.n do
      local same = true
      for k, name in ipairs(axes) do same = same and W.values[at[name]][i] == values[k] end
      if same then out[#out + 1] = i end
    end
  end
  return out
end

-- The space with these rows proposed by the first pulls, or by every other of them.
local function with(task, rows, turns)
  return setmetatable({ environment = function(how)
    local env = task.environment(how)
    local inner, at = env.generator, 0
    local W = inner.world
    env.generator = setmetatable({ propose = function(parent, strategy, rng, about)
      local own = turns and about.pull % 2 == 0
      if own or at == #rows then return inner.propose(parent, strategy, rng, about) end
      at = at + 1
      return { source = W.source[rows[at]], params = space.params(W, rows[at]), origin = "first" }
    end }, { __index = inner })
    return env
  end }, { __index = task })
end

local names, all = { "without", "first", "in turns" }, { {}, {}, {} }
for _, s in ipairs(spaces) do
  local groups = {}
  for text in s[2]:gmatch "[^,]+" do
    local axes = words(text)
    groups[#groups + 1] = { name = axes[1], axes = axes }
  end
  local task = kb.trace(("%s/%s.json.gz"):format(data, s[1]), { strategies = groups, noise = false,
                                                                draws = "all", anew = true })
  local W = task.environment({ seed = 1, parallel = 1 }).generator.world
  local rows = rows_of(W, words(s[3]), s[4])
  print(("%s, %d points"):format(s[1], #rows))
  for k, t in ipairs { task, with(task, rows), with(task, rows, true) } do
    local sum, line = {}, {}
    for seed = 1, seeds do
      local r = kb.search { task = t, seed = seed, quiet = true, confirm = false,
                            budget = { steps = pulls } }
      local start = W.optimum_ns / W.time_ns[walk.start_of(W, seed)]
      for _, n in ipairs(marks) do
        local row = r.rows[math.min(n, #r.rows)]
        sum[n] = (sum[n] or 0) + start * row.best_speedup / seeds
      end
    end
    for i, n in ipairs(marks) do
      all[k][n] = (all[k][n] or 0) + math.log(sum[n]) / #spaces
      line[i] = n <= pulls and ("  %d: %.3f"):format(n, sum[n]) or ""
    end
    print(("  %-9s"):format(names[k]) .. table.concat(line))
  end
end
for k, name in ipairs(names) do
  local line = {}
  for i, n in ipairs(marks) do
    line[i] = n <= pulls and ("  %d: %.3f"):format(n, math.exp(all[k][n])) or ""
  end
  print(("all %-9s"):format(name) .. table.concat(line))
end
