-- golden.lua - what the program says and does today, compared with files of tests/golden.
--   kernelband run tests/lib/golden.lua FOLDER [update] SECTION..     run by make golden
--
-- A section is tests/golden/SECTION.lua: function(golden) that calls golden.file(name, text) for
-- each of its files. What this run made lies in FOLDER (build/MODE/golden); differences are shown
-- as diff -u. With update the files are written instead, and what no section makes is removed.
--
-- Made on one machine and compared there: what a machine cannot do (counters, a newer Landlock)
-- shows in some. After a change of the machine, make them anew on the commit before the work.
local core = require "kernelband.core"
local json = require "kernelband.base.json"

local golden = { system = core.system }
local system = core.system
local exe = assert(system.exe())
local base = assert(system.temp_dir())
local made = 0

golden.root = assert(system.realpath ".")

function golden.folder()
  made = made + 1
  local name = ("%s/%d"):format(base, made)
  assert(system.mkdir_p(name))
  return name
end

function golden.sorted(t)
  local list = {}
  for k in pairs(t) do list[#list + 1] = k end
  table.sort(list)
  return list
end

-- Runs words after `kernelband` in a folder (or the repository): exit status, stdout, stderr.
function golden.kernelband(words, folder, environment)
  local out = golden.folder()
  local pipe = assert(io.popen(("cd '%s' && %s '%s' %s >'%s/out' 2>'%s/err' </dev/null; echo $?")
    :format(folder or golden.root, environment or "", exe, words, out, out)))
  local code = math.tointeger(tonumber(pipe:read "l"))
  pipe:close()
  return code, system.read_file(out .. "/out"), system.read_file(out .. "/err")
end

local function plain(s) return (s:gsub("%p", "%%%0")) end

-- Paths of this machine and dates as words.
function golden.paths(text)
  return (text:gsub(plain(exe), "kernelband"):gsub(plain(base) .. "/%d+", "DIR")
          :gsub(plain(golden.root), "ROOT"):gsub("/tmp/kernelband[%w/_%-]*", "TMP")
          :gsub("%d%d%d%d%-%d%d%-%d%d[T ]?[%d:]*Z?", "DATE"))
end

-- Also every number, with its unit where that changes with it, and kinds of secret inputs.
function golden.measures(text)
  text = golden.paths(text):gsub("%-?%f[%w]nan%f[%W]", "N")
         :gsub("%f[%w.-]%-?%d+%.?%d*e?[+-]?%d*", "N")
  return (text:gsub("N [nμum]?s%f[%W]", "N s"):gsub("N [kKMG]i?B(%f[%W])", "N B%1")
          :gsub("%(%l+ inputs%)", "(.. inputs)"):gsub(" +", " "))
end

-- Keys and types below a decoded JSON value, one line each; elements of a list share a line.
function golden.tree(value)
  local seen = {}
  local function walk(v, at)
    if type(v) ~= "table" then
      local kind = v == json.null and "null" or type(v)
      seen[at .. ": " .. kind] = true
      return
    end
    local empty = true
    for k, x in pairs(v) do
      empty = false
      walk(x, type(k) == "number" and at .. "[]" or at .. "." .. k)
    end
    if empty then seen[at .. ": empty"] = true end
  end
  walk(value, "")
  return table.concat(golden.sorted(seen), "\n") .. "\n"
end

function golden.text_of(path) return assert(system.read_file(path)) end

-- The script ------------------------------------------------------------------------------

local folder, update, sections = arg[1], false, {}
for i = 2, #arg do
  if arg[i] == "update" then update = true else sections[#sections + 1] = arg[i] end
end
local seen, differ = {}, 0

function golden.file(name, text)
  local here, kept = ("%s/%s"):format(folder, name), "tests/golden/" .. name
  seen[name] = true
  assert(system.mkdir_p(here:match "^(.*)/"))
  assert(system.write_file(here, text))
  if system.read_file(kept) == text then return end
  differ = differ + 1
  if update then
    assert(system.mkdir_p(kept:match "^(.*)/"))
    assert(system.write_file(kept, text))
    print("written: " .. kept)
  elseif not system.exists(kept) then
    print(kept .. " is missing: make golden UPDATE=1 writes it")
  else
    io.stdout:flush()
    os.execute(("diff -u '%s' '%s' | head -n 200"):format(kept, here))
  end
end

local function stale(section)
  for _, name in ipairs(system.list("tests/golden/" .. section) or {}) do
    local file = section .. "/" .. name
    if not seen[file] then
      differ = differ + 1
      print(("tests/golden/%s is no longer made%s"):format(file, update and ": removed" or ""))
      if update then os.remove("tests/golden/" .. file) end
    end
  end
end

for _, section in ipairs(sections) do
  local start = system.now_ns()
  dofile(("tests/golden/%s.lua"):format(section))(golden)
  stale(section)
  print(("golden: %-10s %6.1f s"):format(section, (system.now_ns() - start) / 1e9))
end
os.execute(("rm -rf '%s'"):format(base))
if differ > 0 and not update then
  error(differ .. " golden files differ; if that is wanted, make golden UPDATE=1, and say why in "
        .. "the commit", 0)
end
