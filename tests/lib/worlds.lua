-- worlds.lua - small worlds for the specs: tasks without a machine whose every
-- answer is known, policy files, and folders that are removed at the end.
local core = require "kernelband.core"

local worlds = {}

-- Not a name that workers take for the scratch folder of a dead one.
local base = ("%s/kb-spec-%s"):format(os.getenv "TMPDIR" or "/tmp",
                                      core.system.random_hex(6))
local made = 0
assert(core.system.mkdir_p(base))

-- A path of its own; nothing is there yet.
function worlds.folder()
  made = made + 1
  return ("%s/%d"):format(base, made)
end

function worlds.file(text, ...)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  local name = dir .. "/file.lua"
  assert(core.system.write_file(name, select("#", ...) > 0
                                and text:format(...) or text))
  return name
end

function worlds.clean()
  os.execute("rm -rf '" .. base .. "'")
end

local function strategy(name)
  return { name = name, target = "sm", summary = "", prompt = "", moves = {},
           path = name }
end

-- The n-th proposal is source "n"; the kernel of proposal n is n + 1 times as
-- fast as the baseline. options: strategies (names), fail (every such
-- proposal is wrong), same (one source for all), last (proposals there are),
-- refute (speed-up that is not confirmed, 1: none is), again (function of a speed-up:
-- what a confirmation measures), base_low (of the baseline's interval), usd (a
-- proposal), lost (evaluation at which the worker dies), died (what is said of a
-- worker before it), bad (baseline is wrong), speedup (function of n and strategy
-- name), evidence (function of n).
function worlds.task(options)
  local strategies = {}
  for i, name in ipairs(options.strategies or { "one", "two" }) do
    strategies[i] = strategy(name)
  end
  local given, done = 0, 0
  local generator = { name = "counting", seen = function() given = given + 1 end }
  function generator.open()
    return not options.last or given < options.last
  end
  function generator.propose(_, s)
    given = given + 1
    return { source = options.same and "same" or ("%d %s"):format(given, s.name),
             usd = options.usd }
  end

  local function evaluation(source, how)
    local n, name = source:match "^(%d+) (.*)"
    n = math.tointeger(n) or 1
    if options.fail and n > 0 and n % options.fail == 0 then
      return { verdict = "wrong", reason = "as asked" }
    end
    local speedup = options.speedup and options.speedup(n, name) or n + 1.0
    if how and how.confirm and (options.refute == 1 or options.refute == speedup) then
      return { verdict = "wrong", reason = "did not stand" }
    end
    if how and how.confirm and options.again then speedup = options.again(speedup) end
    return {
      died = options.died, verdict = "ok", time_ns = 1000 / speedup, baseline_ns = 1000,
      speedup = speedup, speedup_low = speedup, speedup_high = speedup,
      shapes = {}, evidence = options.evidence and options.evidence(n) or {
        phi = { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 },
        rho = { math.log(speedup), 1, 1, 1, 1, 1 },
        h = { sm = 50, dram = 50, l2 = 50 },
        signature = { 1 / speedup, 0, 0, 0, 0 } },
    }
  end

  local evaluator = { close = function() end }
  function evaluator.baseline()
    if options.bad then return { verdict = "wrong", reason = "as asked" } end
    local e = evaluation("0 none")
    e.speedup, e.speedup_low, e.speedup_high, e.time_ns = 1, options.base_low or 1, 1, 1000
    return e
  end
  function evaluator.evaluate(candidate, how)
    done = done + 1
    if done == options.lost then error("the worker is lost: it died", 0) end
    return evaluation(candidate.source, how)
  end

  return { name = "world", environment = function()
    return { strategies = strategies, generator = generator,
             evaluator = evaluator, source = "baseline" }
  end }
end

return worlds
