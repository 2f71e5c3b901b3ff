/* cuda/api.h - the part of the CUDA Driver API this engine calls, declared by
 * ourselves and opened with dlopen: one binary runs with and without a driver,
 * and is built with and without a toolkit. Names, values and signatures are
 * those of the CUDA Driver API reference, 11.4 to 13.
 */
#pragma once

#include "kb.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_pointer;
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
struct cu_uuid { unsigned char bytes[16]; };

enum {
    CU_OK = 0, CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100,
    CU_INVALID_IMAGE = 200, CU_NOT_READY = 600, CU_DRIVER_MISMATCH = 803
};

enum {                          /* CUdevice_attribute */
    CU_ATTR_MAX_THREADS = 1, CU_ATTR_WARP_SIZE = 10, CU_ATTR_CLOCK_KHZ = 13,
    CU_ATTR_SM_COUNT = 16, CU_ATTR_L2_BYTES = 38,
    CU_ATTR_SM_THREADS = 39, CU_ATTR_MAJOR = 75, CU_ATTR_MINOR = 76,
    CU_ATTR_SM_SHARED = 81, CU_ATTR_SM_REGISTERS = 82,
    CU_ATTR_BLOCK_SHARED = 97, CU_ATTR_SM_BLOCKS = 106
};

enum {                          /* CUfunction_attribute */
    CU_FUNC_MAX_THREADS = 0, CU_FUNC_REGISTERS = 4,
    CU_FUNC_MAX_DYNAMIC_SHARED = 8
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_LIMIT_PERSISTING_L2 = 6 };

#define KB_CUDA_MAP(X)                                                        \
    X(Init, cuInit, (unsigned))                                               \
    X(DriverGetVersion, cuDriverGetVersion, (int *))                          \
    X(GetErrorName, cuGetErrorName, (cu_result, const char **))               \
    X(GetErrorString, cuGetErrorString, (cu_result, const char **))           \
    X(DeviceGetCount, cuDeviceGetCount, (int *))                              \
    X(DeviceGet, cuDeviceGet, (cu_device *, int))                             \
    X(DeviceGetName, cuDeviceGetName, (char *, int, cu_device))               \
    X(DeviceGetUuid, cuDeviceGetUuid, (struct cu_uuid *, cu_device))          \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *, int, cu_device))      \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, cu_device))             \
    X(PrimaryRetain, cuDevicePrimaryCtxRetain, (cu_context *, cu_device))     \
    X(PrimaryRelease, cuDevicePrimaryCtxRelease_v2, (cu_device))              \
    X(CtxSetCurrent, cuCtxSetCurrent, (cu_context))                           \
    X(CtxSetLimit, cuCtxSetLimit, (int, size_t))                              \
    X(CtxResetPersistingL2, cuCtxResetPersistingL2Cache, (void))              \
    X(MemAlloc, cuMemAlloc_v2, (cu_pointer *, size_t))                        \
    X(MemFree, cuMemFree_v2, (cu_pointer))                                    \
    X(MemcpyHtoD, cuMemcpyHtoD_v2, (cu_pointer, const void *, size_t))        \
    X(MemcpyDtoH, cuMemcpyDtoH_v2, (void *, cu_pointer, size_t))              \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                  \
      (cu_pointer, cu_pointer, size_t, cu_stream))                            \
    X(MemsetD32Async, cuMemsetD32Async,                                       \
      (cu_pointer, unsigned, size_t, cu_stream))                              \
    X(ModuleLoadData, cuModuleLoadData, (cu_module *, const void *))          \
    X(ModuleUnload, cuModuleUnload, (cu_module))                              \
    X(ModuleGetFunction, cuModuleGetFunction,                                 \
      (cu_function *, cu_module, const char *))                               \
    X(FuncGetAttribute, cuFuncGetAttribute, (int *, int, cu_function))        \
    X(FuncSetAttribute, cuFuncSetAttribute, (cu_function, int, int))          \
    X(MaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,           \
      (int *, cu_function, int, size_t))                                      \
    X(LaunchKernel, cuLaunchKernel,                                           \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,         \
       unsigned, unsigned, cu_stream, void **, void **))                      \
    X(StreamCreate, cuStreamCreate, (cu_stream *, unsigned))                  \
    X(StreamDestroy, cuStreamDestroy_v2, (cu_stream))                         \
    X(StreamQuery, cuStreamQuery, (cu_stream))                                \
    X(EventCreate, cuEventCreate, (cu_event *, unsigned))                     \
    X(EventDestroy, cuEventDestroy_v2, (cu_event))                            \
    X(EventRecord, cuEventRecord, (cu_event, cu_stream))                      \
    X(EventElapsedTime, cuEventElapsedTime, (float *, cu_event, cu_event))

struct kb_cuda_api {
    void *library;
#define X(field, symbol, arguments) cu_result (*field) arguments;
    KB_CUDA_MAP(X)
#undef X
};

/* Opens libcuda.so.1, with every call above. ENODEV with *why (static). */
KB_STATUS kb_cuda_api_open(struct kb_cuda_api *api, const char **why);
void kb_cuda_api_close(struct kb_cuda_api *api);

/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access ..." into text. */
const char *kb_cuda_api_say(const struct kb_cuda_api *api, cu_result code,
                            char *text, size_t cap);
