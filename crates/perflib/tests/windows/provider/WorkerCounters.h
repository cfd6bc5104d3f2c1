/* Counters of Worker.c, in the form in which a manifest's compiler for Windows makes such headers: inline functions that
 * start and stop a provider, and a static template for each counterset.
 */
#pragma once

#include <windows.h>
#include <perflib.h>
#include <winperf.h>

EXTERN_C GUID DECLSPEC_SELECTANY WorkerProviderGuid =
    { 0x5c1d7e20, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x01 } };
EXTERN_C GUID DECLSPEC_SELECTANY WorkerGuid =
    { 0x5c1d7e21, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x02 } };
EXTERN_C GUID DECLSPEC_SELECTANY WorkerQueueGuid =
    { 0x5c1d7e22, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x03 } };

EXTERN_C DECLSPEC_SELECTANY HANDLE WorkerProvider = NULL;

#define WORKER_JOBS       1
#define WORKER_BYTES      2
#define WORKER_DEPTH      1
#define WORKER_LIMIT      2

typedef struct _WORKER_SET {
    PERF_COUNTERSET_INFO CounterSet;
    PERF_COUNTER_INFO Counter0;
    PERF_COUNTER_INFO Counter1;
} WORKER_SET;

EXTERN_C DECLSPEC_SELECTANY WORKER_SET WorkerSet = {
    { { 0x5c1d7e21, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x02 } },
      { 0x5c1d7e20, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x01 } },
      2, PERF_COUNTERSET_MULTI_INSTANCES },
    { WORKER_JOBS, PERF_COUNTER_COUNTER, 0, sizeof(ULONG), PERF_DETAIL_NOVICE, 0, 0 },
    { WORKER_BYTES, PERF_COUNTER_BULK_COUNT, 0, sizeof(ULONGLONG), PERF_DETAIL_NOVICE, (LONG)4294967293, 0 }
};

EXTERN_C DECLSPEC_SELECTANY WORKER_SET WorkerQueueSet = {
    { { 0x5c1d7e22, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x03 } },
      { 0x5c1d7e20, 0x0d3b, 0x4a58, { 0x8e, 0x41, 0x12, 0x6a, 0x9b, 0x03, 0x77, 0x01 } },
      2, PERF_COUNTERSET_SINGLE_INSTANCE },
    { WORKER_DEPTH, PERF_COUNTER_RAWCOUNT, 0, sizeof(ULONG), PERF_DETAIL_NOVICE, 0, 0 },
    { WORKER_LIMIT, PERF_COUNTER_RAWCOUNT, PERF_ATTRIB_BY_REFERENCE, sizeof(PVOID), PERF_DETAIL_ADVANCED, 0, 0 }
};

EXTERN_C FORCEINLINE VOID CounterCleanup(VOID)
{
    if (WorkerProvider != NULL)
    {
        PerfStopProvider(WorkerProvider);
        WorkerProvider = NULL;
    }
}

EXTERN_C FORCEINLINE ULONG CounterInitialize(
    PERFLIBREQUEST NotificationCallback, PERF_MEM_ALLOC MemoryAllocationFunction,
    PERF_MEM_FREE MemoryFreeFunction, PVOID MemoryFunctionsContext)
{
    ULONG Status;
    PERF_PROVIDER_CONTEXT ProviderContext;

    ZeroMemory(&ProviderContext, sizeof(PERF_PROVIDER_CONTEXT));
    ProviderContext.ContextSize = sizeof(PERF_PROVIDER_CONTEXT);
    ProviderContext.ControlCallback = NotificationCallback;
    ProviderContext.MemAllocRoutine = MemoryAllocationFunction;
    ProviderContext.MemFreeRoutine = MemoryFreeFunction;
    ProviderContext.pMemContext = MemoryFunctionsContext;

    Status = PerfStartProviderEx(&WorkerProviderGuid, &ProviderContext, &WorkerProvider);
    if (Status != ERROR_SUCCESS)
    {
        WorkerProvider = NULL;
        return Status;
    }
    Status = PerfSetCounterSetInfo(WorkerProvider, &WorkerSet.CounterSet, sizeof WorkerSet);
    if (Status != ERROR_SUCCESS)
    {
        CounterCleanup();
        return Status;
    }
    Status = PerfSetCounterSetInfo(WorkerProvider, &WorkerQueueSet.CounterSet, sizeof WorkerQueueSet);
    if (Status != ERROR_SUCCESS)
    {
        CounterCleanup();
        return Status;
    }
    return ERROR_SUCCESS;
}
