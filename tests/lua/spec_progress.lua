-- What a search shows while it runs.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local json = require "kernelband.base.json"
local progress = require "kernelband.search.progress"

local status = { name = "matmul", done = 12, steps = 48, best = 18.4, best_id = 9,
  best_strategy = "tiling", last = 0.97, verdict = "ok", elapsed_s = 42,
  verdicts = { ok = 9, wrong = 1, build_failed = 1 } }

local function with(more)
  local s = {}
  for k, v in pairs(status) do s[k] = v end
  for k, v in pairs(more) do s[k] = v end
  return s
end

-- A terminal that knows what \r, \n, ESC [ n A and ESC [ J do: its rows.
local function terminal(columns)
  local rows, row, col = { "" }, 1, 0
  local term = { columns = columns }
  local function put(c)
    if col == term.columns then row, col = row + 1, 0 end
    rows[row] = rows[row] or ""
    rows[row] = rows[row]:sub(1, col) .. (" "):rep(col - #rows[row]) .. c
                .. rows[row]:sub(col + 2)
    col = col + 1
  end
  function term.write(text)
    local at = 1
    while at <= #text do
      local n, verb, stop = text:match("^\27%[(%d*)(%a)()", at)
      local c = text:sub(at, at)
      if verb == "A" then
        row = math.max(1, row - (tonumber(n) or 1))
      elseif verb == "J" then
        rows[row] = (rows[row] or ""):sub(1, col)
        for i = row + 1, #rows do rows[i] = nil end
      elseif c == "\r" then
        col = 0
      elseif c == "\n" then
        row, col = row + 1, 0
        rows[row] = rows[row] or ""
      elseif not verb then
        put(c)
      end
      at = stop or at + 1
    end
  end
  function term.text() return table.concat(rows, "\n") end
  -- What a terminal that gets narrower does to lines that were wider.
  function term.resize(width)
    local out = {}
    for _, r in ipairs(rows) do
      repeat
        out[#out + 1] = r:sub(1, width)
        r = r:sub(width + 1)
      until r == ""
    end
    rows, row, col, term.columns = out, #out, #out[#out], width
  end
  return term
end

t.test("the status line", function()
  t.equal(progress.line(status), "[12/48] matmul best 18.40x (#9 tiling) last 0.97x ok"
    .. " | ok 9 build_failed 1 wrong 1 | 00:42 eta 02:06")
  t.equal(progress.line(status, 60), "[12/48] matmul best 18.40x (#9 tiling) last 0.97x ok")
  t.equal(#progress.line(status, 10), 10)
end)

t.test("money and tokens are shown, and what is unknown is said to be", function()
  t.contains(progress.line(with { usd = 0.314, tokens = 212345 }), "| $0.31 212k tokens |")
  t.contains(progress.line(with { usd = 0.5, usd_unknown = true }),
             "| $0.50 and unknown prices |")
  t.contains(progress.line(with { usd = 0, usd_unknown = true, tokens = 3000 }),
             "| price unknown 3k tokens |")
end)

t.test("recorded answers cost nothing now, and what they cost is said to be recorded", function()
  local line = progress.line(with { usd = 0, usd_unknown = true, recorded = true })
  t.contains(line, "| $0.00 (recorded answers) |")
  assert(not line:find("price", 1, true), line)
  t.contains(progress.line(with { usd = 0, recorded_usd = 0.31, tokens = 3000, recorded = true }),
             "| $0.00 (recorded: $0.31 3k tokens) |")
end)

t.test("the line of a pull that failed says why in one clause", function()
  local function line(verdict, reason, width)
    return progress.line(with { last = false, verdict = verdict, reason = reason }, width)
  end
  for _, verdict in ipairs { "wrong", "cheated", "crashed" } do
    t.contains(line(verdict, "y[3] is 2, expected 3; 7 more\nof 9"),
               ("00:42 eta 02:06 | %s: y[3] is 2, expected 3"):format(verdict))
    t.equal(line(verdict, "y[3] is 2; 7 more"):find("7 more", 1, true), nil)
  end
  t.equal(line("wrong", "a\27[2Jb\r"):find "%c", nil)
  t.equal(#line("wrong", ("x"):rep(5000)) < 300, true)
  t.equal(#line("wrong", "y[3] is 2", 80) <= 80, true)
end)

t.test("the block tells the best, the last pull, and what is under way", function()
  local lines = progress.block(with { best_low = 18.1, best_high = 18.7, last = false,
    verdict = "wrong", last_n = 12, last_strategy = "pipeline", reason = "y[3]\27[2J is off",
    flights = { { n = 13, strategy = "tiling", stage = "proposing", seconds = 2 } },
    workers = { { device = "cpu", state = "busy", seconds = 1 } } }, 100)
  t.equal(lines, { "[12/48] matmul best 18.40x (18.10 to 18.70, #9 tiling)",
    "last #12 pipeline wrong: y[3] [2J is off",
    "ok 9 build_failed 1 wrong 1 | 00:42 eta 02:06",
    "under way: #13 tiling proposing 2 s", "workers: cpu busy 1 s" })
end)

t.test("no line is wider than the terminal, however narrow", function()
  for width = 8, 60, 13 do
    for _, line in ipairs(progress.block(with { best_low = 1, best_high = 2 }, width)) do
      assert(#line <= width, line)
    end
  end
end)

t.test("a terminal gets one block, rewritten, and messages stay", function()
  local term = terminal(60)
  local p = progress.new { write = term.write, tty = true, columns = function() return 60 end }
  p.pull(status)
  p.note "a message"
  for n = 13, 20 do p.pull(with { done = n }) end
  p.note "an error: the disk is full"
  p.pull(with { done = 21 })
  p.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.equal(text, "a message\nan error: the disk is full\n[21/48] matmul best 18.40x\n"
    .. "last #21 ? 0.97x ok\nok 9 build_failed 1 wrong 1 | 00:42 eta 00:54\n")
end)

t.test("a terminal that was made narrower is redrawn whole", function()
  local term = terminal(60)
  local p = progress.new { write = term.write, tty = true,
                           columns = function() return term.columns end }
  p.note "before"
  p.pull(with { best_low = 18.1, best_high = 18.7 })
  term.resize(30)
  p.pull(with { done = 13, best_low = 18.1, best_high = 18.7 })
  p.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.equal(text, "before\n[13/48] matmul best 18.40x (1\nlast #13 ? 0.97x ok\n"
    .. "ok 9 build_failed 1 wrong 1 |\n")
end)

t.test("elsewhere a line a pull, and nothing for the time that passes", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, tty = false }
  p.pull(status)
  p.tick(status)
  p.close()
  t.equal(table.concat(out), progress.line(status) .. "\n")
end)

t.test("json is one object a line", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, mode = "json" }
  p.pull(function() return with {} end)
  p.note "said"
  t.equal(json.decode(out[1]).done, 12)
  t.equal(json.decode(out[1]).event, "pull")
  t.equal(json.decode(out[2]), { event = "note", text = "said" })
end)

t.test("never shows no pulls but what has to be known", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, mode = "never" }
  p.pull(status)
  p.note "said"
  t.equal(table.concat(out), "said\n")
end)

t.test("--progress is one of four words", function()
  t.raises("did you mean 'json'?", progress.mode, "jsn")
end)

t.test("a group of searches shares one block, a line each", function()
  local term = terminal(100)
  local members = progress.new { write = term.write, tty = true, group = true,
                                 columns = function() return 100 end }
  members[1].pull(status)
  members[2].pull(with { name = "softmax", done = 3 })
  members[1].pull(with { done = 13 })
  members.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.contains(text, "[13/48] matmul best 18.40x")
  t.contains(text, "[ 3/48] softmax best 18.40x")
  t.contains(text, "16 pulls in all")
end)

t.finish()
