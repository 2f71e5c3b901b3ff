-- What users and their scripts see: help, manual, completions, lists, the keys of JSON, exit
-- statuses, the tables of run.db, the sentences that mistakes are answered by.
local cli = require "kernelband.cli"
local core = require "kernelband.core"
local json = require "kernelband.base.json"

local function help(golden)
  local out = {}
  local function add(words)
    local code, text, err = golden.kernelband(words)
    out[#out + 1] = ("$ kernelband %s\n%s%s[%d]\n"):format(words, text, err, code)
  end
  add ""
  add "--help"
  for _, verb in ipairs(cli.verbs) do add(verb .. " --help") end
  golden.file("interface/help.txt", table.concat(out, "\n"))
end

local function doc(golden)
  for _, kind in ipairs { "man", "bash", "zsh" } do
    local _, text = golden.kernelband("doc " .. kind)
    golden.file("interface/doc." .. kind, text)
  end
end

local function lists(golden)
  local out = {}
  for _, kind in ipairs { "tasks", "strategies", "policies" } do
    local _, text = golden.kernelband("list " .. kind)
    out[#out + 1] = ("$ kernelband list %s\n%s"):format(kind, text)
  end
  golden.file("interface/list.txt", table.concat(out, "\n"))
end

-- A search without a machine, so that its files are the same everywhere.
local search = [[
local kb = require "kernelband"
for seed, out in ipairs { "run", "run2" } do
  kb.search { task = kb.synthetic { seed = 3, fail = 0 }, policy = "policies/kernelband_v1.lua",
              budget = { steps = 5 }, seed = seed, out = out }
end
]]

-- The keys of one JSON object, or of a stream of them, a line each; what is none as it is.
local function trees(golden, text)
  local all = {}
  if pcall(json.decode, text) then text = text:gsub("\n", " ") end
  for line in text:gmatch "[^\n]+" do
    local ok, value = pcall(json.decode, line)
    local keys = ok and golden.tree(value) or golden.measures(line)
    for key in keys:gmatch "[^\n]+" do all[key] = true end
  end
  return table.concat(golden.sorted(all), "\n")
end

local commands = {                      -- words, "out" or "err" or a file: where the JSON is
  { "list tasks --json", "out" }, { "list strategies --json", "out" },
  { "list policies --json", "out" }, { "doctor --json", "out" },
  { "eval ROOT/tests/lib/tasks/axpy ROOT/tests/lib/tasks/axpy/baseline.c --json", "out" },
  { "eval ROOT/tests/lib/tasks/axpy ROOT/tests/candidates/hostile/constant.c --json", "out" },
  { "eval ROOT/tests/lib/tasks/axpy ROOT/tests/candidates/hostile/does_not_compile.c --json",
  "out" },
  { "profile ROOT/tests/lib/tasks/axpy ROOT/tests/lib/tasks/axpy/baseline.c --json", "out" },
  { "run s.lua", "run/result.json" }, { "run --progress json s2.lua", "err" },
  { "export run --jsonl", "out" }, { "export run --t4", "out" }, { "export run --sft", "out" },
  { "compare run run2 --json", "out" },
}

local function keys(golden)
  local dir, out = golden.folder(), {}
  assert(core.system.write_file(dir .. "/s.lua", search))
  local again = search:gsub('"run"', '"p"'):gsub('"run2"', '"p2"')
  assert(core.system.write_file(dir .. "/s2.lua", again))
  for _, c in ipairs(commands) do
    local code, text, err = golden.kernelband(c[1]:gsub("ROOT", golden.root), dir)
    if c[2] == "err" then text = err end
    if c[2]:find "/" then text = golden.text_of(dir .. "/" .. c[2]) end
    out[#out + 1] = ("$ kernelband %s   [%d]\n%s\n"):format(c[1], code, trees(golden, text))
  end
  golden.file("interface/json.txt", table.concat(out, "\n"))
  local db <close> = assert(core.store(dir .. "/run/run.db", "read"))
  local tables = {}
  for _, row in ipairs(assert(db:rows [[
      SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name]])) do
    tables[#tables + 1] = row.sql .. ";\n"
  end
  local version = assert(db:rows "PRAGMA user_version")[1].user_version
  golden.file("interface/run_db.sql", ("%sPRAGMA user_version = %d;\n"):format(
              table.concat(tables), version))
end

local scripts = {
  { "done", "print 'x'" }, { "raises", "error 'no'" },
  { "an unknown name", "require('kernelband').polcy()" },
  { "no Lua", "return =" }, { "interrupted", "io.popen 'kill -INT $PPID':close()" },
  { "a search", "local kb = require 'kernelband' kb.search { task = kb.synthetic {}, "
    .. "budget = { steps = 1 } }" },
}
local words = {
  "nosuch", "run", "run nosuch.lua", "run .", "run --fast s.lua", "list", "list tools", "eval",
  "eval nosuch k.c", "resume nosuch", "report nosuch", "export nosuch --csv", "export .",
  "verify nosuch", "steer nosuch stop", "serve", "new", "new task 1a", "new policy mine",
  "new policy mine", "compare nosuch", "import nosuch -o x", "record nosuch", "profile nosuch k.c",
  "worker --device nosuch", "doc nosuch", "doctor --jsno", "--version", "init", "check" }

local function exits(golden)
  local dir, out = golden.folder(), {}
  local function add(name, line)
    local code, text, err = golden.kernelband(line, dir)
    out[#out + 1] = ("%-24s %3d  %s"):format(name, code,
      golden.paths((err ~= "" and err or text):match "^[^\n]*" or ""))
  end
  for i, s in ipairs(scripts) do
    local file = ("s%d.lua"):format(i)
    assert(core.system.write_file(dir .. "/" .. file, s[2]))
    add("script: " .. s[1], "run " .. file)
  end
  for _, line in ipairs(words) do add(line, line) end
  golden.file("interface/exits.txt", table.concat(out, "\n") .. "\n")
end

local function mistakes(golden)
  local _, text = golden.kernelband "run tests/lua/spec_mistakes.lua"
  -- Secret inputs, and what they gave.
  text = text:match "^(.*)\n%d+ passed":gsub("%-?%d+%.%d%d%d%d+", "N"):gsub("%d[%d.]*e%-%d+", "N")
  golden.file("interface/mistakes.txt", golden.paths(text) .. "\n")
end

return function(golden)
  help(golden)
  doc(golden)
  lists(golden)
  keys(golden)
  exits(golden)
  mistakes(golden)
end
