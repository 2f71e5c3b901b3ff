-- base/stats.lua - core.stats: what a handful of noisy measurements says. Lists hold finite
-- numbers, at least one, and are left as they were; anything else raises. Equal multisets of
-- numbers give equal results: a mean is taken of the values in ascending order.
local show = require("kernelband.base.schema").show

local stats = {}

local most_numbers, most_pairs = 1000000, 128
local largest = 0x1.fffffffffffffp1023

-- Raises for the caller of a function of stats; called by what that function calls.
local function refuse(name, arg, wanted, v, where)
  error(("bad argument #%d to '%s' (%sexpected %s, got %s)"):format(arg, name, where or "", wanted,
                                                                   show(v)), 4)
end

-- The numbers of a list in ascending order.
local function sorted(name, list, most)
  if type(list) ~= "table" then refuse(name, 1, "a table", list) end
  local n, x, type_of = #list, {}, math.type
  if n == 0 or n > most then refuse(name, 1, ("1 to %d numbers"):format(most), n) end
  for i = 1, n do
    local v = list[i]
    if not type_of(v) or v - v ~= 0 then            -- NaN and the infinities give NaN
      refuse(name, 1, "a finite number", v, ("element %d: "):format(i))
    end
    x[i] = v + 0.0
  end
  table.sort(x)
  return x
end

local function check_share(name, q)
  if type(q) ~= "number" or not (q >= 0 and q <= 1) then refuse(name, 2, "a number 0..1", q) end
end

-- Halves first: the sum of two large numbers may overflow.
local function between(a, b) return a / 2 + b / 2 end

local function middle(x) return between(x[(#x + 1) // 2], x[#x // 2 + 1]) end

local function mean(x)
  local sum, share = 0.0, 0.0
  for _, v in ipairs(x) do
    sum = sum + v
    share = share + v / #x
  end
  return math.abs(sum) <= largest and sum / #x or share
end

function stats.median(list) return middle(sorted("median", list, most_numbers)) end

function stats.mean(list) return mean(sorted("mean", list, most_numbers)) end

-- Median |x - median x|, not scaled: times 1.4826 it estimates the standard deviation of a normal
-- (Rousseeuw & Croux 1993).
function stats.mad(list)
  local x = sorted("mad", list, most_numbers)
  local centre = middle(x)
  for i, v in ipairs(x) do x[i] = math.abs(v - centre) end
  table.sort(x)
  return middle(x)
end

-- exp of the mean of logarithms: no product that could underflow to a perfect score.
function stats.geomean(list)
  local x = sorted("geomean", list, most_numbers)
  if x[1] <= 0 then error("bad argument #1 to 'geomean' (expected numbers > 0)", 2) end
  for i, v in ipairs(x) do x[i] = math.log(v) end
  return math.exp(mean(x))
end

-- Linear between order statistics, h = (n - 1) q from the first: type 7 of Hyndman & Fan, "Sample
-- quantiles in statistical packages" (1996).
function stats.quantile(list, q)
  check_share("quantile", q)
  local x = sorted("quantile", list, most_numbers)
  local h = (#x - 1) * q
  local below = math.floor(h)
  local part = h - below
  return (1 - part) * x[below + 1] + part * (x[below + 2] or x[below + 1])
end

-- Paired comparison --------------------------------------------------------------------
--
-- Given x[i] = log(time of A / time of B) of n pairs: how much faster is B?
--
-- wilcoxon  estimate: Hodges & Lehmann (1963), the median of the M = n(n+1)/2 Walsh averages
--           (x[i] + x[j]) / 2, i <= j. Interval: with W sorted,
--
--             [ W(d + 1), W(M - d) ],  covers 1 - 2 P(T <= d),
--
--           d the largest for which that is at least what was asked, T the signed-rank sum under
--           the null: P(T = k) = 2^-n times the subsets of {1..n} with sum k, counted exactly
--           (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., sec. 3.1-3.3).
--           It assumes that x is symmetric about its centre, which the log of a ratio of
--           exchangeable pairs is. Ties and zeros make the interval cover more, not less.
-- student   when n >= 2 pairs cannot give the confidence, 2^(1-n) > 1 - asked (95 % takes 6,
--           99 % takes 8): mean +- t(n - 1) s / sqrt(n), which assumes that x is normal. t by
--           bisection on the finite series of Abramowitz & Stegun 26.7.3 and 26.7.4.
-- none      n == 1: an estimate, and the interval is everything.

-- The largest d with P(T <= d) <= tail, and that probability; nil when not even d = 0 is so rare.
-- Each pair's sign is a fair coin that adds its rank or nothing, so p moves up by a rank with
-- weight one half.
local function rank_cutoff(n, tail)
  local p, top = { [0] = 1.0 }, 0
  for rank = 1, n do
    top = top + rank
    for k = top, 0, -1 do p[k] = ((p[k] or 0.0) + (p[k - rank] or 0.0)) / 2 end
  end
  local below, k = 0.0, 0
  while p[k] and below + p[k] <= tail do
    below = below + p[k]
    k = k + 1
  end
  if k > 0 then return k - 1, below end
end

-- P(|t| < tan(theta) sqrt(df)) for Student's t.
local function student_within(theta, df)
  local c, s, odd = math.cos(theta), math.sin(theta), df % 2
  local sum, term = 0.0, odd == 1 and c or 1.0
  for k = odd, df - 2, 2 do
    sum = sum + term
    term = term * (c * c * (k + 1) / (k + 2))
  end
  return odd == 1 and (theta + s * sum) * 2 / math.pi or s * sum
end

local function student_quantile(confidence, df)
  local low, high = 0.0, math.pi / 2
  for _ = 1, 60 do
    local theta = (low + high) / 2
    if student_within(theta, df) < confidence then low = theta else high = theta end
  end
  return math.tan(high) * math.sqrt(df)
end

-- What the interval of n pairs takes: { d =, below = } or { t = }. Kept, since a measurement asks
-- after every pair, for few confidences.
local kept = {}
local function interval_of(n, confidence)
  local key = n + confidence
  if not kept[key] then
    local d, below = rank_cutoff(n, (1 - confidence) / 2)
    kept[key] = d and { d = d, below = below } or { t = student_quantile(confidence, n - 1) }
  end
  return kept[key]
end

local function wilcoxon(x, d, below)
  local walsh, n = {}, 0
  for i, v in ipairs(x) do
    for j = i, #x do
      n = n + 1
      walsh[n] = v / 2 + x[j] / 2       -- `between`, without a call
    end
  end
  table.sort(walsh)
  return { method = "wilcoxon", estimate = middle(walsh), low = walsh[d + 1],
           high = walsh[#walsh - d], confidence = 1 - 2 * below, n = #x }
end

local function student(x, t, confidence)
  local m, n, squares = mean(x), #x, 0.0
  for _, v in ipairs(x) do squares = squares + (v - m) * (v - m) end
  local half = t * math.sqrt(squares / (n - 1) / n)
  return { method = "student", estimate = m, low = m - half, high = m + half,
           confidence = confidence, n = n }
end

-- confidence of the result is what is really covered: at least what was asked, 0.95 by default.
function stats.paired(log_ratios, confidence)
  if confidence == nil then confidence = 0.95 end
  check_share("paired", confidence)
  local x = sorted("paired", log_ratios, most_pairs)
  if confidence == 0 or confidence == 1 then
    error("bad argument #2 to 'paired' (a confidence of 0 or 1 is not to be had)", 2)
  end
  if #x == 1 then
    return { method = "none", estimate = x[1], low = -math.huge, high = math.huge,
             confidence = 1.0, n = 1 }
  end
  local how = interval_of(#x, confidence)
  return how.d and wilcoxon(x, how.d, how.below) or student(x, how.t, confidence)
end

return stats
