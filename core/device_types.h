/* device_types.h - the plain values that device.h's functions take and give. */
#pragma once

#include "measure/tensor.h"

enum { KB_DEVICE_ARGS = 32, KB_DEVICE_SLOTS = 4096, KB_DEVICE_ALIGN = 64,
       KB_PLAN_LAUNCHES = 16, KB_PLAN_SCRATCHES = 8 };

/* What a device can do at most; cpu/roofline.h says how it is measured. */
struct kb_roofline {
    double f32_flops_per_s, f64_flops_per_s;
    double bf16_flops_per_s;    /* of matrix units; 0: not measured */
    double l1_bytes_per_s, l2_bytes_per_s;
    double dram_bytes_per_s, dram_copy_bytes_per_s;
    double clock_hz;            /* 0: not measured */
    size_t l1d_bytes, l2_bytes, l3_bytes;   /* l3 0: there is none */
    size_t vector_bytes;        /* of isa; 0: none */
    const char *isa;            /* of the f32 peak: "avx512f", "avx2+fma",
                                 * "baseline"; static */
};

enum kb_mode { KB_SCALAR, KB_IN, KB_OUT, KB_INOUT };

struct kb_arg {
    enum kb_mode mode;
    enum kb_dtype dtype;
    uint64_t count;             /* elements of an array */
    int64_t integer;            /* value of an integer scalar */
    double real;                /* value of a floating one */
    bool front;                 /* CPU: the array starts where its pages do, so
                                 * that reading before it is a fault; what lies
                                 * behind an input is then all ones (NaN) */
};

struct kb_build {
    const char *source;         /* the candidate, NUL-terminated */
    const char *cubin;          /* CUDA: a kernel that another compiler made,
                                 * Triton's say; then nothing else is used */
    size_t cubin_bytes;
    const char *entry;          /* the function's name, a C identifier */
    const struct kb_arg *arg;   /* modes and dtypes are used, values are not */
    size_t args;
    int64_t timeout_ns;
    bool sanitized;             /* CPU: undefined behaviour ends the kernel */
};

/* What a device is. Numbers a device has no use for are 0. */
struct kb_device_info {
    char name[128];             /* "NVIDIA H200", "cpu" */
    char compiler[256], flags[160], driver[64];
    char target[16];            /* CUDA: what it compiles for, "sm_90a" */
    const char *language;       /* "c" or "cuda": what it builds */
    bool fresh_outputs;         /* every call of a launch finds its outputs
                                 * poisoned: they need no slots */
    int sm_count, sm_threads, sm_registers, sm_blocks;
    int arch;                   /* compute capability, 90 for 9.0 */
    uint64_t sm_shared_bytes, block_shared_bytes, l2_bytes, memory_bytes;
};

/* One step of a launch plan, its expressions worked out. CUDA. */
struct kb_launch {
    char kernel[128];
    uint32_t grid[3], block[3], shared_bytes, args;
    struct {
        enum { KB_PASS_ARG, KB_PASS_SCRATCH, KB_PASS_INTEGER } kind;
        uint32_t index;         /* of the task's argument or the scratch */
        int64_t value;
    } arg[KB_DEVICE_ARGS];
};

struct kb_plan {
    size_t launches, scratches;         /* how many of each there are */
    struct kb_launch launch[KB_PLAN_LAUNCHES];
    struct kb_arg scratch[KB_PLAN_SCRATCHES];   /* dtype and count are used */
};

/* What the compiler says of one kernel of an object. */
struct kb_facts {
    uint32_t registers, shared_bytes, local_bytes;
};

/* One counter; value is meaningless unless present. */
struct kb_metric {
    const char *name;           /* static */
    double value;
    bool present;
};
enum {
    KB_DEVICE_METRICS = 64,
    KB_DEVICE_WHY = 512         /* enough for why, whatever it says */
};

/* Clocks and temperature now; 0 what is not known. */
struct kb_device_state {
    uint32_t sm_mhz, memory_mhz, temperature_c;
    uint64_t held_back;         /* reasons for lower clocks, bits of NVML's
                                 * nvmlClocksEventReasons; 0 or 1 (idle): none */
};
