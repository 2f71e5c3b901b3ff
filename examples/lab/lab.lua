-- lab.lua - what the scripts of this folder share: the recorded spaces of the
-- repository; a table, the sentences that it supports, and a drawing.
local kb   = require "kernelband"
local page = require "kernelband.report.compare_page"
local keys = require("kernelband.base.lists").keys
local path = require "kernelband.base.path"

local lab = {}

-- Recordings in examples/traces, written by kernelband record: TASK-cpu on a core that other
-- work shared, TASK-h200 on a quiet H200. The two in which searches differ most, a row
-- operation and a tiled product; with all = true every one. Of four older H200 files
-- the rows with load_hint = first are left out: a defect of that day, since mended, refused
-- them all. Where there is no recording, synthetic tasks, so that the scripts run anywhere.
-- more: all, and further options of kb.trace.
local chosen = { ["softmax-h200"] = true, ["gemm_f32_1024-h200"] = true }

function lab.spaces(more)
  local folder, out, options = path.find "examples/traces", {}, {}
  for k, v in pairs(more or {}) do options[k] = k ~= "all" and v or nil end
  for _, file in ipairs(folder and path.files(folder, ".jsonl.gz") or {}) do
    if chosen[path.base(file):match "^[^.]+"] or more and more.all then
      out[#out + 1] = kb.trace(file, options)
    end
  end
  if #out > 0 then return out, true end
  for seed = 1, 4 do out[seed] = kb.synthetic { seed = seed } end
  return out, false
end

local function best_of(t)
  local best
  local last = t.at[#t.at]
  for _, c in ipairs(t.cells) do
    if c.at[last] and (not best or c.at[last].value > best.at[last].value) then best = c end
  end
  return best, last
end

-- The names of the other cells: sure to be better or worse, within chance, of the same choices.
local function beside_reference(t)
  local better, worse, chance, same = {}, {}, {}, {}
  for _, c in ipairs(t.cells) do
    local d = c.against
    if c.name ~= t.reference then
      table.insert(c.same == t.reference and same or not (d and d.sure) and chance
                   or d.value > 0 and better or worse, c.name)
    end
  end
  return better, worse, chance, same
end

-- How many seeds, when nobody says: what fits a minute. Of fewer than six a resampling calls
-- what is chance sure.
function lab.seeds(given, spaces)
  return math.tointeger(tonumber(given)) or math.max(6, 48 // #spaces)
end

-- Says which cell leads at the last T, by how much, and whether seeds explain it. A
-- leader is picked among many, so chance is held to a part of 5 % (Bonferroni).
function lab.sentence(t)
  local best, last = best_of(t)
  if best.name == t.reference then
    local better, worse, chance, same = beside_reference(t)
    return ("At T = %d %s is not beaten: of %d others %d are worse (95 %% each), %d chose the "
            .. "same, %d are within chance."):format(last, best.name, #t.cells - 1,
            #better + #worse, #same, #chance)
  end
  local d = best.against
  local sure = (d.chance or 1) * (#t.cells - 1) < 0.05
  return ("At T = %d %s leads %s by %.3f of the optimum [%.3f %.3f], which is %s."):format(last,
    best.name, t.reference, d.value, d.low or d.value, d.high or d.value,
    sure and "more than chance" or "within chance for the best of " .. #t.cells)
end

-- Writes runs/lab/NAME.svg.
function lab.draw(name, svg)
  local file = ("runs/lab/%s.svg"):format(name)
  kb.core.system.mkdir_p "runs/lab"
  local ok, why = kb.core.system.write_file(file, svg)
  print(ok and "drawn in " .. file or why)
end

-- The table of these rows; what of it, at its last T, is an effect beside the reference; its
-- sentence; and its drawing.
function lab.report(name, rows, options)
  local t = kb.compare.table(rows, options)
  local better, worse, chance, same = beside_reference(t)
  print(kb.compare.text(t))
  print(("\nAfter %d pulls, 95 %% a comparison, beside %s"):format(t.at[#t.at], t.reference))
  for _, l in ipairs { { "better", better }, { "worse", worse },
                       { "no effect beyond chance", chance },
                       { "no effect, the very same choices", same } } do
    if #l[2] > 0 then print(("  %s: %s"):format(l[1], table.concat(l[2], ", "))) end
  end
  print(lab.sentence(t))
  lab.draw(name, page.svg(t))
  return t
end

-- Runs a sweep and reports it.
function lab.show(name, options)
  return lab.report(name, kb.sweep(options).rows, { at = { 20, 60 } })
end

-- Pairs (phi, strategy, gained or not) as a random policy would meet them: n draws
-- of a valid configuration, a strategy open for it and a neighbour.
function lab.pairs(task, n, seed)
  local walk = require "kernelband.trace.walk"
  local W, rng, out = task.world, kb.core.rng(seed), {}
  while #out < n do
    local i, s = W.ok[1 + rng:below(#W.ok)], W.strategies[1 + rng:below(#W.strategies)]
    local j = walk.draw(i, s, rng)
    if j then
      local phi, rho = walk.of(W, i, W.time_ns[i], W.time_ns[W.ok[#W.ok // 2]])
      local gain = W.verdict[j] == "ok" and 1 - W.time_ns[j] / W.time_ns[i] or -1
      out[#out + 1] = { phi = phi, rho = rho, row = i, strategy = s.name,
                        gain = math.max(-1, gain) }
    end
  end
  return out
end

-- One logistic head a strategy, fitted on pairs.
function lab.heads(list)
  local heads = {}
  for _, p in ipairs(list) do
    heads[p.strategy] = heads[p.strategy] or kb.core.logit(9, { l2 = 1, buffer = #list })
    heads[p.strategy]:learn(p.phi, p.gain > 0)
  end
  for _, name in ipairs(keys(heads)) do heads[name]:fit() end
  return function(p)
    local head = heads[p.strategy]
    return head and head:p(p.phi) or 0.5
  end
end

-- "mean [low high]" of a list, 95 % by its standard error; "-" when it is empty.
function lab.figure(list)
  local n = #list
  if n == 0 then return "-" end
  local mean = kb.core.stats.mean(list)
  if n == 1 then return ("%.2f"):format(mean) end
  local squares = 0
  for _, v in ipairs(list) do squares = squares + (v - mean) ^ 2 end
  local half = 1.96 * (squares / (n - 1) / n) ^ 0.5
  return ("%.2f [%.2f %.2f]"):format(mean, mean - half, mean + half)
end

-- The chance that a pair which gained was given a higher figure than one which did
-- not: 0.5 is a guess, 1 is foresight. Mann and Whitney's U over all such couples.
function lab.auc(list, score)
  local all, rank_sum, hits = {}, 0, 0
  for i, p in ipairs(list) do all[i] = { score(p), p.gain > 0 } end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  local i = 1
  while i <= #all do
    local j = i
    while j < #all and all[j + 1][1] == all[i][1] do j = j + 1 end
    for k = i, j do
      if all[k][2] then rank_sum, hits = rank_sum + (i + j) / 2, hits + 1 end
    end
    i = j + 1
  end
  if hits == 0 or hits == #all then return nil end
  return (rank_sum - hits * (hits + 1) / 2) / (hits * (#all - hits))
end

return lab
