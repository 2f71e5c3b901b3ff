/* A CUPTI and a driver in one, for machines without a GPU: a fill on the default
 * stream is recorded on stream 7, on another on 8, and no stream's id can be
 * asked. Built twice, as libcupti.so.13 and libcuda.so.1; the first loads the
 * second. */
#include <string.h>

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_result.h>

#ifdef DRIVER

static int fills[2];

/* How many since it was last asked; other: on other streams than the default. */
int fake_fills(int other)
{
    int n = fills[other];
    fills[other] = 0;
    return n;
}

CUresult cuCtxGetCurrent(CUcontext *c)
{
    *c = (CUcontext)fills;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t n)
{
    *at = 4096;
    return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree_v2(CUdeviceptr at)
{
    return at == 4096 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char x, size_t n, CUstream s)
{
    (void)at, (void)x, (void)n;
    fills[s != NULL]++;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream s)
{
    (void)s;
    return CUDA_SUCCESS;
}

#else

int fake_fills(int other);
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static size_t read_to;

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc a,
                                           CUpti_BuffersCallbackCompleteFunc b)
{
    request = a, complete = b;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffer;
    size_t size, most, used = 0;
    (void)flag;
    request(&buffer, &size, &most);
    for (int i = 0; i < 2; i++)
        for (int n = fake_fills(i); n > 0; n--, used += sizeof(CUpti_ActivityMemset4)) {
            CUpti_ActivityMemset4 m = { .kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = 100,
                                        .end = 200, .streamId = i ? 8 : 7 };
            memcpy(buffer + used, &m, sizeof m);
        }
    read_to = 0;
    complete(NULL, 0, buffer, size, used);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                       CUpti_Activity **record)
{
    if (read_to >= valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(buffer + read_to);
    read_to += sizeof(CUpti_ActivityMemset4);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c, uint32_t s, size_t *n)
{
    (void)c, (void)s;
    *n = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext c, CUstream s, uint8_t own, uint32_t *id)
{
    (void)c, (void)s, (void)own, (void)id;
    return CUPTI_ERROR_INVALID_STREAM;
}

CUptiResult cuptiGetResultString(CUptiResult r, const char **text)
{
    (void)r;
    *text = "it failed";
    return CUPTI_SUCCESS;
}

#endif
