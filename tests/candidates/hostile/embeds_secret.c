/* expect: build_failed. The assembler reads files too. Seen: our own; the C
   side of NVRTC's #include leak. */
__asm__(".data\nkept: .incbin \"/proc/self/environ\"\n.text");

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
