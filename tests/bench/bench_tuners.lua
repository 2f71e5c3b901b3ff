-- Kernel Tuner's strategies and our policies on the same recorded spaces, with the same
-- number of evaluations. Kernel Tuner (PyPI kernel-tuner) runs in its simulation mode;
-- it may jump to any configuration, ours move along one group of axes from a kernel
-- they have, beginning at a middling one. The table says so.
--   kernelband run tests/bench/bench_tuners.lua [their seeds] [our seeds]
-- KERNELBAND_PYTHON: a python with kernel_tuner (else python3); KERNELBAND_SPACES: a
-- folder with the three files of spaces.lua (else examples/traces).
local kb     = require "kernelband"
local json   = require "kernelband.json"
local spaces = require "spaces"

local theirs = math.tointeger(tonumber(arg[1] or 5))
local ours   = math.tointeger(tonumber(arg[2] or 20))
local python = os.getenv "KERNELBAND_PYTHON" or "python3"
local at     = { 20, 60, 200 }

local list, why = spaces.all()
if not list then
  print("tuners: " .. why .. ": skipped")
  return
end
if not os.getenv "KERNELBAND_SWEEP" then
  local ok = os.execute(("'%s' -c 'import kernel_tuner' 2>/dev/null"):format(python))
  if not ok then
    print("tuners: " .. python .. " has no kernel_tuner (PyPI kernel-tuner): skipped")
    return
  end
end

-- Ours first: it is the sweep's children that run this script again.
local policies = {}
local path = require "kernelband.path"
for _, file in ipairs(assert(path.files((path.find "policies"), ".lua"))) do
  policies[#policies + 1] = file
end
local sweep = kb.sweep { spaces = list, policies = policies, seeds = ours, steps = 200,
                         baselines = { "sample", "oracle" } }
local summary = kb.compare.table(sweep.rows, { at = at })

local function written()
  local out = {}
  for i, task in ipairs(list) do
    local W, rows = task.world, {}
    for r = 1, W.n do
      local row = {}
      for a = 1, #W.axes do row[a] = W.values[a][r] end
      row[#row + 1] = W.verdict[r] == "ok" and W.time_ns[r] / 1e6 or require("cjson").null
      rows[r] = row
    end
    out[i] = { name = task.name, axes = W.axes, rows = rows }
  end
  local file = os.tmpname()
  assert(kb.core.system.write_file(file, json.encode(out)))
  return file
end

local file = written()
local pipe = assert(io.popen(("'%s' tests/bench/tuners.py %s %d %s"):format(python, file, theirs,
  table.concat(at, " "))))
local sums, names = {}, {}
for line in pipe:lines() do
  local name, steps, space, _, share = line:match "^(%S+)\t(%d+)\t(%S+)\t(%d+)\t(%S+)$"
  if name then
    if not sums[name] then
      sums[name] = {}
      names[#names + 1] = name
    end
    local key = steps .. " " .. space
    local s = sums[name][key] or { 0, 0 }
    s[1], s[2] = s[1] + tonumber(share), s[2] + 1
    sums[name][key] = s
  end
end
pipe:close()
os.remove(file)

local lines = {}
for _, name in ipairs(names) do
  local row = { name = "Kernel Tuner " .. name, moves = "anywhere" }
  for i, steps in ipairs(at) do
    local log, whole = 0, true
    for _, task in ipairs(list) do
      local s = sums[name][steps .. " " .. task.name]
      whole = whole and s ~= nil
      if s then log = log + math.log(math.max(1e-3, s[1] / s[2])) end
    end
    row[i] = whole and math.exp(log / #list) or nil
  end
  lines[#lines + 1] = row
end
for _, c in ipairs(summary.cells) do
  local row = { name = c.name, moves = c.name == "sample" and "anywhere"
                or c.name == "oracle" and "one group of axes, knows all" or "one group of axes" }
  for i, steps in ipairs(at) do row[i] = c.at[steps] and c.at[steps].value end
  lines[#lines + 1] = row
end
table.sort(lines, function(a, b)
  if (a[2] or 0) ~= (b[2] or 0) then return (a[2] or 0) > (b[2] or 0) end
  return a.name < b.name
end)

print(("share of the optimum, geometric mean over %d spaces; %d seeds of theirs, %d of ours\n")
      :format(#list, theirs, ours))
print(("%-36s %8s %8s %8s  %s"):format("", "T = 20", "T = 60", "T = 200", "moves"))
for _, row in ipairs(lines) do
  local words = {}
  for i in ipairs(at) do words[i] = row[i] and ("%8.3f"):format(row[i]) or ("%8s"):format "-" end
  print(("%-36s %s  %s"):format(row.name, table.concat(words, " "), row.moves))
end
