-- Figures as the papers define them.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"

local rows = {
  { task = "a", verdict = "ok", speedup = 2 },
  { task = "b", verdict = "ok", speedup = 0.5 },
  { task = "c", verdict = "ok", speedup = 4, shapes = {
    { baseline_ns = 100, time_ns = 50 }, { baseline_ns = 900, time_ns = 50 } } },
  { task = "d", verdict = "no kernel" },
}

t.test("correct, Fast@1 and the geometric mean over correct tasks", function()
  local m = kb.metrics.of(rows)
  t.equal(m.tasks, 4)
  t.equal(m.correct_pct, 75)
  t.equal(m.fast1_pct, 50)
  t.near(m.geomean, 4 ^ (1 / 3), 1e-12)
  t.near(m.geomean_best_of, 8 ^ (1 / 4), 1e-12)
end)

t.test("fast_p is a share of all tasks, above p strictly", function()
  local m = kb.metrics.of(rows)
  local at = {}
  for _, f in ipairs(m.fast) do at[f.p] = f.share end
  t.equal(at[0], 0.75)
  t.equal(at[0.5], 0.5)
  t.equal(at[1], 0.5)
  t.equal(at[2], 0.25)
end)

t.test("the speed-up of sums is the sum of times over the sum of times", function()
  t.equal(kb.metrics.sums(rows[3].shapes), 10)
  t.near(kb.metrics.of(rows).sums.geomean, (2 * 0.5 * 10) ^ (1 / 3), 1e-12)
end)

t.test("the best of several runs a task", function()
  local best = kb.metrics.best_of { rows, { { task = "d", verdict = "ok", speedup = 3 },
    { task = "a", verdict = "wrong" }, { task = "b", verdict = "ok", speedup = 0.75 } } }
  t.equal(#best, 4)
  t.equal(best[1].speedup, 2)
  t.equal(best[2].speedup, 0.75)
  t.equal(best[4].speedup, 3)
end)

t.test("no task, no kernel and odd speed-ups make no figure up", function()
  t.equal(kb.metrics.of({}).geomean, nil)
  t.equal(kb.metrics.of({}).correct_pct, nil)
  local m = kb.metrics.of { { task = "a", verdict = "ok", speedup = 0 },
                            { task = "b", verdict = "ok", speedup = 0 / 0 } }
  t.equal(m.correct_pct, 0)
  t.equal(m.geomean, nil)
  t.contains(kb.metrics.text { { name = "x", rows = {} } }, "x")
  t.raises("row 1", function() kb.metrics.of { 1 } end)
end)

t.test("a table has a line for each set", function()
  local text = kb.metrics.text { { name = "ours", rows = rows }, { name = "theirs", rows = {} } }
  t.contains(text, "correct %")
  t.contains(text, "75.0")
  t.contains(text, "theirs")
end)

t.finish()
