/* Prints how busy the processors are, from two readings of the performance data a second apart. */

#include <windows.h>
#include <winperf.h>
#include <stdio.h>
#include <stdlib.h>

#define PROCESSOR_OBJECT         238
#define PROCESSOR_TIME_COUNTER   6

/* Raw value of the counter, and when it was read. */
typedef struct _READING
{
    ULONGLONG ullValue;
    LONGLONG  llTime100nSec;
} READING;

static PERF_DATA_BLOCK *ReadBlock(void)
{
    DWORD  dwCapacity = 4096;
    DWORD  dwSize = 0;
    LPBYTE pBuffer = NULL;
    LONG   lStatus = ERROR_MORE_DATA;

    while (ERROR_MORE_DATA == lStatus)
    {
        free(pBuffer);
        dwCapacity *= 2;
        dwSize = dwCapacity;
        pBuffer = (LPBYTE)malloc(dwCapacity);
        if (NULL == pBuffer)
        {
            wprintf(L"Out of memory.\n");
            exit(1);
        }
        lStatus = RegQueryValueEx(HKEY_PERFORMANCE_DATA, TEXT("238"), NULL, NULL, pBuffer, &dwSize);
    }

    if (ERROR_SUCCESS != lStatus)
    {
        wprintf(L"RegQueryValueEx failed with %ld.\n", lStatus);
        exit(1);
    }
    return (PERF_DATA_BLOCK *)pBuffer;
}

/* A block may hold more objects than those that were asked for. */
static PERF_OBJECT_TYPE *FindObject(PERF_DATA_BLOCK *pBlock, DWORD dwIndex)
{
    PERF_OBJECT_TYPE *pObject = (PERF_OBJECT_TYPE *)((LPBYTE)pBlock + pBlock->HeaderLength);
    DWORD i;

    for (i = 0; i < pBlock->NumObjectTypes; i++)
    {
        if (dwIndex == pObject->ObjectNameTitleIndex)
        {
            return pObject;
        }
        pObject = (PERF_OBJECT_TYPE *)((LPBYTE)pObject + pObject->TotalByteLength);
    }
    return NULL;
}

static PERF_COUNTER_DEFINITION *FindCounter(PERF_OBJECT_TYPE *pObject, DWORD dwIndex)
{
    PERF_COUNTER_DEFINITION *pCounter = (PERF_COUNTER_DEFINITION *)((LPBYTE)pObject + pObject->HeaderLength);
    DWORD i;

    for (i = 0; i < pObject->NumCounters; i++)
    {
        if (dwIndex == pCounter->CounterNameTitleIndex)
        {
            return pCounter;
        }
        pCounter = (PERF_COUNTER_DEFINITION *)((LPBYTE)pCounter + pCounter->ByteLength);
    }
    return NULL;
}

/* The counters of the instance with this name. */
static PERF_COUNTER_BLOCK *FindInstance(PERF_OBJECT_TYPE *pObject, LPCWSTR pwszName)
{
    PERF_INSTANCE_DEFINITION *pInstance = (PERF_INSTANCE_DEFINITION *)((LPBYTE)pObject + pObject->DefinitionLength);
    LONG i;

    for (i = 0; i < pObject->NumInstances; i++)
    {
        PERF_COUNTER_BLOCK *pValues = (PERF_COUNTER_BLOCK *)((LPBYTE)pInstance + pInstance->ByteLength);
        if (0 == _wcsicmp(pwszName, (LPCWSTR)((LPBYTE)pInstance + pInstance->NameOffset)))
        {
            return pValues;
        }
        pInstance = (PERF_INSTANCE_DEFINITION *)((LPBYTE)pValues + pValues->ByteLength);
    }
    return NULL;
}

static void Read(READING *pReading)
{
    PERF_DATA_BLOCK *pBlock = ReadBlock();
    PERF_OBJECT_TYPE *pObject = FindObject(pBlock, PROCESSOR_OBJECT);
    PERF_COUNTER_DEFINITION *pCounter = NULL;
    PERF_COUNTER_BLOCK *pValues = NULL;

    if (NULL != pObject)
    {
        pCounter = FindCounter(pObject, PROCESSOR_TIME_COUNTER);
        pValues = FindInstance(pObject, L"_Total");
    }
    if (NULL == pCounter || NULL == pValues || sizeof(ULONGLONG) != pCounter->CounterSize)
    {
        wprintf(L"This computer has no such counter.\n");
        exit(1);
    }

    pReading->ullValue = *(ULONGLONG *)((LPBYTE)pValues + pCounter->CounterOffset);
    pReading->llTime100nSec = pBlock->PerfTime100nSec.QuadPart;
    wprintf(L"type 0x%08X, raw value %I64u, time %I64d\n",
            pCounter->CounterType, pReading->ullValue, pReading->llTime100nSec);
    free(pBlock);
}

void wmain(void)
{
    READING before;
    READING after;

    Read(&before);
    Sleep(1000);
    Read(&after);
    RegCloseKey(HKEY_PERFORMANCE_DATA);

    /* PERF_100NSEC_TIMER_INV: the value counts the time in which nothing was done. */
    wprintf(L"\\Processor(%s)\\%% Processor Time: %.2f %%\n", L"_Total",
            100.0 * (1.0 - (double)(LONGLONG)(after.ullValue - before.ullValue)
                         / (double)(after.llTime100nSec - before.llTime100nSec)));

    exit(0); /* what a void wmain returns with is anyone's guess */
}
