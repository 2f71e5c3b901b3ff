-- Wrong inputs of users, tests/lua/mistakes/*.lua: each is answered by one sentence that says where
-- it is, exit status 1 or 2, and shows nothing of the engine's own code.
--
-- A mistake: { "in words", run = words after kernelband, or script = text of s.lua, or search =
-- more options of a kb.search in it (line 5), else eval t t/baseline.c, or k.c where there is a
-- verdict; says = part of the answer; files = { [name] = text }; swap = { file, old, new };
-- before = shell commands; environment = assignments; as_nobody, as_root = who makes it; verdict =
-- what eval says; exit = the status, 2 unless given, 1 with a verdict }. t is a copy of
-- tests/lua/mistakes/tiny, %search% in before a search that wrote r.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local only = ...                        -- part of a mistake's words: that one alone
local exe = assert(core.system.exe())
local dir = t.folder()
local root = core.system.host().root
local tiny = {}
for _, name in ipairs { "task.lua", "reference.c", "baseline.c", "schedule.lua" } do
  tiny[name] = assert(core.system.read_file("tests/lua/mistakes/tiny/" .. name))
end

local function search(options)
  return ([[
local kb = require "kernelband"
kb.search {
  task = kb.synthetic {},
  budget = { steps = 3 },
  %s
}
]]):format(options)
end

local a_run = "echo 'local kb = require \"kernelband\" kb.search { task = kb.synthetic {}, "
  .. "budget = { steps = 3 }, out = \"r\" }' > s.lua && " .. exe .. " run s.lua 2>/dev/null"

local function words_of(m)
  if m.run then return m.run end
  if m.script or m.search then return "run s.lua" end
  return m.verdict and "eval t k.c" or "eval t t/baseline.c"
end

local function replace(text, old, new)
  local at, last = text:find(old, 1, true)
  assert(at, "nothing to swap: " .. old)
  return text:sub(1, at - 1) .. new .. text:sub(last + 1)
end

local function write(folder, name, text)
  local file = folder .. "/" .. name
  assert(core.system.mkdir_p((file:match "^(.*)/")))
  assert(core.system.write_file(file, text))
end

-- The folder of a mistake, with its files and the commands that make it.
local function prepare(m)
  for name, text in pairs(tiny) do write(m.folder, "t/" .. name, text) end
  for name, text in pairs(m.files or {}) do write(m.folder, name, text) end
  if m.swap then
    local file, old, new = table.unpack(m.swap)
    write(m.folder, file, replace(assert(core.system.read_file(m.folder .. "/" .. file)), old, new))
  end
  if m.script or m.search then write(m.folder, "s.lua", m.script or search(m.search)) end
  local before = m.before and m.before:gsub("%%search%%", function() return a_run end) or "true"
  local who = m.as_nobody and root
              and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
  write(m.folder, "go", ("cd '%s' || exit\n%s\n%s timeout 60 %s%s %s </dev/null >out 2>err\n"
    .. "echo $? >code\n"):format(m.folder, before, m.environment or "", who, exe, words_of(m)))
end

local function skipped(m)
  return m.as_root and not root
         or m.as_nobody and root and not os.execute "command -v setpriv >/dev/null"
end

local mistakes, left_out = {}, 0
for _, file in ipairs(assert(core.system.list "tests/lua/mistakes")) do
  if file:find "%.lua$" then
    for _, m in ipairs(dofile("tests/lua/mistakes/" .. file)) do
      if skipped(m) then
        left_out = left_out + 1
      elseif not only or m[1]:find(only, 1, true) then
        mistakes[#mistakes + 1] = m
        m.folder = ("%s/%03d"):format(dir, #mistakes)
        prepare(m)
      end
    end
  end
end
assert(os.execute(("chmod 755 '%s'; ls '%s'/*/go | xargs -n 1 -P 2 sh"):format(dir, dir)))

local function read(m, name) return core.system.read_file(m.folder .. "/" .. name) or "" end

-- The answer's lines, less what the usage of a verb takes below it.
local function answer(m)
  local text = m.verdict and read(m, "out") or read(m, "err")
  return (text:gsub("\nusage: .*", ""):gsub("\n$", ""))
end

local shown = {}
for i, m in ipairs(mistakes) do
  local code, text = tonumber(read(m, "code")), answer(m)
  text = text:gsub((m.folder .. "/"):gsub("%p", "%%%0"), "")
  shown[i] = ("%-46s %s  %s"):format(m[1], tostring(code), text)
  t.test(m[1] .. " is answered by one sentence", function()
    t.equal(code, m.exit or m.verdict and 1 or 2, text)
    t.contains(text, m.says)
    if m.verdict then t.equal(text:match "^([%a_]+): ", m.verdict) end
    local all = read(m, "out") .. read(m, "err")
    for _, never in ipairs { "traceback", "lua/kernelband/", "[C]:", "%%" } do
      if all:find(never, 1, true) then error(("shows %q:\n%s"):format(never, all)) end
    end
    if text:find "\n" or #text > 500 or #text < 10 then error("not one sentence:\n" .. text) end
  end)
end

-- A search with any number as a parameter of a shipped policy works, or one sentence names the
-- parameter or the line of the policy that refused it.
local function try(kb, file, name, value)
  local ok, why = pcall(function()
    kb.search { task = kb.synthetic {}, budget = { steps = 12 },
                policy = kb.policy("policies/" .. file, { [name] = value }) }
  end)
  why = tostring(why)
  local engine = why:find "\n" or why:find "lua/kernelband/"
  local place = why:find(name, 1, true) or why:find("policies/" .. file .. ":", 1, true)
  if ok or place and not engine then return end
  error(("%s, %s = %s: %s"):format(file, name, value, why), 0)
end

t.test("no number that a policy's parameter is given shows a frame of the engine", function()
  local kb = require "kernelband"
  for _, file in ipairs(only and {} or assert(core.system.list "policies")) do
    local names, defaults = {}, kb.policy("policies/" .. file).defaults
    for name, v in pairs(defaults) do names[#names + 1] = type(v) == "number" and name or nil end
    table.sort(names)
    for _, name in ipairs(names) do
      for _, value in ipairs { -1, 0, 0.5, 1e4 } do try(kb, file, name, value) end
    end
  end
end)

print(table.concat(shown, "\n"))
print(#mistakes .. " mistakes" .. (left_out > 0 and (", %d left out: they need root and setpriv")
      :format(left_out) or ""))

t.finish()
