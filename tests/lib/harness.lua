-- harness.lua - what the specs are written with:
--
--   local t = require "harness"
--   t.test("a fresh arm comes first", function() t.equal(pick(), 1) end)
--   t.finish()                 -- last line of the file: "12 passed, 0 failed"
--
-- Every test runs, failures are told on stderr, finish raises when any failed.
local harness = { passed = 0, failed = 0 }

-- make check: which module requires which, seen as the specs run, for tests/lua/spec_layers.lua.
local record = os.getenv "KERNELBAND_REQUIRES"
local requires = record and io.open(record, "w")
if requires then
  local plain, seen = require, {}
  function require(name)                           -- luacheck: globals require
    local from = debug.getinfo(2, "S").source:match "lua/(kernelband.*)%.lua$"
    local edge = from and ("%s %s\n"):format(from:gsub("/init$", ""):gsub("/", "."), name)
    if edge and not seen[edge] then
      seen[edge] = true
      requires:write(edge)
      requires:flush()
    end
    return plain(name)
  end
end

local function show(v, depth)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" or (depth or 0) > 3 then return tostring(v) end
  local keys, out = {}, {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, k in ipairs(keys) do
    out[i] = ("%s = %s"):format(tostring(k), show(v[k], (depth or 0) + 1))
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for k, v in pairs(a) do if not same(v, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

function harness.test(sentence, fn)
  local ok, why = xpcall(fn, function(e) return debug.traceback(tostring(e), 2) end)
  if ok then
    harness.passed = harness.passed + 1
  else
    harness.failed = harness.failed + 1
    io.stderr:write(("not ok: %s\n  %s\n"):format(sentence, (why:gsub("\n", "\n  "))))
  end
end

-- Deep equality of tables; numbers 1 and 1.0 are equal.
function harness.equal(got, expected, what)
  if not same(got, expected) then
    error(("%sexpected %s, got %s"):format(what and what .. ": " or "",
          show(expected), show(got)), 2)
  end
end

function harness.near(got, expected, tolerance)
  local off = math.abs(got - expected)
  if off ~= off or off > (tolerance or 1e-12) then
    error(("expected %.17g, got %.17g"):format(expected, got), 2)
  end
end

function harness.contains(text, part)
  if not tostring(text):find(part, 1, true) then
    error(("expected text with %q, got:\n%s"):format(part, tostring(text)), 2)
  end
end

-- fn(...) raises and its message contains part; returns the error.
function harness.raises(part, fn, ...)
  local args = table.pack(...)
  local ok, why = pcall(function() return fn(table.unpack(args, 1, args.n)) end)
  if ok then error(("expected an error with %q, got none"):format(part), 2) end
  if not tostring(why):find(part, 1, true) then
    error(("expected an error with %q, got:\n%s"):format(part, tostring(why)), 2)
  end
  return why
end

-- A new folder of this file's own; finish removes it.
local folders = {}
function harness.folder()
  folders[#folders + 1] = assert(require("kernelband.core").system.temp_dir())
  return folders[#folders]
end

function harness.finish()
  for _, folder in ipairs(folders) do os.execute(("rm -rf '%s'"):format(folder)) end
  print(("%d passed, %d failed"):format(harness.passed, harness.failed))
  if harness.failed > 0 then error(harness.failed .. " failed", 0) end
  -- a search that was is part of the test
  local search = package.loaded["kernelband.search.search"]
  if search then search.refused = false end
end

return harness
