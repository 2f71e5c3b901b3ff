-- Makes the kept runs anew, tests/runs/KIND.sql: kernelband run tests/runs/make.lua KIND..
-- They are kept because they were written by the program as it was then: later ones must read
-- them. So add to them; make one anew only when a run of today can no longer be of that kind.
local core = require "kernelband.core"

local system = core.system
local exe = assert(system.exe())
local dir = assert(system.temp_dir())
local root = assert(system.realpath ".")

local function kernelband(words, ...)
  local line = words:format(...)
  os.execute(("%s %s >'%s/out' 2>&1"):format(line:find "^STOP" and "" or exe, line, dir))
  io.write("$ kernelband ", line, "\n", system.read_file(dir .. "/out"):sub(-300))
end

local function names(db, sql)
  local out = {}
  for i, row in ipairs(assert(db:rows(sql))) do out[i] = row.name end
  return out
end

local function dump(folder)
  local db <close> = assert(core.store(folder .. "/run.db"))
  local out = {}
  for _, row in ipairs(assert(db:rows("SELECT sql FROM sqlite_master WHERE sql NOT NULL "
                              .. "AND name NOT LIKE 'sqlite%' ORDER BY rootpage"))) do
    out[#out + 1] = row.sql .. ";"
  end
  for _, name in ipairs(names(db, "SELECT name FROM sqlite_master WHERE type = 'table' "
                              .. "AND name NOT LIKE 'sqlite%' ORDER BY rootpage")) do
    local columns = names(db, "SELECT name FROM pragma_table_info('" .. name .. "')")
    for i, c in ipairs(columns) do columns[i] = ('quote("%s")'):format(c) end
    for _, row in ipairs(assert(db:rows(("SELECT %s AS v FROM %s"):format(
        table.concat(columns, " || ',' || "), name)))) do
      out[#out + 1] = ("INSERT INTO %s VALUES(%s);"):format(name, row.v)
    end
  end
  local version = assert(db:rows "PRAGMA user_version")[1].user_version
  out[#out + 1] = ("PRAGMA user_version = %d;\n"):format(version)
  local function plain(s) return (s:gsub("%p", "%%%0")) end
  return (table.concat(out, "\n"):gsub(plain(folder), "@OUT@"):gsub(plain(root), "@ROOT@"))
end

local function search(kind)
  return ("run tests/runs/search.lua %s %s/%s"):format(kind, dir, kind)
end

local make = {
  c = function() kernelband(search "c") end,
  replay = function() kernelband(search "replay") end,
  killed = function() kernelband("STOP=12 %s %s", exe, search "killed") end,
  steered = function()
    kernelband(search "steered")
    kernelband("steer %s/steered veto tiling", dir)
    kernelband("steer %s/steered hint 'mind the tail'", dir)
    kernelband("steer %s/steered pin 2", dir)
    kernelband("resume %s/steered --steps 9", dir)
  end,
  imported = function()
    kernelband(search "steered")
    kernelband("export %s/steered --t4 -o %s/x.json", dir, dir)
    kernelband("import %s/x.json -o %s/imported", dir, dir)
  end,
}
for _, kind in ipairs(arg) do
  make[kind]()
  assert(system.write_file(("tests/runs/%s.sql"):format(kind), dump(dir .. "/" .. kind)))
  os.execute(("rm -rf '%s'/*"):format(dir))
end
os.execute(("rm -rf '%s'"):format(dir))
