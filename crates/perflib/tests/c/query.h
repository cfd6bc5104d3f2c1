/* What the programs for PerfLib V2 share: text, identifier blocks, memory with an end. */
#ifndef QUERY_H
#define QUERY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perflib.h"
#include "perflib_symbols.h"
#include "winperf.h"

#include "check.h"

/* What the library exports for headers like Windows' own; its clocks and last error are looked at from outside here. */
PERFLIB_BEGIN_C
BOOL perflib_QueryPerformanceCounter(LARGE_INTEGER *ticks);
BOOL perflib_QueryPerformanceFrequency(LARGE_INTEGER *frequency);
void perflib_GetSystemTimeAsFileTime(ULONGLONG *time);
DWORD perflib_GetLastError(void);
void perflib_SetLastError(DWORD code);
PERFLIB_END_C

/* Text in the units of WCHAR. */
#if PERFLIB_WCHAR_SIZE == __SIZEOF_WCHAR_T__
#define T(text) L##text
#else
#define T(text) u##text
#endif

#define UNIT ((DWORD)sizeof(WCHAR))
#define ANY 0xFFFFFFFFu
#define ALIGN8(size) (((size) + 7) & ~(DWORD)7)

static const GUID PROCESSORS = PERFLIB_PROCESSOR_INFORMATION_GUID;
static const GUID SYSTEM = PERFLIB_SYSTEM_GUID;
static const GUID MEMORY = PERFLIB_MEMORY_GUID;
static const GUID UNKNOWN = { 0x12345678, 0x9abc, 0x4def, { 1, 2, 3, 4, 5, 6, 7, 8 } };

static inline size_t text_len(const WCHAR *text)
{
    size_t len = 0;
    while (text[len] != 0)
        len++;
    return len;
}

static inline int same_text(const WCHAR *a, const WCHAR *b)
{
    size_t len = text_len(a);
    return len == text_len(b) && memcmp(a, b, len * UNIT) == 0;
}

/* Plain text from units, for messages. The caller's buffer has room for `most` bytes. */
static inline const char *plain(char *out, size_t most, const WCHAR *text)
{
    size_t at = 0;
    if (text == NULL)
        return "(none)";
    for (; text[at] != 0 && at + 1 < most; at++)
        out[at] = text[at] > 31 && text[at] < 127 ? (char)text[at] : '?';
    out[at] = 0;
    return out;
}

static inline DWORD dword_at(const void *at)
{
    DWORD value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Bytes of an identifier block. */
static inline DWORD identifier_size(const WCHAR *name)
{
    return name == NULL ? 40 : ALIGN8(40 + (DWORD)(text_len(name) + 1) * UNIT);
}

/* Writes an identifier block at any address. Returns its size. Without a name there is none, which is not an empty one.
 */
static inline DWORD put_identifier(void *at, const GUID *set, DWORD counter, DWORD id, const WCHAR *name)
{
    PERF_COUNTER_IDENTIFIER identifier;
    DWORD size = identifier_size(name);
    memset(&identifier, 0, sizeof identifier);
    identifier.CounterSetGuid = *set;
    identifier.Size = size;
    identifier.CounterId = counter;
    identifier.InstanceId = id;
    memset(at, 0, size);
    memcpy(at, &identifier, sizeof identifier);
    if (name != NULL)
        memcpy((unsigned char *)at + 40, name, (text_len(name) + 1) * UNIT);
    return size;
}

static inline PERF_COUNTER_IDENTIFIER identifier_at(const void *at)
{
    PERF_COUNTER_IDENTIFIER identifier;
    memcpy(&identifier, at, sizeof identifier);
    return identifier;
}

/* Adds one entry; the result is its Status, or the function's code if that is not 0. */
static inline DWORD add_entry(HANDLE query, const GUID *set, DWORD counter, DWORD id, const WCHAR *name)
{
    static __thread unsigned char bytes[16384];
    DWORD size = put_identifier(bytes, set, counter, id, name);
    DWORD code = PerfAddCounters(query, (PPERF_COUNTER_IDENTIFIER)(void *)bytes, size);
    return code != ERROR_SUCCESS ? code : identifier_at(bytes).Status;
}

/* Calls with pointers of any alignment, as C allows to write them down. */
#define GUIDS(at) ((LPGUID)(void *)(at))
#define HEADERS(at) ((PPERF_INSTANCE_HEADER)(void *)(at))
#define IDENTIFIERS(at) ((PPERF_COUNTER_IDENTIFIER)(void *)(at))
#define DATA(at) ((PPERF_DATA_HEADER)(void *)(at))

/* What gives a block, and for what. */
enum ask_kind { SETS, REGISTRATION, INSTANCES, INFO, QUERY_DATA };

struct question {
    const char *row;
    enum ask_kind kind;
    HANDLE query;
    const GUID *set;
    DWORD code;
    DWORD language;
};

static inline ULONG ask(const struct question *q, void *buffer, DWORD size, LPDWORD actual)
{
    switch (q->kind) {
    case SETS:
        return PerfEnumerateCounterSet(NULL, GUIDS(buffer), size, actual);
    case REGISTRATION:
        return PerfQueryCounterSetRegistrationInfo(NULL, q->set, (PerfRegInfoType)q->code, q->language,
            (LPBYTE)buffer, size, actual);
    case INSTANCES:
        return PerfEnumerateCounterSetInstances(NULL, q->set, HEADERS(buffer), size, actual);
    case INFO:
        return PerfQueryCounterInfo(q->query, IDENTIFIERS(buffer), size, actual);
    case QUERY_DATA:
        break;
    }
    return PerfQueryCounterData(q->query, DATA(buffer), size, actual);
}

/* Memory that ends where nothing may be touched. */
struct fenced {
    unsigned char *start, *end;
};

static inline struct fenced fenced_memory(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t len = (size + page - 1) / page * page;
    struct fenced memory;
    void *start = mmap(NULL, len + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE("memory", start != MAP_FAILED);
    memory.start = (unsigned char *)start;
    memory.end = memory.start + len;
    REQUIRE("memory", mprotect(memory.end, page, PROT_NONE) == 0);
    return memory;
}

#endif
