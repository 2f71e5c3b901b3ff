-- What is read from an object, on a disassembly small enough to count by hand.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local evidence = require "kernelband.evaluate.evidence"
local verdict = require "kernelband.evaluate.verdict"

local function admit(mix) return (verdict.try(evidence.admit, mix)) end

local text = [[

kernel.so:     file format elf64-x86-64

Disassembly of section .text:

0000000000001000 <matmul>:
    1000:	sub    $0x128,%rsp
    1007:	xor    %eax,%eax
    1010:	vmovups (%rsi,%rax,1),%ymm2
    1016:	vfmadd231ps 0x20(%rdi,%rax,1),%ymm2,%ymm0
    101c:	vmulss (%rcx),%xmm3,%xmm4
    1020:	vmovaps %ymm0,0x40(%rsp)
    1026:	add    $0x20,%rax
    102a:	cmp    %rdx,%rax
    102d:	jne    1010 <matmul+0x10>
    102f:	cmp    %r8,%r9
    1032:	jl     1007 <matmul+0x7>
    1034:	ret

0000000000001040 <copy>:
    1040:	movzbl (%rsi),%eax
    1043:	mov    %al,(%rdi)
    1045:	jmp    1040 <copy>
]]

local mix = evidence.read_text(text)

t.test("only innermost loops that compute are counted", function()
  t.equal(mix.loops, 1)
  t.equal(mix.largest, 2)
end)

t.test("flops, lanes and fused multiply-adds are distinguished", function()
  t.equal(mix.flops, 2)
  t.equal(mix.fma, 1)
  t.equal(mix.lanes, 8 + 1)
  t.equal(mix.operations, 8 * 2 + 1)
  t.equal(mix.widest, 8)
end)

t.test("memory accesses are loads, stores, vectors or spills", function()
  t.equal(mix.memory, 4)
  t.equal(mix.stack, 1)
  t.equal(mix.vector_memory, 2)
  t.equal(mix.load_bytes, 32 + 32 + 4)
end)

t.test("registers and the frame are read", function()
  t.equal(mix.registers, { [0] = true, [2] = true, [3] = true, [4] = true })
  t.equal(mix.frame_bytes, 0x128)
end)

t.test("an object that runs at load is not admitted", function()
  t.equal(admit(mix), nil)
  local late = "  [11] .fini_array FINI_ARRAY 0000000000004ea0 003ea0 000008 08  WA  0   0  8\n"
  t.equal(admit(evidence.read_text(late .. text)).verdict, "cheated")
end)

t.test("an unknown figure is marked missing, and 0", function()
  local session = { task = { args = { { dtype = "f32" } },
                             work = function() return { flops = 2e9, bytes = 1e6 } end },
                    roofline = { f32_flops_per_s = 1e11, dram_bytes_per_s = 1e10,
                                 dram_copy_bytes_per_s = 8e9, l1_bytes_per_s = 1e12,
                                 l1d_bytes = 32768, l2_bytes = 524288 } }
  local out = { shapes = { { shape = {}, time_ns = 1e8, speedup = 2 } } }
  local e = evidence.make(session, out, {})
  t.equal(e.phi, { 0, 0.001, 0.2, 0, 0, 0, 0, 0, 0 })
  t.equal(e.phi_kind, { "missing", "derived", "derived", "missing", "missing", "missing",
                        "missing", "missing", "missing" })
  t.equal(e.h.sm, 20)
  t.equal(e.h.l2, nil)
  t.equal(e.h_kind.l2, "missing")
  t.equal(#evidence.make(session, out, { mix = mix }).rho, 6)
end)

t.test("code that runs at load is seen in the dynamic section as well", function()
  for _, line in ipairs { " 0x000000000000000c (INIT)               0x1000",
                          " 0x0000000000000019 (INIT_ARRAY)         0x3df0",
                          "000000004000  000000000025 R_X86_64_IRELATIV          1210",
                          "000000004000  000000000025 R_AARCH64_IRELATIVE        1210" } do
    t.equal(admit(evidence.read_text(line .. "\n" .. text)).verdict, "cheated", line)
  end
  t.equal(admit(evidence.read_text(
    " 0x000000006ffffef5 (GNU_HASH)           0x1c8\n" .. text)), nil)
end)

t.test("an object that cannot be shown is refused, a missing objdump is not", function()
  local function object(...)
    local answer = table.pack(...)
    return { text = function() return table.unpack(answer, 1, answer.n) end }
  end
  t.equal(evidence.read_object(object(nil, "none", "ENODEV")), nil)
  t.equal(admit(nil), nil)
  for _, code in ipairs { "ETIME", "EWORKER", "ESYS" } do
    t.equal(admit(evidence.read_object(object(nil, "no", code))).verdict, "cheated")
  end
  local cut = text:sub(1, text:find("Disassembly", 1, true) - 1)
  t.equal(admit(evidence.read_object(object(cut))).verdict, "cheated")
  t.equal(admit(evidence.read_object(object(text))), nil)
end)

-- Thousands of VM instructions that it takes to read so many loops, the i-th back to back(i).
local function instructions(loops, back)
  local lines, n = { "0000000000000000 <f>:" }, 0
  for i = 0, loops do
    lines[#lines + 1] = ("%x:\tjmp    %x <f>"):format(16 * i, 16 * back(i))
    lines[#lines + 1] = ("%x:\taddps  %%xmm0,%%xmm1"):format(16 * i + 8)
  end
  local printed = table.concat(lines, "\n")
  debug.sethook(function() n = n + 1 end, "", 1000)
  evidence.read_text(printed)
  debug.sethook()
  return n
end

t.test("the cost of reading overlapping loops grows no faster than their number", function()
  for _, back in ipairs { function(i) return i end, function() return 0 end,
                          function(i) return i // 2 end } do
    local few, many = instructions(2500, back), instructions(10000, back)
    if few < 100 or many > 4.5 * few or many > 60000 then
      error(("the 100th goes back to %d: %d thousand instructions, of four times as many %d")
            :format(back(100), few, many))
    end
  end
end)

t.finish()
