-- The page of a run: what is in it, that it needs nothing else, that hostile texts
-- stay texts, and what it looks like to a browser where there is one.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local chart = require "kernelband.report.chart"
local diff = require "kernelband.base.diff"
local export = require "kernelband.report.export"
local html_of = require "kernelband.report.html"
local journals = require "journals"
local json = require "kernelband.base.json"
local keys = require("kernelband.base.lists").keys
local markup = require "markup"
local model = require "kernelband.report.model"
local pca = require "kernelband.report.pca"
local report = require "kernelband.report"
local run = require "kernelband.store.run"
local worlds = require "worlds"

local core = kb.core
local exe = core.system.exe()

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return code, text
end

local made = worlds.folder()
journals.write(made, { pulls = 120, usd = 0.01 })
local html = report.html { made }

-- Charts -----------------------------------------------------------------------

t.test("ticks are round numbers within the axis", function()
  t.equal(chart.ticks(0, 10, 6), { 0, 2, 4, 6, 8, 10 })
  t.equal(chart.ticks(0.13, 0.47, 4), { 0.2, 0.30000000000000004, 0.4 })
  t.equal(chart.log_ticks(1, 100, 8), { 1, 2, 5, 10, 20, 50, 100 })
  t.equal(#chart.log_ticks(1, 1e12, 6) <= 7, true)
  assert(#chart.log_ticks(1.01, 1.04, 6) >= 2)
end)

t.test("numbers are short", function()
  t.equal(html_of.number(0), "0")
  t.equal(html_of.number(1234567), "1.23M")
  t.equal(html_of.number(118e9), "118G")
  t.equal(html_of.number(0.25), "0.25")
  t.equal(html_of.number(-2500), "-2.5k")
  t.equal(html_of.number(999), "999")
  t.equal(html_of.number(999999), "1M")
  t.equal(html_of.number(1.98e15), "1.98P")
  t.equal(html_of.rate(999.9e9, "FLOP/s"), "1 TFLOP/s")
end)

t.test("what cannot be drawn is left out, and an empty chart is a chart", function()
  local c = chart.new { title = "t", y = { log = true } }
  c:line { { 1, 0 / 0 }, { 2, -1 }, { 3, math.huge }, { 4, 2 } }
  c:points { { 0 / 0, 1 }, { 1, 1 } }
  c:line { { 1, 1, 0 / 0, 2 }, { 2, 1, 1, 2 } }
  local svg = c:svg()
  assert(not svg:find "nan" and not svg:find "inf", svg)
  markup.harmless(svg)
  markup.harmless(chart.new { title = "" }:svg())
  markup.harmless(chart.bars { title = "", bars = {}, series = {} })
  t.contains(c:svg { standalone = true }, 'xmlns="http://www.w3.org/2000/svg"')
end)

t.test("any text is made harmless, and stays UTF-8", function()
  t.equal(html_of.escape "<a b='c'>&\"", "&lt;a b=&#39;c&#39;&gt;&amp;&quot;")
  t.equal(html_of.escape "a\0b\27c\xff\xfed", "a\u{FFFD}b\u{FFFD}c\u{FFFD}\u{FFFD}d")
  t.equal(html_of.escape "x\u{202E}y", "x[U+202E]y")
  t.equal(html_of.escape "\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}")
  t.equal(html_of.cut("äöüäöü", 4), "äöü\u{2026}")
  local rng = core.rng(3)
  for _ = 1, 300 do
    local bytes = {}
    for i = 1, 30 do bytes[i] = string.char(rng:below(256)) end
    local text = html_of.escape(table.concat(bytes))
    assert(utf8.len(text) and not text:find "[<>\"']")
  end
end)

-- Differences ------------------------------------------------------------------

local function longest_common(a, b)
  local row = {}
  for j = 0, #b do row[j] = 0 end
  for i = 1, #a do
    local left = 0
    for j = 1, #b do
      local above = row[j]
      row[j] = a[i] == b[j] and left + 1 or math.max(above, row[j - 1])
      left = above
    end
  end
  return row[#b]
end

t.test("a difference says both texts and is the shortest there is", function()
  local rng = core.rng(5)
  for _ = 1, 400 do
    local a, b = {}, {}
    for i = 1, rng:below(14) do a[i] = ("abc"):sub(rng:below(3) + 1) end
    for i = 1, rng:below(14) do b[i] = ("abc"):sub(rng:below(3) + 1) end
    local x, y, kept = {}, {}, 0
    for _, e in ipairs(diff.lines(table.concat(a, "\n"), table.concat(b, "\n"))) do
      if e[1] ~= "+" then x[#x + 1] = e[2] end
      if e[1] ~= "-" then y[#y + 1] = e[2] end
      if e[1] == " " then kept = kept + 1 end
      if e[3] then t.equal(e[3], #x) end
      if e[4] then t.equal(e[4], #y) end
    end
    t.equal(x, a)
    t.equal(y, b)
    t.equal(kept, longest_common(a, b))
  end
end)

t.test("texts with nothing in common do not take for ever", function()
  local a, b = {}, {}
  for i = 1, 4000 do a[i], b[i] = "a" .. i, "b" .. i end
  local start = os.clock()
  local list = diff.lines(table.concat(a, "\n"), table.concat(b, "\n"))
  t.equal(#list, 8000)
  assert(os.clock() - start < 5)
end)

t.test("the plane is that of the largest variance", function()
  local rng, points = core.rng(2), {}
  for i = 1, 200 do
    local u, w = rng:normal(), rng:normal()
    points[i] = { u, 3 * u + 0.1 * w, w, 5 }
  end
  local places, shares, weights = pca.plane(points, 4)
  t.equal(#places, 200)
  assert(shares[1] > 0.6 and shares[1] + shares[2] > 0.98, shares[1])
  t.near(weights[1][1], weights[1][2], 0.1)
  t.equal(weights[1][4], 0)
  t.equal(pca.plane({ { 1, 1 }, { 1, 1 } }, 2), nil)
  t.equal(pca.plane({ { 1 } }, 1), nil)
end)

-- The page ---------------------------------------------------------------------

t.test("the page is whole, and needs nothing from anywhere", function()
  local count = markup.harmless(html)
  assert(count.svg >= 7, count.svg)
  for _, id in ipairs { "summary", "checks", "progress", "verdicts", "strategies", "tree",
                        "clusters", "roofline", "profile", "source", "origin" } do
    t.contains(html, ('<section id="%s">'):format(id))
  end
  assert(not html:find "https?:" and not html:find("@import", 1, true)
         and not html:find("url(", 1, true))
  t.contains(html, "default-src 'none'")
  t.contains(html, "prefers-color-scheme:dark")
  t.contains(html, "against US dollars")
end)

t.test("the one script is the one the policy lets run", function()
  local script = html:match "<script>(.-)</script>"
  t.equal(script, html_of.script)
  local file = worlds.file("%s", script)
  local code, sum = shell("openssl dgst -sha256 -binary %s | openssl base64", file)
  if code ~= 0 then return print "the script's hash: openssl is not installed: skipped" end
  t.equal(sum:gsub("%s", ""), html_of.script_hash)
end)

t.test("its figures are the journal's", function()
  local m = model.load(made)
  t.equal(m.pulls, 120)
  local best = 0
  for _, p in ipairs(m.curve) do
    assert(p.speedup_low > best)
    best = p.speedup_low
  end
  t.equal(m.winner.id, m.curve[#m.curve].id)
  t.near(m.usd, 1.2, 1e-9)
  local sum = 0
  for _, row in pairs(m.cells) do for _, c in pairs(row) do sum = sum + c.n end end
  t.equal(sum, 120)
  sum = 0
  for _, bin in ipairs(m.bins) do for _, n in pairs(bin) do sum = sum + n end end
  t.equal(sum, 120)
  t.equal(model.masked(m, "pipeline", 1), 1)
  t.equal(model.masked(m, "tiling", 1), 0)
  t.equal(m.path[1].id, 1)
  t.equal(m.path[#m.path].id, m.winner.id)
end)

t.test("cells that the policy masks are hatched", function()
  t.contains(html, "masked for 100 % of its kernels")
  t.contains(html, "hardware mask keeps the strategy from at least half")
end)

t.test("a policy that scales a busy strategy's value down is not said to forbid it", function()
  local m = model.load(made)
  m.params.masked = 0.75
  local text = table.concat { require("kernelband.report.search").strategies(m) }
  t.contains(text, "scaled down for 100 % of its kernels")
  t.contains(text, "Hatched: the policy counts 0.75 of the strategy")
  t.equal(text:find("forbid", 1, true), nil)
end)

t.test("counters are shown before and after, and what binds the kernel", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 20, profile = true })
  local text = report.html { folder }
  markup.harmless(text)
  t.contains(text, "Hardware counters")
  t.contains(text, "The winner is bound by DRAM: 80 % of its peak.")
  t.contains(text, "bank conflicts in shared memory")
  local m = model.load(folder)
  t.equal(m.sample[1].moved, 2000000)
end)

t.test("whatever weakens the winner's figure is on the page", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 20 })
  t.contains(report.html { folder }, "Which checks were made was not recorded")
  local db = assert(core.store(folder .. "/run.db"))
  assert(db:exec [[UPDATE evaluations SET json = json_set(json, '$.checks',
    json('["every <element>"]'), '$.weakened', json('[]')) WHERE verdict = 'ok']])
  t.contains(report.html { folder }, "No check was left out or weakened")
  assert(db:exec [[UPDATE evaluations SET json = json_set(json, '$.quarantined', '12 <times>',
    '$.weakened', json('[7, "the task allows <much>"]')) WHERE verdict = 'ok']])
  assert(db:exec "UPDATE experiment SET options = json_set(options, '$.confirm', json('false'))")
  db:close()
  local text = report.html { folder }
  markup.harmless(text)
  for _, part in ipairs { "every &lt;element&gt;", "12 &lt;times&gt;",
                          "the task allows &lt;much&gt;", "told not to confirm" } do
    t.contains(text, part)
  end
  t.equal(text:find("No check was left out", 1, true), nil)
end)

t.test("hostile texts stay texts", function()
  local evil = "</script></title><script>alert(1)</script><img src=x onerror=alert(2)>"
    .. "\"'><svg onload=alert(3)>&lt;\xff\0\u{202E}]]>-->"
  local folder = worlds.folder()
  journals.write(folder, { pulls = 40, texts = function(kind, i)
    if kind == "strategy" then return i % 9 == 0 and evil or nil end
    return evil .. (kind == "source" and i or "")
  end })
  local text = report.html { folder }
  markup.harmless(text)
  assert(utf8.len(text))
  t.contains(text, "&lt;img src=x onerror=alert(2)&gt;")
  t.contains(text, "[U+202E]")
  markup.harmless(report.html { folder, made })
end)

t.test("numbers that are none do not spoil the page", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 30 })
  local db = assert(core.store(folder .. "/run.db"))
  assert(db:exec "UPDATE kernels SET speedup = 9e999, speedup_high = 9e999 WHERE id = 3")
  assert(db:exec "UPDATE kernels SET parent = id WHERE id = 5")
  assert(db:exec "UPDATE kernels SET parent = 13 - id WHERE id IN (6, 7)")
  assert(db:exec [[UPDATE evaluations SET json = '{"shapes": 7, "evidence": []}'
                   WHERE id % 3 = 0]])
  assert(db:exec "UPDATE evaluations SET json = 'no json' WHERE id % 3 = 1")
  assert(db:exec "UPDATE profiles SET rho = '[1,2]', h = '[' WHERE kernel % 2 = 0")
  assert(db:exec "UPDATE experiment SET machine = '[]', options = '7'")
  db:close()
  local text = report.html { folder }
  markup.harmless(text)
  assert(not text:find('="[^"]*nan') and not text:find('="[^"]*inf '))
end)

-- v with some of what is in it replaced by what is of another type.
local function spoilt(rng, v)
  local odd = { 7, "text", true, {}, { 1, 2 }, { a = 1 }, { {} } }
  if rng:uniform() < 0.06 then return odd[1 + rng:below(#odd)] end
  if type(v) ~= "table" then return v end
  local out = {}
  for _, key in ipairs(keys(v)) do out[key] = spoilt(rng, v[key]) end
  return out
end

t.test("figures of another type than they have are none", function()
  for seed = 1, 12 do
    local folder, rng = worlds.folder(), core.rng(seed)
    journals.write(folder, { pulls = 15, seed = seed, calls = true, profile = seed % 2 == 0 })
    local db = assert(core.store(folder .. "/run.db"))
    for _, row in ipairs(db:rows "SELECT id, json FROM evaluations") do
      assert(db:rows("UPDATE evaluations SET json = ? WHERE id = ?",
                     json.encode(spoilt(rng, json.decode(row.json))), row.id))
    end
    for _, name in ipairs { "identity", "options", "machine" } do
      local old = db:rows("SELECT " .. name .. " AS old FROM experiment")[1].old
      assert(db:rows("UPDATE experiment SET " .. name .. " = ?",
                     json.encode(spoilt(rng, json.decode(old)))))
    end
    db:close()
    markup.harmless(report.html { folder })
    local reader <close> = run.reader(folder)
    assert(export.t4(reader, function() end))
  end
end)

t.test("a folder that is no run is refused", function()
  t.raises("holds no run", report.html, { "/nowhere" })
  local folder = worlds.folder()
  core.system.mkdir_p(folder)
  core.system.write_file(folder .. "/run.db", "not a database at all, though long enough")
  t.raises("run.db", report.html, { folder })
end)

t.test("a run without a single pull, and one without a baseline, are pages", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 0, state = "running" })
  markup.harmless(report.html { folder })
  local db = assert(core.store(folder .. "/run.db"))
  for _, name in ipairs { "evaluations", "profiles", "kernels" } do
    assert(db:exec("DELETE FROM " .. name))
  end
  db:close()
  local text = report.html { folder }
  markup.harmless(text)
  t.contains(text, "the baseline is not measured yet")
end)

t.test("several runs: curves with bands, fast_p, intervals, pulls an arm", function()
  local folders = {}
  for seed = 1, 3 do
    for _, policy in ipairs { "greedy", "random" } do
      local folder = worlds.folder()
      folders[#folders + 1] = folder
      journals.write(folder, { pulls = 25, seed = seed, policy = policy })
    end
  end
  local text = report.html(folders)
  local count = markup.harmless(text)
  assert(count.svg >= 4)
  for _, part in ipairs { "6 runs: made", "greedy, 3 runs", "random, 3 runs", "fast_p",
                          "Pulls an arm", 'class="band s1"', 'class="band s2"' } do
    t.contains(text, part)
  end
end)

t.test("a report of 2,000 pulls takes 5 MB at most", function()
  local folder = worlds.folder()
  journals.write(folder, { pulls = 2000 })
  local text = report.html { folder }
  assert(#text <= 5e6, #text)
  local m, drawn = model.load(folder), {}
  t.equal(#m.tree, 150)
  for _, k in ipairs(m.tree) do
    assert(k.id == 1 or drawn[k.parent], k.id)
    drawn[k.id] = true
  end
  for _, k in ipairs(m.path) do assert(drawn[k.id], k.id) end
end)

t.test("the command writes the page beside the run, or to -o", function()
  local code, out = shell("%s report %s/", exe, made)
  t.equal(code, 0, out)
  t.equal(out, made .. "/report.html\n")
  t.equal(#core.system.read_file(made .. "/report.html") > 10000, true)
  t.equal(shell("%s report %s -o %s/x.html", exe, made, made), 0)
  t.equal(core.system.exists(made .. "/x.html"), "file")
  code, out = shell("%s report", exe)
  t.equal(code, 2)
  t.contains(out, "usage: kernelband report")
  code, out = shell("%s report %s -o /nowhere/x.html", exe, made)
  t.equal(code, 1)
  t.contains(out, "/nowhere/x.html")
end)

-- One number ---------------------------------------------------------------------

-- A run of 20 pulls in which sql was done.
local function edited(sql, o)
  local folder = worlds.folder()
  o = o or {}
  o.pulls = 20
  journals.write(folder, o)
  local db = assert(core.store(folder .. "/run.db"))
  assert(db:exec(sql))
  db:close()
  return folder
end

t.test("the winner's figure is the confirmed one, and the search's is called so", function()
  local folder = edited [[INSERT INTO evaluations SELECT NULL, 'confirm', NULL, kernel, NULL, NULL,
    'ok', json_set(json, '$.speedup', 1.23, '$.speedup_low', 1.2, '$.speedup_high', 1.3)
    FROM evaluations WHERE kernel = (SELECT id FROM kernels ORDER BY speedup_low DESC LIMIT 1)]]
  local m, text = model.load(folder), report.html { folder }
  local seen = ("%.2f\u{D7}"):format(m.winner.speedup)
  assert(seen ~= "1.23\u{D7}")
  for _, part in ipairs { "<h1>made: 1.23\u{D7} speed-up</h1>", "1.23\u{D7}, confirmed</text>",
                          "confirmed: 1.23\u{D7}", "confirmed; the search measured " .. seen,
                          "Improvements, as the search measured them" } do
    t.contains(text, part)
  end
  t.contains(report.html { made }, "as the search measured it, not confirmed")
end)

t.test("a source too long to show is said to be, and where it is", function()
  local text = report.html { edited "UPDATE kernels SET source = printf('%500000d', 1)" }
  t.contains(text, "The source has 500,000 bytes; it is in best.*")
  t.equal(text:match "@%u+@", nil)
end)

t.test("every timed shape is in the roofline", function()
  local folder = edited [[UPDATE evaluations SET json = json_set(json, '$.shapes', json('[
    {"role":"timed","label":"n=1","flops":1e6,"bytes":1e6,"baseline_ns":2e6,"time_ns":1e6},
    {"role":"timed","label":"n=9","flops":9e6,"bytes":1e6,"baseline_ns":3e6,"time_ns":1e6}]'))
    WHERE verdict = 'ok']]
  local text = report.html { folder }
  t.contains(text, "n=1, winner: 1 GFLOP/s")
  t.contains(text, "n=9, baseline: 3 GFLOP/s")
  t.contains(text, "n=9, winner: 9 GFLOP/s")
  t.contains(text, "the winner, on every timed shape")
end)

t.test("a run on a CPU has no word of GPUs", function()
  for _, word in ipairs { "occupancy", "DRAM bandwidth", "shared memory", ">sm<",
                          "utilisation of sm", "block x", "tensor" } do
    t.equal(html:find(word, 1, true), nil, word)
  end
end)

t.test("bars of verdicts stand where something failed alone", function()
  t.contains(html, "Verdicts of successive pulls")
  local text = report.html { edited "UPDATE pulls SET verdict = 'ok'" }
  t.equal(text:find("Verdicts of successive pulls", 1, true), nil)
  t.contains(text, "All 20 pulls gave a kernel that passed every check.")
end)

t.test("generators are named in words, not in JSON", function()
  local text = report.html { edited [[UPDATE experiment SET identity = json_set(identity,
    '$.generator', '{"kind":"llm","model":"m","provider":"made"}')]] }
  t.contains(text, "generator llm made m, seed")
end)

-- A browser ----------------------------------------------------------------------

t.test("a picture of a run stands alone, and several runs have none", function()
  t.equal(shell("%s report %s -o %s/x.svg", exe, made, made), 0)
  local svg, drawings = core.system.read_file(made .. "/x.svg"), 0
  for _, tag in ipairs(markup.read(svg)) do drawings = drawings + (tag.name == "svg" and 1 or 0) end
  t.equal(drawings, 4)                  -- the whole, the curve, the legend, the tree
  t.contains(svg, "<style>")
  t.contains(svg, 'xmlns="http://www.w3.org/2000/svg"')
  local code, out = shell("%s report %s %s -o %s/x.svg", exe, made, made, made)
  t.equal(code, 2, out)
  t.contains(out, "is of one run")
end)

t.test("in a browser nothing is wider than its page, and nothing complains", function()
  if shell "command -v chromium" ~= 0 then
    return print "the page in a browser: chromium is not installed: skipped"
  end
  local several = made .. "/several.html"
  core.system.write_file(made .. "/report.html", html)
  core.system.write_file(several, report.html { made, made })
  local frames = {}
  for i, name in ipairs { "report.html", "several.html", "report.html" } do
    local width = i == 3 and 1280 or 390
    frames[i] = ('<iframe src="%s" style="width:%dpx;height:800px"></iframe>'):format(name, width)
  end
  core.system.write_file(made .. "/frames.html", "<body>" .. table.concat(frames) .. [[
    <script>onload = function() { var out = [];
      document.querySelectorAll("iframe").forEach(function(f) { var d = f.contentDocument;
        out.push(d.documentElement.scrollWidth - d.documentElement.clientWidth);
        out.push(d.querySelectorAll("svg").length) });
      document.body.textContent = "widths " + out.join(" ") }</script>]])
  local code, text = shell("timeout 60 chromium --headless --no-sandbox --disable-gpu "
    .. "--user-data-dir=%s/profile --allow-file-access-from-files --enable-logging=stderr "
    .. "--window-size=1400,900 --dump-dom file://%s/frames.html", made, made)
  t.equal(code, 0, text)
  local widths = text:match "widths ([%d ]+)"
  t.equal(widths and widths:gsub(" %d+$", ""):match "^(%d+)", "0", text:sub(1, 500))
  local numbers = {}
  for n in (widths or ""):gmatch "%d+" do numbers[#numbers + 1] = tonumber(n) end
  t.equal({ numbers[1], numbers[3], numbers[5] }, { 0, 0, 0 })
  assert(numbers[2] >= 7 and numbers[4] >= 4)
  t.equal(text:find("CONSOLE", 1, true), nil, text)
end)

-- A model's run ------------------------------------------------------------------

t.test("questions and answers stand side by side with what came of them", function()
  local folder = worlds.folder()
  local said = "```c\nvoid softmax(const float *x, float *y, int rows, int n)\n{\n %s;\n}\n```\n"
  local answers = { said:format "SPEED 2; <b>bold</b>", said:format "BROKEN", said:format "SPEED 3",
                    "NOT APPLICABLE: <script>no</script>" }
  require("questions").search { task = "softmax", steps = 3, out = folder,
    answer = function(_, n) return answers[n] end }
  local text = report.html { folder }
  markup.harmless(text)
  t.contains(text, "Questions and answers")
  t.contains(text, "went to repair")
  t.contains(text, "&lt;b&gt;bold&lt;/b&gt;")
  t.contains(text, "NOT APPLICABLE: &lt;script&gt;no")
  t.equal(text:find("<script>no", 1, true), nil)
  local m = model.load(folder)
  t.equal(#m.exchanges.list, 4)
  local section = require("kernelband.report.exchanges").section(m)
  t.contains(section, "not_applicable")
  t.contains(section, '<td class="r">unknown</td>')    -- tokens and dollars nobody told
  t.contains(section, "new: SPEED")
  t.contains(section, "for each per cent gained")
  local _, times = section:gsub("You are an expert", "")
  t.equal(times, 1)                     -- what all questions begin with
end)

t.test("a run without a model has no section of questions", function()
  t.equal(html:find("Questions and answers", 1, true), nil)
end)

worlds.clean()
t.finish()
