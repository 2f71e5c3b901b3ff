-- This file tests the Lua module core.system (core/lua/bind_system.c). It checks the functions for
-- files, hashes, random text and the clock, the errors, and the description of the machine.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local system = require("kernelband.core").system

local dir = t.folder()
local path = dir .. "/f"

t.test("a file is written whole and read whole", function()
  local text = ("\0\r\n\255"):rep(5000)
  t.equal(system.write_file(path, text), true)
  t.equal(system.read_file(path) == text, true)
  t.equal(system.list(dir), { "f" })
  t.equal(system.exists(path), "file")
  t.equal(system.exists(dir), "dir")
  t.equal(system.exists "/dev/null", "other")
  t.equal(system.exists(dir .. "/none"), nil)
end)

t.test("a link to a file stays a link, and the file is written", function()
  local folder = t.folder()
  assert(system.write_file(folder .. "/file", "old"))
  assert(os.execute(("ln -s file '%s/link'"):format(folder)))
  assert(system.write_file(folder .. "/link", "new"))
  t.equal(system.read_file(folder .. "/file"), "new")
  t.equal(system.realpath(folder .. "/link"), system.realpath(folder .. "/file"))
end)

t.test("names come in byte order, and a file has none", function()
  local folder = t.folder()
  for _, name in ipairs { "b", "a", "B", ".h" } do
    assert(system.write_file(folder .. "/" .. name, ""))
  end
  t.equal(system.list(folder), { ".h", "B", "a", "b" })
  t.equal(select(3, system.list(folder .. "/a")), "ENOTDIR")
end)

t.test("a failure names the path, the reason and a code", function()
  for _, call in ipairs {
    function() return system.read_file(dir .. "/none") end,
    function() return system.write_file(dir .. "/none/f", "") end,
    function() return system.list(dir .. "/none") end,
    function() return system.realpath(dir .. "/none") end,
    function() return system.disk_free(dir .. "/none") end,
  } do
    local ok, why, code = call()
    t.equal(ok, nil)
    t.contains(why, dir .. "/none")
    t.contains(why, "No such file or directory")
    t.equal(code, "ENOENT")
  end
  t.equal(select(3, system.write_file(dir, "")), "EINVAL")
  t.equal(select(3, system.mkdir_p(path .. "/x")), "ENOTDIR")
end)

t.test("bad arguments raise", function()
  t.raises("bad argument #1", system.read_file)
  t.raises("must be 1 to 64", system.random_hex, 0)
  t.raises("must be 1 to 64", system.random_hex, 65)
  t.raises("must be >= 0", system.sleep_ns, -1)
  t.raises("must be 0, 1 or 2", system.is_tty, 3)
end)

t.test("hash is FNV-1a of 64 bits", function()
  t.equal(system.hash "", "cbf29ce484222325")
  t.equal(system.hash "a", "af63dc4c8601ec8c")
  t.equal(system.hash "foobar", "85944171f73967e8")
end)

t.test("random text has the length asked for and does not repeat", function()
  local a, b = system.random_hex(16), system.random_hex(16)
  t.equal(#a, 32)
  t.equal(a:find "^%x+$", 1)
  t.equal(a ~= b, true)
end)

t.test("the clock counts nanoseconds that a sleep takes", function()
  local before = system.now_ns()
  t.equal(system.sleep_ns(2000000), true)
  t.equal(math.type(before), "integer")
  t.equal(system.now_ns() - before >= 2000000, true)
  t.equal(system.wall_s() > 1.7e9, true)
end)

t.test("the library folder holds this engine", function()
  t.equal(system.exists(system.lib_dir() .. "/lua/kernelband/init.lua"), "file")
  t.equal(system.exists(system.exe()), "file")
  t.equal(system.columns() > 0 and #system.cpus() >= 1, true)
end)

t.test("the machine describes itself", function()
  local host = system.host()
  t.equal(host.cores >= 1 and host.usable_cores == #system.cpus(), true)
  t.equal(#host.cpu > 0, true)
  local f <close> = assert(io.open "/proc/version")
  t.equal(f:read "a":find(host.kernel:match "^%S+ %S+":gsub("^(%S+)", "%1 version"), 1, true), 1)
  t.equal(host.perf, host.perf_error == nil)
  t.equal(system.has_library "libnothing-of-the-kind.so.7", false)
end)

os.remove(path)
os.remove(dir)
t.finish()
