/* expect: cheated. A resolver of harmless instructions that returns to where it
   pleases. Seen: our own. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

__asm__(".text\n"
        "elsewhere: mov axpy_right@GOTPCREL(%rip), %rax\n"
        "  add $8, %rsp\n"
        "  jmp *-8(%rsp)\n"
        "axpy.resolver: lea elsewhere(%rip), %rax\n"
        "  push %rax\n"
        "  ret\n"
        ".type axpy.resolver, @function\n"
        ".globl axpy\n.type axpy, @gnu_indirect_function\n"
        ".set axpy, axpy.resolver\n");

__attribute__((used)) void axpy_right(const float *x, float *y, int n)
{
    right(x, y, n);
}
