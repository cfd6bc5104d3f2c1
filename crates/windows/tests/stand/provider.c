/* A V1 provider for tests: the object Process (230) with 64 instances, and System (2) without. Written after the public
 * description of the format alone, with the compiler's own winperf.h.
 *
 * Every value follows from its place and from how often was collected, so that a reader can be checked to the number.
 */
#include <windows.h>
#include <winperf.h>
#include <string.h>
#include <wchar.h>

#define INSTANCES 64

/* PERF_COUNTER_DEFINITION: title index, type, size, offset in the counter block. */
struct counter {
    DWORD index, type, size, offset;
};

static const struct counter of_process[] = {
    {6, PERF_100NSEC_TIMER, 8, 8},
    {180, PERF_COUNTER_LARGE_RAWCOUNT, 8, 16},
    {784, PERF_COUNTER_RAWCOUNT, 4, 4},
};
static const struct counter of_system[] = {
    {248, PERF_COUNTER_RAWCOUNT, 4, 4},
};

/* How often was collected: kept in the process, for the library itself may be unloaded in between. */
static DWORD next(void)
{
    char text[16] = "0";
    DWORD count, at, left;
    GetEnvironmentVariableA("PERFSET_STAND_COLLECTED", text, sizeof text);
    for (count = 0, at = 0; text[at]; ++at)
        count = count * 10 + (DWORD)(text[at] - '0');
    for (at = sizeof text - 1, text[at] = 0, left = ++count; left; left /= 10)
        text[--at] = (char)('0' + left % 10);
    SetEnvironmentVariableA("PERFSET_STAND_COLLECTED", text + at);
    return count;
}

static int asks(const WCHAR *what, const WCHAR *index)
{
    if (!what || !*what || !_wcsicmp(what, L"Global"))
        return 1;
    for (; *what; ++what) {
        size_t len = wcscspn(what, L" ");
        if (len == wcslen(index) && !wcsncmp(what, index, len))
            return 1;
        what += len;
        if (!*what)
            break;
    }
    return 0;
}

static BYTE *object(BYTE *at, DWORD index, LONG instances, const struct counter *counters, DWORD count)
{
    PERF_OBJECT_TYPE *type = (PERF_OBJECT_TYPE *)at;
    DWORD i;
    memset(type, 0, sizeof *type);
    type->HeaderLength = sizeof *type;
    type->DefinitionLength = sizeof *type + count * sizeof(PERF_COUNTER_DEFINITION);
    type->ObjectNameTitleIndex = index;
    type->ObjectHelpTitleIndex = index + 1;
    type->DetailLevel = PERF_DETAIL_NOVICE;
    type->NumCounters = count;
    type->DefaultCounter = -1;
    type->NumInstances = instances;
    for (i = 0; i < count; ++i) {
        PERF_COUNTER_DEFINITION *definition = (PERF_COUNTER_DEFINITION *)(at + sizeof *type) + i;
        memset(definition, 0, sizeof *definition);
        definition->ByteLength = sizeof *definition;
        definition->CounterNameTitleIndex = counters[i].index;
        definition->CounterHelpTitleIndex = counters[i].index + 1;
        definition->DetailLevel = PERF_DETAIL_NOVICE;
        definition->CounterType = counters[i].type;
        definition->CounterSize = counters[i].size;
        definition->CounterOffset = counters[i].offset;
    }
    return at + type->DefinitionLength;
}

__declspec(dllexport) DWORD APIENTRY PerfsetOpen(LPWSTR devices)
{
    (void)devices;
    return ERROR_SUCCESS;
}

__declspec(dllexport) DWORD APIENTRY PerfsetCollect(LPWSTR what, LPVOID *data, LPDWORD bytes, LPDWORD objects)
{
    BYTE *start = *data, *at = start;
    DWORD room = *bytes, i, count;
    const DWORD name = 16, block = 24;
    const DWORD process = sizeof(PERF_OBJECT_TYPE) + 3 * sizeof(PERF_COUNTER_DEFINITION)
        + INSTANCES * (sizeof(PERF_INSTANCE_DEFINITION) + name + block);
    const DWORD system = sizeof(PERF_OBJECT_TYPE) + sizeof(PERF_COUNTER_DEFINITION) + 8;
    const int with_process = asks(what, L"230"), with_system = asks(what, L"2");
    *bytes = 0;
    *objects = 0;
    if (room < (with_process ? process : 0) + (with_system ? system : 0))
        return ERROR_MORE_DATA;
    count = next();
    if (with_process) {
        BYTE *first = at;
        at = object(at, 230, INSTANCES, of_process, 3);
        for (i = 0; i < INSTANCES; ++i) {
            PERF_INSTANCE_DEFINITION *instance = (PERF_INSTANCE_DEFINITION *)at;
            WCHAR text[8] = {L'w', L'o', L'r', L'k', (WCHAR)(L'0' + i / 10), (WCHAR)(L'0' + i % 10), 0, 0};
            memset(instance, 0, sizeof *instance + name + block);
            instance->ByteLength = sizeof *instance + name;
            instance->UniqueID = PERF_NO_UNIQUE_ID;
            instance->NameOffset = sizeof *instance;
            instance->NameLength = 14;
            memcpy(at + sizeof *instance, text, 16);
            at += instance->ByteLength;
            *(DWORD *)at = block;
            *(DWORD *)(at + 4) = 1000 + i;
            *(ULONGLONG *)(at + 8) = (ULONGLONG)count * 1000 + i;
            *(ULONGLONG *)(at + 16) = ((ULONGLONG)i << 33) + 7;
            at += block;
        }
        ((PERF_OBJECT_TYPE *)first)->TotalByteLength = (DWORD)(at - first);
        ++*objects;
    }
    if (with_system) {
        BYTE *first = at;
        at = object(at, 2, PERF_NO_INSTANCES, of_system, 1);
        *(DWORD *)at = 8;
        *(DWORD *)(at + 4) = 42;
        at += 8;
        ((PERF_OBJECT_TYPE *)first)->TotalByteLength = (DWORD)(at - first);
        ++*objects;
    }
    *data = at;
    *bytes = (DWORD)(at - start);
    return ERROR_SUCCESS;
}

__declspec(dllexport) DWORD APIENTRY PerfsetClose(void)
{
    return ERROR_SUCCESS;
}
