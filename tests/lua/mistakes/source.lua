-- Mistakes in a candidate: its verdict is the answer.
local head = "void tiny(const float *x, float *y, int n)\n"

return {
  { "an empty source", files = { ["k.c"] = "" }, verdict = "build_failed",
    says = "it does not define the function tiny" },
  { "a source that is binary", before = "head -c 300 /bin/sh > k.c", verdict = "build_failed",
    says = "the source holds a NUL byte" },
  { "a source without the function", files = { ["k.c"] = "void tinny(void) {}\n" },
    verdict = "build_failed", says = "it does not define the function tiny" },
  { "a source with a syntax error",
    files = { ["k.c"] = "void tiny(const float *x, float *y, int n)\n{\n    y[0] = \n}\n" },
    verdict = "build_failed", says = "k.c:4:" },
  { "a source with a header that is not there", files = { ["k.c"] = "#include <nosuch.h>\n" },
    verdict = "build_failed", says = "k.c:1:" },
  { "a source that calls what is not there",
    files = { ["k.c"] = "void nosuch(void);\n" .. head .. "{ nosuch(); }\n" },
    verdict = "build_failed", says = "nosuch" },
  { "a source with a main", files = { ["k.c"] = "int main(void) { return 0; }\n" },
    verdict = "build_failed", says = "it does not define the function tiny" },
  { "a CUDA source for a C task", run = "eval t k.cu",
    files = { ["k.cu"] = "extern \"C\" __global__ void tiny() {}\n" }, exit = 2, says = "cuda" },
  { "a source that crashes",
    files = { ["k.c"] = head .. "{ *(volatile int *)0 = 1; }\n" },
    verdict = "crashed", says = "n=7" },
  { "a source with other arguments", files = { ["k.c"] = "void tiny(int n) { (void)n; }\n" },
    verdict = "wrong", says = "n=7" },
}
