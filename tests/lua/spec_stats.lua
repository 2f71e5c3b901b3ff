-- core.stats: order statistics, means, and the interval of a paired comparison.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local stats = core.stats

local largest = 0x1.fffffffffffffp1023

local function near(got, want, by, what)
  assert(math.abs(got - want) <= by,
         ("%s: expected %.17g, got %.17g"):format(what or "", want, got))
end

-- Powers of two: no two subsets, and no two Walsh averages, are equal.
local function spread(n)
  local x = {}
  for i = 0, n - 1 do x[n - i] = (i % 3 ~= 0 and 1 or -1) * 2.0 ^ i end
  return x
end

local function walsh_of(x)
  local w = {}
  for i = 1, #x do
    for j = i, #x do w[#w + 1] = (x[i] + x[j]) / 2 end
  end
  table.sort(w)
  return w
end

-- Order statistics ---------------------------------------------------------------------

t.test("the median is the middle or the mean of two, and the list stays as it was", function()
  local x = { 5, -1, 3 }
  t.equal(stats.median(x), 3)
  t.equal(x, { 5, -1, 3 })
  t.equal(math.type(stats.median(x)), "float")
  t.equal(stats.median { 4, 1, 3, 100 }, 3.5)
  t.equal(stats.median { largest, largest }, largest)
end)

-- numpy.quantile([15, 20, 35, 40, 50], q), whose default is type 7.
t.test("a quantile is of type 7", function()
  for q, want in pairs { [0] = 15, [0.05] = 16, [0.25] = 20, [0.4] = 29, [0.5] = 35, [0.9] = 46,
                         [1] = 50 } do
    near(stats.quantile({ 50, 15, 40, 20, 35 }, q), want, 1e-12, q)
  end
end)

t.test("the mad is not scaled", function() t.equal(stats.mad { 1, 1, 2, 2, 4, 6, 9 }, 1) end)

t.test("means survive large and small numbers", function()
  local tiny = {}
  for i = 1, 64 do tiny[i] = 1e-300 end
  t.equal(stats.mean { 1, 2, 6 }, 3)
  t.equal(stats.mean { largest, largest }, largest)
  near(stats.geomean { 1, 10, 100 }, 10, 1e-12)
  near(stats.geomean(tiny) * 1e300, 1, 1e-10)
end)

t.test("the order of arrival does not matter", function()
  local a, b = {}, {}
  for i = 0, 49 do
    a[i + 1] = math.sin(i) * 1e9 + 1 / (i + 1)
    b[50 - i] = a[i + 1]
  end
  assert(stats.mean(a) == stats.mean(b))
end)

t.test("a mistake raises and says what it is", function()
  local long = {}
  for i = 1, 129 do long[i] = i end
  for _, case in ipairs {
    { "bad argument #1 to 'median' (expected 1 to 1000000 numbers, got 0)", stats.median, {} },
    { "expected a table, got 3", stats.median, 3 },
    { "expected a table, got nothing", stats.median },
    { "element 2", stats.mean, { 1, 0/0 } }, { "element 2", stats.median, { 1, 0/0 } },
    { "element 1", stats.mean, { math.huge, 1 } }, { "element 1", stats.geomean, { -math.huge } },
    { "element 2", stats.mad, { 1, math.huge } }, { "element 2", stats.quantile, { 1, 0/0 }, 0.5 },
    { "element 2", stats.paired, { 1, math.huge } },
    { 'element 2: expected a finite number, got "x"', stats.mean, { 1, "x" } },
    { "expected numbers > 0", stats.geomean, { 1, 0 } },
    { "expected a number 0..1, got 1.5", stats.quantile, { 1 }, 1.5 },
    { "expected a number 0..1", stats.quantile, { 1 }, -0.01 },
    { "expected a number 0..1", stats.quantile, { 1 }, 0/0 },
    { "expected a number 0..1", stats.quantile, { 1 }, math.huge },
    { "expected a number 0..1, got nothing", stats.quantile, { 1 } },
    { "expected 1 to 128 numbers, got 0", stats.paired, {} },
    { "a confidence of 0 or 1", stats.paired, { 1, 2 }, 1 },
    { "a confidence of 0 or 1", stats.paired, { 1, 2 }, 0 },
    { "expected a number 0..1", stats.paired, { 1, 2 }, 0/0 },
    { "expected a number 0..1", stats.paired, { 1, 2 }, 1.01 },
    { "expected 1 to 128 numbers, got 129", stats.paired, long },
  } do
    local ok, why = pcall(case[2], table.unpack(case, 3))
    t.equal(ok, false, case[1])
    t.contains(why, case[1])
  end
  local _, why = pcall(function() return (stats.median {}) end)
  t.contains(why, "spec_stats.lua:")
end)

-- The paired interval ------------------------------------------------------------------

-- Critical values of the signed-rank statistic, two-sided: Wilcoxon & Wilcox (1964), Table 2, as
-- every textbook prints it.
local critical = {
  { 6, 0, 0.95 },   { 7, 2, 0.95 },   { 8, 3, 0.95 },   { 9, 5, 0.95 },
  { 10, 8, 0.95 },  { 11, 10, 0.95 }, { 12, 13, 0.95 }, { 13, 17, 0.95 },
  { 14, 21, 0.95 }, { 15, 25, 0.95 }, { 16, 29, 0.95 }, { 20, 52, 0.95 },
  { 25, 89, 0.95 }, { 8, 0, 0.99 },   { 9, 1, 0.99 },   { 10, 3, 0.99 },
  { 12, 7, 0.99 },  { 16, 19, 0.99 }, { 20, 37, 0.99 }, { 25, 68, 0.99 },
}

t.test("the interval lies at the published critical values", function()
  for _, case in ipairs(critical) do
    local n, d, confidence = table.unpack(case)
    local x = spread(n)
    local w, r = walsh_of(x), stats.paired(x, confidence)
    t.equal(r.method, "wilcoxon", n)
    assert(r.low == w[d + 1] and r.high == w[#w - d], n)
    assert(r.estimate == (w[(#w + 1) // 2] + w[#w // 2 + 1]) / 2, n)
    assert(r.confidence >= confidence, n)
    t.equal(r.n, n)
  end
end)

-- All 2^n signs, one by one.
t.test("the confidence is the share of signs it covers", function()
  for n = 5, 12 do
    local x = spread(n)
    local r, w, d, below = stats.paired(x, 0.9), walsh_of(x), 0, 0
    while w[d + 1] < r.low do d = d + 1 end
    for signs = 0, (1 << n) - 1 do
      local sum = 0
      for i = 0, n - 1 do sum = sum + (signs >> i & 1) * (i + 1) end
      if sum <= d then below = below + 1 end
    end
    assert(r.confidence == 1 - 2 * below / 2 ^ n, n)
  end
end)

t.test("six pairs are the fewest for 95 % and eight for 99 %", function()
  local x = { 3, 1, 4, 1.5, 9, 2.6, 5, 3.5 }
  local function paired(n, confidence)
    return stats.paired(table.move(x, 1, n, 1, {}), confidence)
  end
  t.equal(paired(5, 0.95).method, "student")
  local r = paired(6)
  t.equal({ r.method, r.low, r.high, r.confidence }, { "wilcoxon", 1, 9, 1 - 2 / 64 })
  t.equal(paired(6, 1 - 2 / 64).method, "wilcoxon")
  t.equal(paired(7, 0.99).method, "student")
  r = paired(8, 0.99)
  t.equal({ r.method, r.low, r.high, r.confidence }, { "wilcoxon", 1, 9, 1 - 2 / 256 })
end)

-- t(1 - a/2, df) of any table; mean 0 and s = 1 make it half the interval times the root of n.
local students = {
  { 2, 0.95, 12.706204736 },  { 3, 0.95, 4.302652730 },
  { 4, 0.95, 3.182446305 },   { 5, 0.95, 2.776445105 },
  { 2, 0.99, 63.656741162 },  { 5, 0.99, 4.604094871 },
  { 7, 0.99, 3.707428021 },   { 2, 0.90, 6.313751515 },
  { 10, 0.999, 4.780912586 },
}

t.test("few pairs take Student's t", function()
  for _, case in ipairs(students) do
    local n, confidence, quantile = table.unpack(case)
    local x, squares = {}, 0
    for i = 0, n - 1 do
      x[i + 1] = i - (n - 1) / 2
      squares = squares + x[i + 1] ^ 2
    end
    for i, v in ipairs(x) do x[i] = 5 + v / math.sqrt(squares / (n - 1)) end
    local r, half = stats.paired(x, confidence), quantile / math.sqrt(n)
    t.equal({ r.method, r.confidence }, { "student", confidence })
    near(r.estimate, 5, 1e-12, n)
    near(r.low, 5 - half, 1e-8, n)
    near(r.high, 5 + half, 1e-8, n)
  end
end)

t.test("one pair says nothing about spread", function()
  local r = stats.paired { 0.25 }
  t.equal(r, { method = "none", estimate = 0.25, low = -math.huge, high = math.huge, n = 1,
               confidence = 1 })
  t.equal(math.type(r.n), "integer")
end)

t.test("an outlier does not move the estimate far", function()
  local x = {}
  for i = 0, 15 do x[i + 1] = 0.02 + 0.001 * math.sin(i) end
  x[6] = 3
  local r = stats.paired(x, 0.99)
  near(r.estimate, 0.02, 0.001)
  assert(r.low > 0.018 and r.high < 0.022)
end)

-- With A and B changing places every number changes its sign, and no more.
t.test("the test is fair to both sides", function()
  for n = 2, 128 do
    local x, y = {}, {}
    for i = 0, n - 1 do
      x[i + 1] = math.sin(3 * i) + 0.1
      y[n - i] = -x[i + 1]
    end
    local a, b = stats.paired(x), stats.paired(y)
    near(a.low, -b.high, 1e-12, n)
    near(a.high, -b.low, 1e-12, n)
    near(a.estimate, -b.estimate, 1e-12, n)
    assert(a.low <= a.estimate and a.estimate <= a.high, n)
    assert(a.confidence == b.confidence and a.method == b.method, n)
  end
end)

t.test("equal pairs leave no doubt", function()
  local x = { 0.125 }
  for n = 2, 128 do
    x[n] = 0.125
    local r = stats.paired(x)
    assert(r.estimate == 0.125 and r.low == 0.125 and r.high == 0.125, n)
  end
end)

t.finish()
