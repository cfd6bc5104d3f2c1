/* PerfLib's nine functions as a hostile library would have them: The name of the file says which lie they tell. Two of them are missing.
 * None of them writes where it may not: against that there is no help inside of a process.
 */
#include <windows.h>
#include <string.h>

static const BYTE set[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static HINSTANCE own;

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
    (void)reason, (void)reserved;
    own = instance;
    return TRUE;
}

/* The file is called hostile-LIE.dll. */
static int lie(const char *name)
{
    char path[MAX_PATH] = "", *at;
    GetModuleFileNameA(own, path, sizeof path - 1);
    at = strrchr(path, '-');
    return at && !strncmp(at + 1, name, strlen(name)) && at[1 + strlen(name)] == '.';
}

#define API __declspec(dllexport) ULONG WINAPI

/* What does not lie: a multi-instance set with one counter of 8 bytes, id 7. */
static ULONG give(const void *answer, DWORD len, BYTE *buffer, DWORD room, DWORD *actual)
{
    static DWORD grows;
    if (lie("grow")) {
        *actual = room + 8 + ++grows;
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    if (lie("huge")) {
        *actual = 0xFFFFFFFF;
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    if (lie("none")) {
        *actual = 0;
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    if (lie("nothing")) {
        *actual = 0;
        return ERROR_SUCCESS;
    }
    if (lie("more")) {
        *actual = room + 4096;
        return ERROR_SUCCESS;
    }
    if (lie("code"))
        return 0xC0000005;
    *actual = len;
    if (room < len)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(buffer, answer, len);
    return ERROR_SUCCESS;
}

API PerfEnumerateCounterSet(LPCWSTR machine, BYTE *ids, DWORD count, DWORD *actual)
{
    (void)machine;
    *actual = 1;
    if (count < 1)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(ids, set, 16);
    return ERROR_SUCCESS;
}

API PerfQueryCounterSetRegistrationInfo(LPCWSTR machine, const BYTE *id, DWORD code, DWORD language, BYTE *info,
    DWORD len, DWORD *actual)
{
    DWORD block[20] = {0};
    (void)machine, (void)id, (void)language;
    *actual = 0;
    if (code != 1)
        return 5;
    memcpy(block, set, 16);
    block[5] = 100;
    block[6] = lie("counters") ? 0x7FFFFFFF : 1;
    block[7] = 2;
    block[8] = 7;
    block[9] = 0x00010100;
    block[12] = 100;
    block[14] = block[15] = block[16] = block[17] = 0xFFFFFFFF;
    *actual = sizeof block;
    if (len < sizeof block)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(info, block, sizeof block);
    return ERROR_SUCCESS;
}

API PerfOpenQueryHandle(LPCWSTR machine, HANDLE *query)
{
    (void)machine;
    *query = (HANDLE)1;
    return ERROR_SUCCESS;
}

API PerfCloseQueryHandle(HANDLE query)
{
    return query == (HANDLE)1 ? ERROR_SUCCESS : ERROR_INVALID_HANDLE;
}

static BYTE entry[256];
static DWORD entry_len;

API PerfAddCounters(HANDLE query, BYTE *counters, DWORD len)
{
    (void)query;
    if (len > sizeof entry)
        return ERROR_INVALID_PARAMETER;
    memcpy(entry, counters, len);
    entry_len = len;
    memset(counters + 16, 0, 4);
    return ERROR_SUCCESS;
}

API PerfQueryCounterInfo(HANDLE query, BYTE *counters, DWORD len, DWORD *actual)
{
    (void)query;
    *actual = entry_len;
    if (len < entry_len)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(counters, entry, entry_len);
    return ERROR_SUCCESS;
}

API PerfQueryCounterData(HANDLE query, BYTE *data, DWORD len, DWORD *actual)
{
    DWORD block[28] = {112, 1}, *result = block + 12;
    (void)query;
    result[1] = 4;                                 /* PERF_MULTIPLE_INSTANCES */
    result[2] = 64;                                /* dwSize */
    result[4] = 48;                                /* dwTotalSize of PERF_MULTI_INSTANCES */
    result[5] = lie("instances") ? 0xFFFFFFFF : 1; /* dwInstances */
    result[6] = 16;                                /* PERF_INSTANCE_HEADER.Size */
    result[7] = 5;
    result[8] = lie("name") ? 0x00410041 : 0x00000041; /* without a NUL, or "A" */
    result[9] = lie("name") ? 0x00410041 : 0;
    result[10] = lie("value") ? 0x7FFFFFFF : 8; /* dwDataSize */
    result[11] = 16;
    result[12] = 42;
    if (lie("total"))
        block[0] = 0x7FFFFFFF;
    if (lie("size"))
        result[2] = 15;
    if (lie("type"))
        result[1] = 77;
    return give(block, sizeof block, data, len, actual);
}
