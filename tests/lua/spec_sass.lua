-- The loop of a CUDA kernel's machine code that a model is shown. tests/lib/sass has a kernel, its
-- cubin (nvcc -arch=sm_90a -cubin) and what nvdisasm 13.1 -c -ndf printed of that.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local sass = require "kernelband.evaluate.sass"
local toolkit = require "kernelband.base.toolkit"

local kept = assert(core.system.read_file "tests/lib/sass/sums.txt")

local inner = [[
   0  LDG.E R10, desc[UR4][R4.64]
  10  LDG.E R12, desc[UR4][R4.64+0x80]
  20  IADD3 R8, R8, 0x40, RZ
  30  ISETP.GE.AND P0, PT, R8, R13, PT
  40  IADD3 R4, P1, R4, 0x100, RZ
  50  IMAD.X R5, RZ, RZ, R5, P1
  60  FADD R9, R10, R9
  70  FADD R9, R9, R12
  80  @!P0 BRA +0]]

t.test("the deepest loop is shown, addresses from its start", function()
  t.equal(sass.hot(kept, "sums"), { text = inner, instructions = 9, shown = 9, sass = true })
  t.equal(sass.hot(kept, "sum"), nil)
end)

-- Without the branch at that address.
local function without(text, at)
  local out, n = text:gsub("(/%*" .. at .. "%*/%s+)@!P0 BRA[^\n]*", "%1NOP ;")
  t.equal(n, 1)
  return out
end

t.test("a jump back from behind a kernel's end, and the trap there, are no loops", function()
  local outer = sass.hot(without(kept, "02d0"), "sums")
  t.equal({ outer.instructions, outer.shown }, { 37, 37 })
  t.contains(outer.text, "   0  LDC R13, c[0x0][0x224]\n")
  t.contains(outer.text, "\n 240  @!P0 BRA +0")
  t.equal(sass.hot(without(without(kept, "02d0"), "0330"), "sums"), nil)
end)

local function listing(lines)
  local out = { "\t.section\t.text.k,\"ax\",@progbits", "k:", ".text.k:" }
  local at = 0
  for _, line in ipairs(lines) do
    if line:find ":$" then
      out[#out + 1] = line
    else
      out[#out + 1] = ("        /*%04x*/                   %s ;"):format(at, line)
      at = at + 16
    end
  end
  return table.concat(out, "\n") .. "\n"
end

t.test("of loops equally deep the longest is shown, cut at 40 lines", function()
  local lines = { ".L_1:", "FADD R0, R0, R1", "@P0 BRA `(.L_1)", ".L_2:" }
  for i = 1, 60 do lines[#lines + 1] = "FMUL R" .. i .. ", R0, R1" end
  lines[#lines + 1] = "@P0 BRA `(.L_2)"
  lines[#lines + 1] = "EXIT"
  local hot = sass.hot(listing(lines), "k")
  t.equal({ hot.instructions, hot.shown }, { 61, 40 })
  t.contains(hot.text, "\n 270  FMUL R40, R0, R1")
  local _, newlines = hot.text:gsub("\n", "")
  t.equal(newlines, 39)
end)

t.test("two branches back to one place are one loop", function()
  local hot = sass.hot(listing { ".L_1:", "LDG R0", "@P1 BRA `(.L_1)", "FADD R1",
                                 "BRA.U UP0, `(.L_1)", "EXIT" }, "k")
  t.equal(hot.instructions, 4)
end)

t.test("whatever a disassembler prints, it is bounded and printable", function()
  local many = {}
  for i = 1, 60000 do many[i] = (i % 2 == 1) and ".L_" .. i .. ":" or "@P0 BRA `(.L_1)" end
  local nested = {}
  for i = 1, 2000 do nested[i] = ".L_" .. i .. ":" end
  for i = 2000, 1, -1 do nested[#nested + 1] = "@P0 BRA `(.L_" .. i .. ")" end
  local wide = { ".L_1:", "FADD R0, " .. ("x"):rep(10 ^ 6), "STG \27[2J``` \1\200",
                 "@P0 BRA `(.L_1)" }
  for _, lines in ipairs { many, nested, wide } do
    local start = os.clock()
    local hot = sass.hot(listing(lines), "k")
    assert(os.clock() - start < 5)
    if hot then
      assert(#hot.text < 41 * 90 and not hot.text:find "[^\x20-\x7e\n]")
    end
  end
  t.equal(sass.hot("", "k"), nil)
  t.equal(sass.hot(("\0"):rep(1 << 20), "k"), nil)
  t.equal(sass.hot(listing { "BRA `(", "BRA `()", "@", "/*", "BRA `(.L_none)" }, "k"), nil)
end)

t.test("the program of this machine prints what is read", function()
  local tool = toolkit.program "nvdisasm"
  if not tool then return print "skipped: there is no nvdisasm" end
  local command <close> = assert(core.command { timeout_ns = 60 * 10 ^ 9 // 1, max_bytes = 1 << 20,
    argv = { tool, "-c", "-ndf", "tests/lib/sass/sums.cubin" } })
  while not command:result() do core.wait({ command }, 10 ^ 9 // 1) end
  t.equal(sass.hot(command:result().output, "sums").text, inner)
end)

t.finish()
