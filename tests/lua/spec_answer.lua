-- This file tests lua/kernelband/llm/answer.lua, markdown.lua and patch.lua, which extract a kernel
-- or a patch from the answer of a model. It also tests lua/kernelband/base/source.lua, which
-- reduces a source to a normal form.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local answer = require "kernelband.llm.answer"
local markdown = require "kernelband.llm.markdown"
local normal = require "kernelband.base.source".normal

local c = { language = "c", entry = "axpy" }
local code = "void axpy(const float *x, float *y, int n)\n{\n    y[0] = x[0];\n}\n"
local other = "void axpy(const float *x, float *y, int n)\n{\n    y[0] = 2 * x[0];\n}\n"

local function fence(tag, text, mark)
  mark = mark or "```"
  return mark .. tag .. "\n" .. text .. mark .. "\n"
end

local function read(text, more)
  local spec = {}
  for k, v in pairs(c) do spec[k] = v end
  for k, v in pairs(more or {}) do spec[k] = v end
  return answer.read(text, spec)
end

for _, case in ipairs {
  { "one fenced block is the candidate", "Here:\n\n" .. fence("c", code) .. "\nDone.\n" },
  { "tildes fence too", fence("c", code, "~~~") },
  { "a fence may be longer than three", fence("c", code, "`````") },
  { "a block needs no tag", fence("", code) },
  { "a tag may be written as cpp or C", fence("C", code) },
  { "a block within a list is read without its indent",
    "1. First\n\n   ```c\n   " .. code:gsub("\n(.)", "\n   %1") .. "   ```\n" },
  { "a block within a quote is read without its marks",
    "> ```c\n> " .. code:gsub("\n(.)", "\n> %1") .. "> ```\n" },
  { "CR LF becomes LF", (fence("c", code):gsub("\n", "\r\n")) },
  { "a tag of XML right before the fence does not hide it",
    "<answer>\n" .. fence("c", code) .. "</answer>\n" },
  { "the last block that defines the kernel is it",
    fence("c", other) .. "Better:\n" .. fence("c", code) },
  { "a fragment after the kernel is not taken for it", fence("c", code) .. "Call it:\n"
    .. fence("c", "axpy(x, y, n);\n") },
  { "a prototype is no definition", fence("c", code) .. fence("c",
    "void axpy(const float *x, float *y, int n);\n") },
  { "a definition in a comment is none", fence("c", code) .. fence("c",
    "/* void axpy(const float *x) { } */\nint z;\n") },
  { "blocks in other languages are passed over", fence("bash", "gcc axpy.c\n") .. fence("c", code)
    .. fence("python", "void axpy(a) {\n") },
  { "Markdown within Markdown is looked into",
    fence("markdown", "Text\n" .. fence("c", code), "````") },
  { "Markdown closed by the fence inside is looked into",
    "```markdown\n" .. fence("c", code) .. "```\n" },
  { "thinking is no answer", "<think>\n" .. fence("c", other) .. "</think>\n" .. fence("c", code) },
  { "thinking whose opening tag is missing is no answer either",
    fence("c", other) .. "so...\n</think>\n\n" .. fence("c", code) },
  { "a block that is never closed counts when the model had its say",
    "```c\n" .. code, { finish = "stop" } },
  { "code without a fence is taken from a program that prints nothing else", code },
  { "NUL and bytes that are no UTF-8 do not get through",
    "x\0\xff\n" .. fence("c", code) },
} do
  t.test(case[1], function()
    local got, why = read(case[2], case[3])
    t.equal(got, code, why)
  end)
end

for _, case in ipairs {
  { "prose only", "I would tile the loops, and then unroll them.", "no code block: I would tile" },
  { "nothing", " \n ", "the answer is empty" },
  { "a line to the engine that names the kernel", fence("c", "// kb: void axpy(int n) {\nint x;\n"),
    "no code block of the answer defines void axpy(..)" },
  { "a block that defines something else", fence("c", "int main(void) { return 0; }\n"),
    "no code block of the answer defines void axpy(..)" },
  { "a diff", fence("diff", "-a\n+b\n"), "a diff; the whole kernel" },
  { "only thinking", "<think>\nHm. " .. fence("c", code), "nothing but thinking" },
  { "an answer cut off in its block",
    "```c\n" .. code, "cut off at the limit", { finish = "length" } },
  { "an answer cut off before any block", "Let me think", "cut off", { finish = "length" } },
  { "an answer of two megabytes", ("x"):rep(2 << 20), "longer than 1 MiB" },
  { "a host program for CUDA", fence("cuda", "int main() { }\n"), "defines a __global__ kernel",
    { language = "cuda" } },
} do
  t.test(case[1] .. " is no candidate, and why is said", function()
    local got, why = read(case[2], case[4])
    t.equal(got, nil)
    t.contains(why, case[3])
  end)
end

t.test("a whole block before one that was cut off is the candidate", function()
  t.equal(read(fence("c", code) .. "```c\n" .. other, { finish = "length" }), code)
end)

t.test("CUDA is known by its kernels", function()
  local cu = "// kb: launch k grid=(1) block=(32) args=(x)\n"
    .. "extern \"C\" __global__ void k(float *x) { }\n"
  local text = fence("cuda", cu) .. fence("bash", "nvcc\n")
  t.equal(answer.read(text, { language = "cuda", entry = "k" }), cu)
end)

-- Normal form -----------------------------------------------------------------------

local function same(a, b) return normal(a) == normal(b) end

t.test("comments and white space make no other program", function()
  assert(same("int a = 1; // one\n", "int  a=1 ;\n\n"))
  assert(same("/* x */ int f(void)\n{\n\treturn 1;\n}\n", "int f(void){return 1;}"))
  assert(same("a = b + -c;", "a=b+-c;"))
  assert(same("#define A 1\nint x;\n", "#define   A 1 // one\n\n\nint x;\n"))
  assert(same("int a; \\\nint b;\n", "int a; int b;\r\n"))
end)

t.test("what a compiler tells apart stays apart", function()
  assert(not same("int a = 1;", "int a = 2;"))
  assert(not same("a + +b", "a ++b"))
  assert(not same("a - -b", "a--b"))
  assert(not same("int x;", "intx;"))
  assert(not same("#define F (x)\n", "#define F(x)\n"))
  assert(not same("#define A 1\nint x;\n", "#define A 1 int x;\n"))
  assert(not same("s = \"// a\";", "s = \"// b\";"))
  assert(not same("s = \"a\\\"// x\"; f();", "s = \"a\\\"// x\"; g();"))
  assert(not same("c = '\"'; // \"\nx();", "c = '\"'; // \"\ny();"))
end)

t.test("launch plans and open constants are part of the program", function()
  assert(not same("// kb: launch k grid=(1)\nint x;", "// kb: launch k grid=(2)\nint x;"))
  assert(not same("// kb: tune A 1 2\nint x;", "// kb: tune A 1 4\nint x;"))
  assert(same("// kb:  tune A 1 2\n// note\nint x;", "// kb: tune A 1 2\nint x;"))
end)

t.test("the normal form of a large source takes little time", function()
  local big = ("for (int i = 0; i < n; i++) { a[i] += b[i] * c[i]; } // step\n"):rep(4000)
  local began = os.clock()         -- processor time: others may use the machine
  normal(big)
  normal(("/"):rep(250000))
  normal(("\""):rep(250000))
  normal(("/*"):rep(120000))
  normal((" "):rep(250000))
  normal(("+ "):rep(120000))
  assert(os.clock() - began < 4, "slow")
end)

-- Blocks by CommonMark -----------------------------------------------------------------

t.test("fences are read as CommonMark says", function()
  local function blocks(text)
    local out = {}
    for i, b in ipairs(markdown.blocks(text)) do
      out[i] = ("%s|%s|%d|%s"):format(b.info, b.text, b.line, b.closed)
    end
    return out
  end
  t.equal(blocks "```c x\na\n```\n", { "c x|a\n|1|true" })
  t.equal(blocks "a\n~~~\nb", { "|b\n|2|false" })
  t.equal(blocks "    ```c\n    x\n    ```", {})
  t.equal(blocks "```a`b\nx\n```\n", { "||3|false" })
  t.equal(blocks "````\n```\n````", { "|```\n|1|true" })
  t.equal(blocks "-\t```c\n\t\tint x;\n\t```", { "c|\tint x;\n|1|true" })
  t.equal(blocks "```", { "||1|false" })
  t.equal(blocks "\xEF\xBB\xBF```c\nx\n```", { "c|x\n|1|true" })
  t.equal(blocks "", {})
  t.equal({ markdown.blocks(("x"):rep((1 << 20) + 1)) }, { [2] = "the text is larger than 1 MiB",
    [3] = "EINVAL" })
end)

t.test("no text of a megabyte keeps the reader busy", function()
  for _, piece in ipairs { "[", "`", "```\n", "> ", "- ", "*_", "<!--", "![[](", "* a\n\n", "\n",
                           "> - ", "\t- ", "~~~ ` \n", "- - -\n", "  - ```\n", "1. a\n   ",
                           "\r" } do
    local began = os.clock()
    markdown.blocks(piece:rep((1 << 20) // #piece))
    local ms = (os.clock() - began) * 1e3
    assert(ms < 2000, ("%q took %.0f ms"):format(piece, ms))
  end
end)

t.test("Python without a fence is taken from its first import, up to a fence", function()
  local py = { language = "triton", entry = "f", finish = "stop" }
  local text = "import triton\n\n@triton.jit\ndef f(x):\n    pass\n"
  t.equal(answer.read(text, py), text)
  t.equal(answer.read("Here it is:\n" .. text .. "```\nIt is fast.\n", py), text)
  t.equal(answer.read("@triton.jit\ndef f(x):\n    pass\n", py),
          "@triton.jit\ndef f(x):\n    pass\n")
  local source, why = answer.read("The `@triton.jit` kernel is fast.\n", py)
  t.equal(source, nil)
  t.contains(why, "no code block")
end)

-- NOT APPLICABLE, and what else answers hold ----------------------------------

local shown = "void axpy(float *y)\n{\n    y[0] = 1;\n}\n"
local spec = { language = "c", entry = "axpy", finish = "stop", base = shown }

for _, said in ipairs {
  "NOT APPLICABLE: every input is read once.", "**NOT APPLICABLE** every input is read once.",
  "I looked at the loops.\n\n> NOT APPLICABLE - every input is read once.\n",
  "# NOT APPLICABLE\n\nevery input is read once.", "<think>hm</think>\nNOT APPLICABLE, "
    .. "every input is read once.",
} do
  t.test("a strategy is declined: " .. said:sub(1, 24):gsub("%c", " "), function()
    local source, why, how = answer.read(said, spec)
    t.equal({ source, how }, { nil, "EDECLINED" })
    t.contains(why, "every input is read once.")
  end)
end

t.test("NOT APPLICABLE with another kernel is that one, with the one shown it declines", function()
  local said = "NOT APPLICABLE: see below\n```c\n%s```\n"
  t.equal(answer.read(said:format(shown:gsub("1", "2")), spec), (shown:gsub("1", "2")))
  local source, why, how = answer.read(said:format("// as it was\n" .. shown), spec)
  t.equal({ source, how }, { nil, "EDECLINED" })
  t.contains(why, "see below")
  t.equal(answer.read(said:format(shown), { language = "c", entry = "axpy" }), shown)
end)

t.test("words that only sound so decline nothing", function()
  for _, said in ipairs { "This is NOT APPLICABLE here.", "NOT APPLICABLEX", "Not applicable" } do
    local _, _, how = answer.read(said, spec)
    t.equal(how, nil)
  end
end)

t.test("a patch is laid over the kernel shown, whatever its line numbers say", function()
  local diff = "```diff\n--- a\n+++ b\n@@ -90,3 +90,4 @@\n {\n-    y[0] = 1;\n+    y[0] = 2;\n"
               .. "+    y[1] = 3;\n }\n```\n"
  t.equal(answer.read("Here:\n" .. diff, spec),
          "void axpy(float *y)\n{\n    y[0] = 2;\n    y[1] = 3;\n}\n")
  local source, why = answer.read(diff, { language = "c", entry = "axpy" })
  t.equal(source, nil)
  t.contains(why, "the whole kernel is wanted")
end)

for _, case in ipairs {
  { "@@ -1 +1 @@\n-    y[0] = 7;\n+    y[0] = 2;", "hunk 1 of the patch fits no place" },
  { "@@ -1 +1 @@\n+    y[0] = 2;", "hunk 1 of the patch has no context" },
  { "-    y[0] = 1;\n+    y[0] = 2;", "the patch has no hunk" },
} do
  t.test("a patch that cannot be laid is no candidate: " .. case[2], function()
    local source, why = answer.read("```diff\n" .. case[1] .. "\n```\n", spec)
    t.equal(source, nil)
    t.contains(why, case[2])
  end)
end

t.test("patches of one answer are laid one after the other", function()
  local first = "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-    y[0] = 1;\n+    y[0] = 2;\n```\nand\n"
  local second = "```diff\n@@ -1 +1 @@\n-    y[0] = 2;\n+    y[0] = 3;  \n }\n```\n"
  t.equal(answer.read(first .. second, spec), "void axpy(float *y)\n{\n    y[0] = 3;\n}\n")
end)

t.test("a patch that leaves nothing gives a candidate of nothing", function()
  local diff = "```diff\n@@ -1,3 +0,0 @@\n-void f(void)\n-{\n-}\n```\n"
  t.equal(answer.read(diff, { language = "c", entry = "f", finish = "stop",
                              base = "void f(void)\n{\n}\n" }), "\n")
end)

t.test("a patch that fits two places is no candidate", function()
  local _, why = answer.read("```diff\n@@\n-x();\n+y();\n```\n",
    { language = "c", entry = "axpy", base = "void axpy(void)\n{\nx();\nx();\n}\n" })
  t.contains(why, "more than one place")
end)

for _, case in ipairs {
  { "definitions that never begin", fence("c", ("void axpy("):rep(20000)) },
  { "a block of blanks", fence("", "x" .. (" "):rep(300000) .. "x\n") },
  { "a patch with a line of blanks", fence("diff", "@@\n-" .. (" "):rep(300000) .. "x\n") },
} do
  t.test("an answer is read in linear time: " .. case[1], function()
    local began = os.clock()
    t.equal(answer.read(case[2], spec), nil)
    assert(os.clock() - began < 2)
  end)
end

t.test("ten megabytes, control characters and a thousand blocks are read quickly", function()
  local began = os.clock()
  t.equal({ answer.read(("x"):rep(10 << 20), spec) }, { nil, "the answer is longer than 1 MiB" })
  local bytes = {}
  for i = 0, 31 do bytes[i + 1] = string.char(i) end
  local _, why = answer.read(table.concat(bytes):rep(1000), spec)
  t.contains(why, "no code block")
  local blocks = {}
  local block = "```c\nvoid axpy(float *y)\n{\n    y[0] = %d;\n}\n```\n"
  for i = 1, 1000 do blocks[i] = block:format(i) end
  t.contains(answer.read(table.concat(blocks, "text\n"), spec), "y[0] = 1000;")
  assert(os.clock() - began < 5)
end)

t.finish()
