-- lab.lua - what the scripts of this folder share: the recorded spaces of the
-- repository, and a sentence that a table supports.
local kb   = require "kernelband"
local path = require "kernelband.path"

local lab = {}

-- Every recording in examples/traces, written by kernelband record: TASK-cpu on a core
-- that other work shared, TASK-h200 on a quiet H200. Of four H200 files the rows with
-- load_hint = first are left out: a defect of that day, since mended, refused them all.
-- Where there is no recording, synthetic tasks, so that the scripts run anywhere.
-- more: further options of kb.trace.
function lab.spaces(more)
  local folder, out = path.find "examples/traces", {}
  for _, file in ipairs(folder and path.files(folder, ".jsonl.gz") or {}) do
    local options = {}
    for k, v in pairs(more or {}) do options[k] = v end
    if options.suffix then
      options.name = path.base(file):gsub("%.jsonl%.gz$", "") .. options.suffix
      options.suffix = nil
    end
    out[#out + 1] = kb.trace(file, options)
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

-- How many seeds, when nobody says: what fits a minute.
function lab.seeds(given, spaces)
  return math.tointeger(tonumber(given)) or math.max(4, 48 // #spaces)
end

-- Says which cell leads at the last T, by how much, and whether seeds explain it. A
-- leader is picked among many, so chance is held to a part of 5 % (Bonferroni).
function lab.sentence(t)
  local best, last = best_of(t)
  if best.name == t.reference then
    local worse, same = 0, 0
    for _, c in ipairs(t.cells) do
      if c.same == t.reference then
        same = same + 1
      elseif c.against and c.against.sure then
        worse = worse + 1
      end
    end
    return ("At T = %d %s is not beaten: of %d others %d are worse (95 %% each), %d chose the "
            .. "same, %d are within chance."):format(last, best.name, #t.cells - 1, worse, same,
            #t.cells - 1 - worse - same)
  end
  local d = best.against
  local sure = (d.chance or 1) * (#t.cells - 1) < 0.05
  return ("At T = %d %s leads %s by %.3f of the optimum [%.3f %.3f], which is %s."):format(last,
    best.name, t.reference, d.value, d.low or d.value, d.high or d.value,
    sure and "more than chance" or "within chance for the best of " .. #t.cells)
end

-- Runs a sweep, prints its table and its sentence.
function lab.show(options, at)
  local t = kb.compare.table(kb.sweep(options).rows, { at = at or { 20, 60 } })
  print(kb.compare.text(t, true))
  print("\n" .. lab.sentence(t))
  return t
end

-- Pairs (phi, strategy, gained or not) as a random policy would meet them: n draws
-- of a valid configuration, a strategy open for it and a neighbour.
function lab.pairs(task, n, seed)
  local walk, features = require "kernelband.trace.walk", require "kernelband.trace.features"
  local W, rng, out = task.world, kb.core.rng(seed), {}
  while #out < n do
    local i, s = W.ok[1 + rng:below(#W.ok)], 1 + rng:below(#W.strategies)
    local j = walk.draw(W, i, s, rng)
    if j then
      local phi, rho = features.of(W, i, W.time_ns[i], W.time_ns[W.ok[#W.ok // 2]])
      local gain = W.verdict[j] == "ok" and 1 - W.time_ns[j] / W.time_ns[i] or -1
      out[#out + 1] = { phi = phi, rho = rho, row = i, strategy = W.strategies[s].name,
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
  for _, p in ipairs(list) do
    local head = heads[p.strategy]
    if head then
      head:fit()
      heads[p.strategy], heads[p.strategy .. " fitted"] = nil, head
    end
  end
  return function(p)
    local head = heads[p.strategy .. " fitted"]
    return head and head:p(p.phi) or 0.5
  end
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
