/* Works off a queue, counts what it does, and prints what it counted. */

#include <stdio.h>
#include <windows.h>
#include <strsafe.h>
#include <wmistr.h>

#include "WorkerCounters.h"

#define WORKERS 3
#define JOBS    1000

static ULONG g_QueueLimit = 250;
static LONG g_Requests = 0;

static ULONG WINAPI OnRequest(ULONG RequestCode, PVOID Buffer, ULONG BufferSize)
{
    PWNODE_HEADER pHeader = (PWNODE_HEADER)Buffer;

    if (BufferSize < sizeof(WNODE_HEADER) || pHeader->BufferSize != BufferSize)
    {
        return ERROR_INVALID_PARAMETER;
    }
    switch (RequestCode)
    {
    case PERF_ADD_COUNTER:
        g_Requests++;
        break;
    case PERF_REMOVE_COUNTER:
        g_Requests--;
        break;
    default:
        break;
    }
    return ERROR_SUCCESS;
}

static void PrintInstance(PPERF_COUNTERSET_INSTANCE pInstance, const WORKER_SET *pSet)
{
    const BYTE *pValues = (const BYTE *)(pInstance + 1);
    LPCWSTR szName = (LPCWSTR)((const BYTE *)pInstance + pInstance->InstanceNameOffset);

    wprintf(L"%s %lu: %lu, %I64u\n", szName, pInstance->InstanceId, *(const ULONG *)(pValues + pSet->Counter0.Offset),
        *(const ULONGLONG *)(pValues + pSet->Counter1.Offset));
}

int wmain(void)
{
    PPERF_COUNTERSET_INSTANCE pWorkers[WORKERS];
    PPERF_COUNTERSET_INSTANCE pQueue;
    ULONG ulStatus, i, iJob;
    WCHAR szName[32];

    ulStatus = CounterInitialize(OnRequest, NULL, NULL, NULL);
    if (ERROR_SUCCESS != ulStatus)
    {
        wprintf(L"CounterInitialize failed with %lu.\n", ulStatus);
        return 1;
    }

    pQueue = PerfCreateInstance(WorkerProvider, &WorkerQueueGuid, L"_Default", 0);
    if (NULL == pQueue)
    {
        wprintf(L"PerfCreateInstance failed with %lu.\n", GetLastError());
        return 1;
    }
    PerfSetCounterRefValue(WorkerProvider, pQueue, WORKER_LIMIT, &g_QueueLimit);
    PerfSetULongCounterValue(WorkerProvider, pQueue, WORKER_DEPTH, JOBS);

    for (i = 0; i < WORKERS; i++)
    {
        StringCchPrintfW(szName, ARRAYSIZE(szName), L"Worker %lu", i);
        pWorkers[i] = PerfCreateInstance(WorkerProvider, &WorkerGuid, szName, i);
        if (NULL == pWorkers[i])
        {
            wprintf(L"PerfCreateInstance failed with %lu.\n", GetLastError());
            return 1;
        }
    }
    if (NULL != PerfCreateInstance(WorkerProvider, &WorkerGuid, L"Worker 0", 0) || ERROR_ALREADY_EXISTS != GetLastError())
    {
        wprintf(L"A second Worker 0 was made.\n");
        return 1;
    }

    for (iJob = 0; iJob < JOBS; iJob++)
    {
        PPERF_COUNTERSET_INSTANCE pWorker = pWorkers[iJob % WORKERS];
        ULONGLONG *pBytes = (ULONGLONG *)((BYTE *)(pWorker + 1) + WorkerSet.Counter1.Offset);

        PerfIncrementULongCounterValue(WorkerProvider, pWorker, WORKER_JOBS, 1);
        *pBytes += 4096ull * 1024 * 1024;
        PerfDecrementULongCounterValue(WorkerProvider, pQueue, WORKER_DEPTH, 1);
    }

    for (i = 0; i < WORKERS; i++)
    {
        StringCchPrintfW(szName, ARRAYSIZE(szName), L"WORKER %lu", i);
        if (pWorkers[i] != PerfQueryInstance(WorkerProvider, &WorkerGuid, szName, i))
        {
            wprintf(L"%s was not found.\n", szName);
            return 1;
        }
        PrintInstance(pWorkers[i], &WorkerSet);
        PerfDeleteInstance(WorkerProvider, pWorkers[i]);
    }
    wprintf(L"%lu left of %lu\n", *(ULONG *)(pQueue + 1), g_QueueLimit);
    CounterCleanup();
    return (int)g_Requests;
}
