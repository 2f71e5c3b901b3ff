-- What may run when an object is loaded: resolvers that a compiler makes, and none that a
-- source writes, whatever it looks like. With every compiler that is here.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence"
local verdict = require "kernelband.evaluate.verdict"

local args = { { mode = "in", dtype = "f32", count = 1 },
               { mode = "out", dtype = "f32", count = 1 },
               { mode = "scalar", dtype = "i32", value = 1 } }
local device = assert(core.device "cpu")

local function judge(source)
  local object <close> = assert(device:build { source = source, entry = "axpy", args = args,
                                               timeout_ns = 30 * 10 ^ 9 // 1 })
  local bad = verdict.try(evidence.admit, evidence.read_object(object))
  return bad and bad.reason or "ok"
end

-- An indirect function whose resolver is these instructions, under the right name.
local function with_resolver(body, more)
  return ([[
__attribute__((used, visibility("hidden"))) void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
__attribute__((used)) static int asks;
__asm__(".text\n"
%s
        ".type axpy.resolver, @function\n"
        ".globl axpy\n.type axpy, @gnu_indirect_function\n.set axpy, axpy.resolver\n");
%s
]]):format(body:gsub("[^\n]+", function(line) return ('        "%s\\n"'):format(line) end),
           more or "")
end

local plain = "lea right(%rip), %rax\nret"

local uname <close> = assert(io.popen "uname -m")
if uname:read() == "x86_64" then
  t.test("a resolver that reads and returns is not refused", function()
    for _, body in ipairs { plain, "push %rcx\npop %rcx\n" .. plain,
                            "sub $8, %rsp\ntestb $2, asks(%rip)\nje 1f\n1: add $8, %rsp\n"
                            .. plain } do
      t.equal(judge(with_resolver("axpy.resolver: " .. body)), "ok")
    end
  end)
  -- Each of these has one thing besides that is wrong.
  for _, row in ipairs {
    { "stores", "axpy.resolver: mov %eax, asks(%rip)\n" .. plain },
    { "stores by a register", "axpy.resolver: movb $1, (%rdi)\n" .. plain },
    { "calls another function", "axpy.resolver: call right\n" .. plain },
    { "calls by a register", "axpy.resolver: call *%rax\n" .. plain },
    { "jumps by a register", "axpy.resolver: lea right(%rip), %rax\njmp *%rax" },
    { "jumps into another function", "axpy.resolver: jmp right" },
    { "makes a system call", "axpy.resolver: syscall\n" .. plain },
    { "changes a register of its caller", "axpy.resolver: xor %ebx, %ebx\n" .. plain },
    { "changes the stack pointer", "axpy.resolver: mov %rax, %rsp\n" .. plain },
    { "returns where it pleases", "axpy.resolver: lea right(%rip), %rax\npush %rax\nret" },
    { "takes its caller's stack", "axpy.resolver: add $8, %rsp\nsub $8, %rsp\n" .. plain },
    { "writes to its caller's stack", "axpy.resolver: pop %rax\npush %rcx\n" .. plain },
    { "is deep on one of two ways",
      "axpy.resolver: test %eax, %eax\nje 1f\npush %rax\n1: " .. plain },
    { "jumps into an instruction",
      "axpy.resolver: test %eax, %eax\nje 1f + 2\n1: mov $0x050f, %eax\n" .. plain },
    { "falls into zeros", "axpy.resolver: test %eax, %eax\n.zero 64\n" .. plain },
    { "goes on in another section", "axpy.resolver: jmp 1f\n.section more, \\\"awx\\\"\n1: "
      .. plain .. "\n.text" },
    { "lies where it can be written", ".section more, \\\"awx\\\"\naxpy.resolver: " .. plain
      .. "\n.text" },
    { "lies where a section that is not loaded lies too",
      ".section more, \\\"x\\\"\n.zero 4096, 0x90\n.text\naxpy.resolver: " .. plain },
    { "has a name of the compiler's", "axpy.resolver: " .. plain .. "\n__cpu_more: nop" },
  } do
    t.test(("a resolver that %s is refused"):format(row[1]), function()
      local said = judge(with_resolver(row[2]))
      t.contains(said, "the object has ")
      t.contains(said, "code that runs before or after")
    end)
  end
end

t.test("what the linker sorts among constructors, or compiles again, is refused", function()
  for _, name in ipairs { ".init_array", ".init_array.5 x", ".ctors.1", ".fini_array", ".init",
                          ".gnu.lto_.symtab", "mine, \\\"aw\\\", @init_array\n#" } do
    local source = with_resolver(""):gsub("__asm__.*", "")
      .. "void axpy(const float *x, float *y, int n) { right(x, y, n * !!__builtin_cpu_supports"
      .. '("sse2")); }\n__asm__(".section ' .. (name:find "@" and name:gsub("\n#", "")
      or ('\\"%s\\", \\"aw\\"'):format(name)) .. '\\n.quad axpy\\n.text\\n");'
    local built, said = pcall(judge, source)
    if built then t.contains(said, "the object has ", name) end
  end
end)

device:close()

-- The suites' own files, with each compiler that spec_candidates does not run them with.
local usual = core.system.realpath(os.getenv "KERNELBAND_CC" or "/usr/bin/cc")
for _, compiler in ipairs { "/usr/bin/gcc", "/usr/bin/clang" } do
  local real = core.system.exists(compiler) == "file" and core.system.realpath(compiler)
  if real and real ~= usual then
    t.test(("honest clones are ok and written resolvers are not, with %s"):format(compiler),
           function()
      local pipe =
        io.popen(("KERNELBAND_CC=%s %s run tests/lua/spec_candidates.lua 1 resolves 2>&1")
                            :format(compiler, core.system.exe()))
      local text = pipe:read "a"
      local done = pipe:close()
      t.equal(done, true, text)
      t.contains(text, "2 passed, 0 failed")
    end)
  elseif not real then
    print("skipped: no " .. compiler)
  end
end

t.finish()
