/* The text of cuda/judge.h and cuda/kit.cu, carried in the binary. The Makefile
 * makes this file's object depend on them. */
#include "impl.h"

__asm__(".section .rodata\n"
        ".global kb_cuda_kit_source\n"
        "kb_cuda_kit_source:\n"
        ".incbin \"core/cuda/judge.h\"\n"
        ".incbin \"core/cuda/kit.cu\"\n"
        ".byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n"
        ".text\n");
