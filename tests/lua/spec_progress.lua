-- What a search shows while it runs.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local json = require "kernelband.base.json"
local progress = require "kernelband.search.progress"
local textual = require "kernelband.base.text"
local worlds = require "worlds"

local status = { name = "matmul", done = 12, steps = 48, best = 18.4, best_id = 9,
  best_strategy = "tiling", last = 0.97, verdict = "ok", elapsed_s = 42,
  verdicts = { ok = 9, wrong = 1, build_failed = 1 } }

local function with(more)
  local s = {}
  for k, v in pairs(status) do s[k] = v end
  for k, v in pairs(more) do s[k] = v end
  return s
end

-- What a search says of itself when it is asked.
local function showing(more)
  return function() return with(more) end
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

t.test("the line of a terminal tells the interval, and what is under way", function()
  local live = with { best_low = 18.1, best_high = 18.7, last = false, verdict = "wrong",
    reason = "y[3]\27[2J is off", flights = { { n = 13, strategy = "tiling", stage = "proposing",
    seconds = 2 } }, workers = { { device = "cpu", state = "busy", seconds = 1 } } }
  t.equal(progress.line(live, 300, true), "[12/48] matmul best 18.40x (18.10 to 18.70, #9 tiling)"
    .. " last wrong | ok 9 build_failed 1 wrong 1 | 00:42 eta 02:06 | wrong: y[3] [2J is off"
    .. " | #13 tiling proposing 2 s, cpu busy 1 s")
  live.paused = "the model cannot\nbe reached"
  t.contains(progress.line(live, 300, true), " last wrong | waiting: the model cannot be reached |")
  live.paused, live.confirming = nil, 9
  t.contains(progress.line(live, 300, true), " | confirming kernel #9 | ok 9")
end)

t.test("no line is wider than the terminal, however narrow", function()
  for width = 8, 160, 13 do
    local line = progress.line(with { best_low = 1, best_high = 2 }, width, true)
    assert(#line <= width, line)
    line = progress.line(with { name = ("\u{E9}"):rep(60) }, width, true)
    assert(utf8.len(line) <= width, line)
  end
end)

t.test("a terminal gets one line, rewritten, and messages stay", function()
  local term = terminal(60)
  local p = progress.new { write = term.write, tty = true, columns = function() return 60 end }
  p.pull(showing {})
  p.note "a message"
  for n = 13, 20 do p.pull(showing { done = n }) end
  p.note "an error: the disk is full"
  p.pull(showing { done = 21 })
  p.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.equal(text, "a message\nan error: the disk is full\n"
    .. "[21/48] matmul best 18.40x (#9 tiling) last 0.97x ok\n")
end)

t.test("a terminal that was made narrower is redrawn whole", function()
  local term = terminal(60)
  local p = progress.new { write = term.write, tty = true,
                           columns = function() return term.columns end }
  p.note "before"
  p.pull(showing { best_low = 18.1, best_high = 18.7 })
  term.resize(30)
  p.pull(showing { done = 13, best_low = 18.1, best_high = 18.7 })
  p.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.equal(text, "before\n[13/48] matmul best 18.40x (1\n")
end)

t.test("elsewhere a line a pull, and nothing for the time that passes", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, tty = false }
  p.pull(showing {})
  p.tick(showing {})
  p.close()
  t.equal(table.concat(out), progress.line(status) .. "\n")
end)

t.test("json is one object a line", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, mode = "json" }
  p.pull(showing {})
  p.note "said"
  t.equal(json.decode(out[1]).done, 12)
  t.equal(json.decode(out[1]).event, "pull")
  t.equal(json.decode(out[2]), { event = "note", text = "said" })
end)

t.test("never shows no pulls but what has to be known", function()
  local out = {}
  local p = progress.new { write = function(x) out[#out + 1] = x end, mode = "never" }
  p.pull(showing {})
  p.note "said"
  t.equal(table.concat(out), "said\n")
end)

t.test("--progress is one of four words", function()
  t.raises("did you mean 'json'?", progress.mode, "jsn")
end)

t.test("a group of searches shares one line", function()
  local term = terminal(100)
  local members = progress.new { write = term.write, tty = true, group = true,
                                 columns = function() return 100 end }
  local first = members.member(1)
  first.pull(showing {})
  members.member(2).pull(showing { name = "softmax", done = 3 })
  first.pull(showing { done = 13 })
  members.close()
  local text = term.text():gsub("\27%[%d*m", "")
  t.equal(text, "16 pulls in all | [13/48] matmul best 18.40x | [ 3/48] softmax best 18.40x\n")
end)

t.test("each of a large group is counted", function()
  local term = terminal(100)
  local members = progress.new { write = term.write, tty = true, group = true,
                                 columns = function() return 100 end }
  for i = 1, 80 do members.member(i).pull(showing { done = 1 }) end
  members.close()
  t.contains(term.text(), "80 pulls in all | [ 1/48] matmul")
end)

local result = { task = "matmul", gain = true, confirmed = true, run = "runs/a b", pulls = 3,
  source_path = "runs/a b/best.c", speedup = 3, speedup_low = 2.9, speedup_high = 3.1,
  baseline_ns = 3e6, time_ns = 1e6, shapes = { { label = "n=64", role = "timed",
  baseline_ns = 3000, time_ns = 1000, speedup = 3 } } }

t.test("a search ends with the table of its shapes and what to do with the winner", function()
  local out = {}
  local function write(x) out[#out + 1] = x end
  progress.new { write = write, tty = false }.ended(result)
  local winner = "matmul: take 'runs/a b/best.c', 3.00x (2.90 to 3.10, confirmed); next: "
    .. "kernelband verify 'runs/a b', kernelband report 'runs/a b'\n"
  t.equal(table.concat(out), "\n" .. progress.table(result) .. "\n" .. winner)
  out = {}
  progress.new { write = write, tty = false, group = true }.member(1).ended(result)
  t.equal(table.concat(out), winner)
  out = {}
  progress.new { write = write, mode = "json" }.ended(result)
  t.equal(json.decode(out[1]).source_path, "runs/a b/best.c")
  progress.new { write = write, quiet = true }.ended(result)
  progress.new { write = write, tty = false }.ended { gain = false }
  t.equal(#out, 1)
  t.contains(progress.winner { task = "t", gain = true, speedup = 2 },
             "give the search an `out`")
end)

-- What a search prints to a terminal, by util-linux' script.
local function on_terminal(environment, words)
  local dir = worlds.folder()
  core.system.mkdir_p(dir)
  assert(core.system.write_file(dir .. "/s.lua", [[
    local kb = require "kernelband"
    kb.search { task = kb.synthetic { seed = 3, fail = 0 }, budget = { steps = 6 }, out = "run",
                quiet = false }]]))
  local command = ("cd %s && %s %s run %s s.lua"):format(dir, environment, core.system.exe(), words)
  local pipe = assert(io.popen(("script -qec %s /dev/null </dev/null"):format(
    textual.quote("stty cols 70; " .. command))))
  local all = pipe:read "a"
  pipe:close()
  return all
end

t.test("on a real terminal a search writes one line over and over", function()
  if not os.execute "command -v script >/dev/null" then return print "no script: skipped" end
  local all = on_terminal("TERM=xterm NO_COLOR=", "")
  local lines = select(2, all:gsub("\n", ""))
  assert(lines <= 5, all)
  t.contains(all, "\r\27[J[6/6] synthetic-3 \27[1mbest ")
  t.contains(all, "; next: kernelband verify run, kernelband report run")
  for piece in all:gmatch "%[%d/6%][^\r\n]*" do
    assert(utf8.len((piece:gsub("\27%[%d*%a", ""))) < 70, piece)
  end
  all = on_terminal("TERM=xterm NO_COLOR=1", "")
  t.contains(all, "\r\27[J[6/6] synthetic-3 best ")
  t.equal(all:find("\27%[%d+m"), nil)
  all = on_terminal("TERM=dumb", "")
  t.equal(all:find "\27", nil)
  t.equal(select(2, all:gsub("%[%d/6%]", "")), 6)
  t.equal(on_terminal("TERM=xterm", "--progress json"):find "\27", nil)
end)

worlds.clean()

t.finish()
