-- Manual, completion and editor definitions come from the tables that parse and
-- check, so they cannot say something else; and what people are used to is there.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local cli = require "kernelband.cli"
local completion = require "kernelband.cli.doc.completion"
local man = require "kernelband.cli.doc.man"
local meta = require "kernelband.cli.doc.meta"
local options = require "kernelband.cli.options"
local worlds = require "worlds"

local core = kb.core
local exe = core.system.exe()
local root = core.system.lib_dir()

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return code, text
end

local function has(program) return (shell("command -v " .. program)) == 0 end

t.test("an option table is what is parsed", function()
  local spec = { usage = "u", most = 1, options = {
    { "json" }, { "out", "FILE", short = "o" }, { "dry-run" },
    { "mode", "M", one_of = { "fast", "slow" } } } }
  local opt, rest = options.parse({ "a", "-o", "x", "--json", "--dry-run", "--mode=fast" }, spec)
  t.equal(opt, { json = true, out = "x", dry_run = true, mode = "fast" })
  t.equal(rest, { "a" })
  t.equal(options.parse({ "--out=a=b" }, spec).out, "a=b")
  t.equal(select(2, options.parse({ "--", "-o" }, spec)), { "-o" })
  t.raises("unknown option '--jsn' (did you mean '--json'?)", options.parse, { "--jsn" }, spec)
  t.raises("unknown option '-x'", options.parse, { "-x" }, spec)
  t.raises("--json takes no value", options.parse, { "--json=1" }, spec)
  t.raises("--out needs a value", options.parse, { "-o" }, spec)
  t.equal(options.parse({ "--json", "-h" }, spec), nil)
  spec.words = { "fast", "slow" }
  t.raises("expected fast|slow, got 'fats' (did you mean 'fast'?)", options.parse, { "fats" }, spec)
  t.contains(options.help(spec.options), "  -o, --out FILE")
end)

t.test("every verb says what it does, and its usage names its options", function()
  for _, name in ipairs(cli.verbs) do
    local verb = cli.verb(name)
    assert(#verb.summary > 10 and verb.usage:find("kernelband " .. name, 1, true), name)
    for _, o in ipairs(verb.options or {}) do
      assert(verb.usage:find("--" .. o[1], 1, true) or o.short
             and verb.usage:find("-" .. o.short, 1, true), name .. " --" .. o[1])
      assert(o.doc, name .. " --" .. o[1] .. " has no text")
    end
    local code, text = shell("%s %s --help", exe, name)
    t.equal(code, 0)
    t.contains(text, verb.usage)
  end
end)

t.test("the manual has every verb and option, and roff takes it", function()
  local page = man.page()
  for _, name in ipairs(cli.verbs) do
    t.contains(page, ".SS kernelband " .. name)
    for _, o in ipairs(cli.verb(name).options or {}) do
      t.contains(page, "\\-\\-" .. o[1]:gsub("%-", "\\-"))
    end
  end
  if not has "man" then return print "the manual: man is not installed: skipped" end
  local file = worlds.file("%s", page)
  local code, text = shell("MANROFFOPT=-ww man --warnings -l %s 2>&1 >/dev/null", file)
  t.equal(code, 0, text)
  t.equal(text, "")
end)

t.test("bash completes verbs, options and values", function()
  if not has "bash" then return print "completion: bash is not installed: skipped" end
  local file = worlds.file("%s", completion.bash())
  local function complete(...)
    local words = { ... }
    for i, w in ipairs(words) do words[i] = "'" .. w .. "'" end
    local code, text = shell("bash -c 'set -eu; source %s; COMP_WORDS=(kernelband %s); "
      .. "COMP_CWORD=%d; _kernelband; echo \"${COMPREPLY[*]-}\"'", file,
      table.concat(words, " "):gsub("'", "'\\''"), #words)
    t.equal(code, 0, text)
    return text:gsub("\n", "")
  end
  t.equal(complete "repo", "report")
  t.equal(complete("export", "--s"), "--sft")
  t.equal(complete("profile", "--device", "cp"), "cpu")
  t.equal(complete("list", "st"), "strategies")
  t.equal(complete("doc", ""), "api man bash zsh meta changes")
end)

t.test("zsh takes its completion", function()
  local text = completion.zsh()
  t.equal(text:sub(1, 20), "#compdef kernelband\n")
  for _, name in ipairs(cli.verbs) do t.contains(text, "    '" .. name .. ":") end
  if not has "zsh" then return print "completion: zsh is not installed: its syntax is unchecked" end
  t.equal(shell("zsh -n %s", worlds.file("%s", text)), 0)
end)

t.test("the editors' definitions are Lua and have the options that the rules check", function()
  local text = meta.text()
  for _, name in ipairs { "budget", "policy", "seed", "theta_sat" } do
    t.equal(text:find("---@field " .. name, 1, true) ~= nil, name ~= "theta_sat")
  end
  assert(load(text, "definitions", "t"))
end)

t.test(".luarc.json is JSON that points at the file that make writes", function()
  local text = core.system.read_file(root .. "/.luarc.json")
  if not text then return print ".luarc.json: not part of this installation: skipped" end
  local luarc = require("kernelband.base.json").decode(text)
  t.equal(luarc["runtime.version"], "Lua 5.4")
  t.equal(luarc["workspace.library"], { "build/definitions.lua" })
  t.contains(assert(core.system.read_file(root .. "/Makefile")), "build/definitions.lua")
end)

t.test("what kernelband new writes passes luacheck", function()
  if not has "luacheck" then return print "new: luacheck is not installed: skipped" end
  local dir = worlds.folder()
  core.system.mkdir_p(dir)
  for _, kind in ipairs { "task", "strategy", "policy" } do
    t.equal(shell("cd %s && %s new %s my_%s", dir, exe, kind, kind), 0)
  end
  local code, text = shell("cd %s && luacheck --no-config --std lua54 --no-color .", dir)
  t.equal(code, 0, text)
end)

t.test("the version is one line", function()
  local code, text = shell("%s --version", exe)
  t.equal(code, 0)
  t.equal(text, "kernelband " .. kb.version .. "\n")
end)

t.test("a mistake is reported with file, line, name, what was expected and what came", function()
  local file = worlds.file [[
local kb = require "kernelband"
kb.policy("policies/kernelband.lua",
          { theta_sat = "75%" })]]
  local code, text = shell("cd %s && %s run %s", root, exe, file)
  t.equal(code, 2)
  t.contains(text, ":2: kb.policy")
  t.contains(text, 'theta_sat: expected a number, got "75%"')
  file = worlds.file [[
local kb = require "kernelband"
kb.search { task = kb.synthetic { fail = 2 }, budget = { steps = 3 } }]]
  code, text = shell("cd %s && %s run %s", root, exe, file)
  t.equal(code, 2)
  t.contains(text, ":2: kb.synthetic: fail: expected a number 0..1, got 2")
end)

worlds.clean()
t.finish()
