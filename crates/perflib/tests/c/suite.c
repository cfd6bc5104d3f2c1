/* The nine consumer functions: codes, order of checks, buffers, layouts, values.
 *
 * Plain C11, and C++ as well. Sizes of names follow WCHAR. Threads, forks and ends of processes: suite_life.c. V1 and
 * clocks: suite_v1.c.
 *
 *     cc suite.c -o suite $(pkg-config --cflags --libs perflib)
 *
 * and with -fshort-wchar, or with -DPERFLIB_WCHAR_SIZE=2.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>

#include "walk.h"

enum { LAST_ERROR = 0x5EED };

/* None of the nine functions touches the last error. */
static ULONG called(int line, const char *call, ULONG code)
{
    check_equal(__FILE__, line, call, "last error", LAST_ERROR, perflib_GetLastError());
    return code;
}

#define CALL(call) called(__LINE__, #call, call)
#define WANT(row, code, call) EQUAL(row, "code", code, CALL(call))

static struct set processors, the_system, the_memory;

static HANDLE opened(void)
{
    HANDLE query = NULL;
    REQUIRE("open", CALL(PerfOpenQueryHandle(NULL, &query)) == ERROR_SUCCESS && query != NULL);
    return query;
}

static void closed(HANDLE query)
{
    WANT("close", ERROR_SUCCESS, PerfCloseQueryHandle(query));
}

/* ---- Buffers: one protocol for all that give blocks ---- */

static const char *in_row(const struct question *q, const char *what)
{
    return row_name("%s, %s", q->row, what);
}

static void test_protocol(const struct question *q)
{
    const unsigned char mark = 0xA5;
    DWORD unit = q->kind == SETS ? 16 : 1, needed = 0, actual = 0xDEADBEEF;
    size_t len;
    unsigned char odd[1 + sizeof actual], *at, *again;
    struct fenced memory;
    const char *row = in_row(q, "no buffer");
    ULONG code = CALL(ask(q, NULL, 0, &needed));
    EQUAL(row, "code", needed == 0 ? ERROR_SUCCESS : ERROR_NOT_ENOUGH_MEMORY, code);
    len = (size_t)needed * unit;
    memory = fenced_memory(len + 4096);

    row = in_row(q, "no buffer with a size");
    WANT(row, ERROR_INVALID_PARAMETER, ask(q, NULL, 1, &actual));
    EQUAL(row, "Actual", 0, actual);
    WANT(row, ERROR_INVALID_PARAMETER, ask(q, NULL, 0xFFFFFFFF, &actual));

    row = in_row(q, "nowhere to tell the size");
    memset(memory.start, mark, len + 64);
    WANT(row, ERROR_INVALID_PARAMETER, ask(q, NULL, 0, NULL));
    WANT(row, ERROR_INVALID_PARAMETER, ask(q, memory.start, needed, NULL));
    FILLED(row, "buffer", mark, memory.start, len + 64);

    row = in_row(q, "a buffer of size 0");
    actual = 0xDEADBEEF;
    EQUAL(row, "code", needed == 0 ? ERROR_SUCCESS : ERROR_NOT_ENOUGH_MEMORY, CALL(ask(q, memory.start, 0, &actual)));
    EQUAL(row, "Actual", needed, actual);
    FILLED(row, "buffer", mark, memory.start, len + 64);

    if (needed != 0) {
        row = in_row(q, "one too small");
        at = memory.end - (len - unit);
        memset(at, mark, len - unit);
        actual = 0xDEADBEEF;
        WANT(row, ERROR_NOT_ENOUGH_MEMORY, ask(q, at, needed - 1, &actual));
        EQUAL(row, "Actual", needed, actual);
        FILLED(row, "buffer", mark, at, len - unit);
    }

    row = in_row(q, "just large enough");
    at = memory.end - len;
    memset(memory.start, mark, (size_t)(memory.end - memory.start));
    actual = 0xDEADBEEF;
    WANT(row, ERROR_SUCCESS, ask(q, at, needed, &actual));
    EQUAL(row, "Actual", needed, actual);
    FILLED(row, "what stands before the buffer", mark, memory.start, (size_t)(at - memory.start));
    again = (unsigned char *)malloc(len + 1);
    REQUIRE(row, again != NULL);
    memcpy(again, at, len);

    row = in_row(q, "larger, at odd addresses");
    memset(memory.start, mark, len + 64);
    memset(odd, mark, sizeof odd);
    WANT(row, ERROR_SUCCESS, ask(q, memory.start + 1, needed + 2, (LPDWORD)(void *)(odd + 1)));
    EQUAL(row, "Actual", needed, dword_at(odd + 1));
    EQUAL(row, "the byte before Actual", mark, odd[0]);
    if (q->kind != QUERY_DATA)
        BYTES(row, "the same answer", again, memory.start + 1, len);
    EQUAL(row, "the byte before the buffer", mark, memory.start[0]);
    FILLED(row, "what stands behind the answer", mark, memory.start + 1 + len, 62);

    row = in_row(q, "a size as large as there is");
    memset(memory.start, mark, len + 64);
    WANT(row, ERROR_SUCCESS, ask(q, memory.start, 0xFFFFFFFF, &actual));
    EQUAL(row, "Actual", needed, actual);
    FILLED(row, "what stands behind the answer", mark, memory.start + len, 64);
    free(again);
    munmap(memory.start, (size_t)(memory.end - memory.start));
}

static void test_buffers(void)
{
    static const struct {
        const char *name;
        const GUID *guid;
    } sets[] = { { "Processor Information", &PROCESSORS }, { "System", &SYSTEM }, { "Memory", &MEMORY } };
    struct question q;
    DWORD i;
    memset(&q, 0, sizeof q);
    q.row = "PerfEnumerateCounterSet";
    test_protocol(&q);
    for (i = 0; i < 3; i++) {
        char name[128];
        q.set = sets[i].guid;
        q.kind = REGISTRATION;
        q.row = name;
        for (q.code = 1; q.code <= 10; q.code++) {
            snprintf(name, sizeof name, "PerfQueryCounterSetRegistrationInfo %u of %s", q.code, sets[i].name);
            test_protocol(&q);
        }
        q.kind = INSTANCES;
        snprintf(name, sizeof name, "PerfEnumerateCounterSetInstances of %s", sets[i].name);
        test_protocol(&q);
    }
    q.query = opened();
    q.kind = INFO;
    q.row = "PerfQueryCounterInfo, empty query";
    test_protocol(&q);
    q.kind = QUERY_DATA;
    q.row = "PerfQueryCounterData, empty query";
    test_protocol(&q);
    EQUAL("add", "Status", ERROR_SUCCESS, add_entry(q.query, &PROCESSORS, PERF_WILDCARD_COUNTER, ANY, T("*")));
    EQUAL("add", "Status", ERROR_SUCCESS, add_entry(q.query, &SYSTEM, PERF_WILDCARD_COUNTER, ANY, NULL));
    EQUAL("add", "Status", ERROR_SUCCESS, add_entry(q.query, &PROCESSORS, 0, ANY, T("nobody")));
    q.row = "PerfQueryCounterData";
    test_protocol(&q);
    q.kind = INFO;
    q.row = "PerfQueryCounterInfo";
    test_protocol(&q);
    closed(q.query);
}

/* ---- PerfEnumerateCounterSet ---- */

static void test_enumerate(void)
{
    const GUID *built_in[] = { &PROCESSORS, &SYSTEM, &MEMORY };
    GUID guids[256];
    DWORD count = 0, i, k;
    WANT("enumerate", ERROR_SUCCESS, PerfEnumerateCounterSet(NULL, guids, 256, &count));
    REQUIRE("enumerate", count >= 3 && count <= 256);
    for (i = 1; i < count; i++)
        TRUE_IN("ascending by bytes, none twice", memcmp(&guids[i - 1], &guids[i], 16) < 0);
    for (k = 0; k < 3; k++) {
        int is_there = 0;
        for (i = 0; i < count; i++)
            is_there |= memcmp(&guids[i], built_in[k], 16) == 0;
        TRUE_IN("the built-in countersets are there", is_there);
    }
    for (i = 0; i < count; i++) {
        DWORD size = 0;
        WANT("each is registered", ERROR_NOT_ENOUGH_MEMORY,
            PerfQueryCounterSetRegistrationInfo(NULL, &guids[i], PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, &size));
        EQUAL("each has a block of whole structures", "remainder", 0, size % 16);
    }
}

/* ---- PerfQueryCounterSetRegistrationInfo ---- */

static void check_text(const char *row, const GUID *set, DWORD code, const WCHAR *wanted)
{
    DWORD size = 0;
    unsigned char *bytes = registration(set, code, 0, &size);
    EQUAL(row, "remainder", 0, size % UNIT);
    REQUIRE(row, size >= UNIT);
    FILLED(row, "NUL", 0, bytes + size - UNIT, UNIT);
    EQUAL(row, "units", size / UNIT - 1, text_len((const WCHAR *)(void *)bytes));
    if (wanted != NULL) {
        EQUAL(row, "size", (text_len(wanted) + 1) * UNIT, size);
        BYTES(row, "text", wanted, bytes, size);
    }
    free(bytes);
}

/* A PERF_STRING_BUFFER_HEADER block: one header a counter, and the texts one behind the other. */
static void check_strings(const char *row, const struct set *set, DWORD code, DWORD without, const WCHAR *first)
{
    DWORD size = 0, i, next;
    unsigned char *bytes = registration(set->guid, code, 0, &size);
    REQUIRE(row, size >= 8 + 8 * set->counters);
    EQUAL(row, "dwSize", size, dword_at(bytes));
    EQUAL(row, "a multiple of 8", 0, size % 8);
    EQUAL(row, "dwCounters", set->counters, dword_at(bytes + 4));
    next = 8 + 8 * set->counters;
    for (i = 0; i < set->counters; i++) {
        DWORD id = dword_at(bytes + 8 + 8 * i), offset = dword_at(bytes + 12 + 8 * i), len = 0, unit = 1;
        EQUAL(row, "dwCounterId", set->counter[i].CounterId, id);
        if (id == without)
            EQUAL(row, "dwOffset of the counter without a text", ANY, offset);
        if (offset == ANY)
            continue;
        EQUAL(row, "dwOffset", next, offset);
        if (offset != next)
            break;
        while (offset + (len + 1) * UNIT <= size) {
            unit = 0;
            memcpy(&unit, bytes + offset + len * UNIT, UNIT);
            if (unit == 0)
                break;
            len++;
        }
        EQUAL(row, "NUL", 0, unit);
        TRUE_IN(row, len > 0);
        if (i == 0 && first != NULL)
            BYTES(row, "the first text", first, bytes + offset, (text_len(first) + 1) * UNIT);
        next = offset + (len + 1) * UNIT;
    }
    EQUAL(row, "dwSize after the last text", ALIGN8(next), size);
    if (ALIGN8(next) == size)
        FILLED(row, "padding", 0, bytes + next, size - next);
    free(bytes);
}

static void check_structures(const char *row, const struct set *set, DWORD instance_type)
{
    DWORD size = 0, i, actual = 0;
    unsigned char *bytes = registration(set->guid, PERF_REG_COUNTERSET_STRUCT, 0, &size);
    PERF_COUNTERSET_REG_INFO info;
    PERF_COUNTER_REG_INFO counter;
    memcpy(&info, bytes, sizeof info);
    BYTES(row, "CounterSetGuid", set->guid, &info.CounterSetGuid, 16);
    EQUAL(row, "CounterSetType", 0, info.CounterSetType);
    TRUE_IN(row, info.DetailLevel >= PERF_DETAIL_NOVICE && info.DetailLevel <= PERF_DETAIL_WIZARD);
    EQUAL(row, "InstanceType", instance_type, info.InstanceType);
    EQUAL(row, "size", 32 + 48 * info.NumCounters, size);
    for (i = 0; i < info.NumCounters; i++) {
        DWORD id = dword_at(bytes + 32 + 48 * i);
        memset(&counter, 0xA5, sizeof counter);
        WANT(row, ERROR_SUCCESS, PerfQueryCounterSetRegistrationInfo(NULL, set->guid, PERF_REG_COUNTER_STRUCT, id,
            (LPBYTE)&counter, sizeof counter, &actual));
        EQUAL(row, "Actual of one counter", 48, actual);
        BYTES(row, "the counter alone is as among all", bytes + 32 + 48 * i, &counter, 48);
        TRUE_IN(row, counter.DetailLevel >= PERF_DETAIL_NOVICE && counter.DetailLevel <= PERF_DETAIL_WIZARD);
        TRUE_IN(row, counter.DefaultScale >= -10 && counter.DefaultScale <= 10);
        EQUAL(row, "Reserved", 0, counter.Reserved);
        TRUE_IN(row, counter.BaseCounterId == ANY || counter_of(set, counter.BaseCounterId) != NULL);
        TRUE_IN(row, counter.PerfTimeId == ANY || counter_of(set, counter.PerfTimeId) != NULL);
        TRUE_IN(row, counter.PerfFreqId == ANY || counter_of(set, counter.PerfFreqId) != NULL);
        TRUE_IN(row, counter.MultiId == ANY || counter_of(set, counter.MultiId) != NULL);
    }
    WANT(row, ERROR_WMI_ITEMID_NOT_FOUND, PerfQueryCounterSetRegistrationInfo(NULL, set->guid,
        PERF_REG_COUNTER_STRUCT, 0x7FFFFFF1, NULL, 0, &actual));
    EQUAL(row, "Actual of an unknown counter", 0, actual);
    free(bytes);
}

static void test_languages(void)
{
    static const struct {
        const char *row;
        DWORD language;
        int is_known;
    } languages[] = {
        { "the machine's", 0, 1 },
        { "English", 0x0009, 1 },
        { "English, United States", 0x0409, 1 },
        { "English, United Kingdom", 0x0809, 1 },
        { "English, of a country that there is not", 0xFC09, 1 },
        { "German", 0x0407, 0 },
        { "German without a country", 0x0007, 0 },
        { "Japanese", 0x0411, 0 },
        { "a language that there is not", 0x03FE, 0 },
    };
    DWORD i, code, actual;
    for (i = 0; i < sizeof languages / sizeof languages[0]; i++)
        for (code = 1; code <= 10; code++) {
            int is_text = code >= 3 && code <= 6;
            ULONG wanted = is_text && !languages[i].is_known ? ERROR_RESOURCE_LANG_NOT_FOUND : ERROR_NOT_ENOUGH_MEMORY;
            const char *row = row_name("code %u in %s", code, languages[i].row);
            if (code == PERF_REG_COUNTER_STRUCT)
                continue;
            actual = 0xDEADBEEF;
            WANT(row, wanted, PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)code,
                languages[i].language, NULL, 0, &actual));
            TRUE_IN(row, (actual == 0) == (wanted == ERROR_RESOURCE_LANG_NOT_FOUND));
        }
}

static void test_registration(void)
{
    DWORD actual = 0, size = 0, i;
    unsigned char odd[17];
    GUID provider;
    check_structures("Processor Information", &processors, PERF_COUNTERSET_MULTI_INSTANCES);
    check_structures("System", &the_system, PERF_COUNTERSET_SINGLE_INSTANCE);
    check_structures("Memory", &the_memory, PERF_COUNTERSET_SINGLE_INSTANCE);
    check_text("name of Processor Information", &PROCESSORS, PERF_REG_COUNTERSET_NAME_STRING,
        T("Processor Information"));
    check_text("English name of Processor Information", &PROCESSORS, PERF_REG_COUNTERSET_ENGLISH_NAME,
        T("Processor Information"));
    check_text("name of System", &SYSTEM, PERF_REG_COUNTERSET_NAME_STRING, T("System"));
    check_text("help of System", &SYSTEM, PERF_REG_COUNTERSET_HELP_STRING, NULL);
    check_text("provider of System", &SYSTEM, PERF_REG_PROVIDER_NAME, NULL);
    check_strings("counter names of Processor Information", &processors, PERF_REG_COUNTER_NAME_STRINGS,
        PERFLIB_PROCESSOR_INFORMATION_UTILITY_BASE, T("% Processor Time"));
    check_strings("English counter names of Processor Information", &processors, PERF_REG_COUNTER_ENGLISH_NAMES,
        PERFLIB_PROCESSOR_INFORMATION_UTILITY_BASE, T("% Processor Time"));
    check_strings("counter helps of Processor Information", &processors, PERF_REG_COUNTER_HELP_STRINGS, ANY, NULL);
    check_strings("counter names of System", &the_system, PERF_REG_COUNTER_NAME_STRINGS, ANY,
        T("File Read Operations/sec"));
    check_strings("counter helps of Memory", &the_memory, PERF_REG_COUNTER_HELP_STRINGS, ANY, NULL);
    WANT("provider GUID", ERROR_SUCCESS, PerfQueryCounterSetRegistrationInfo(NULL, &SYSTEM, PERF_REG_PROVIDER_GUID, 0,
        (LPBYTE)&provider, sizeof provider, &actual));
    EQUAL("provider GUID", "Actual", 16, actual);

    test_languages();

    memcpy(odd + 1, &SYSTEM, 16);
    WANT("GUID at an odd address", ERROR_NOT_ENOUGH_MEMORY, PerfQueryCounterSetRegistrationInfo(NULL, GUIDS(odd + 1),
        PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, &actual));
    EQUAL("GUID at an odd address", "Actual", 32 + 48 * the_system.counters, actual);

    WANT("no GUID", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, NULL, PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, &size));
    WANT("code 0", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &SYSTEM, (PerfRegInfoType)0, 0, NULL, 0, &size));
    WANT("code 11", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &SYSTEM, (PerfRegInfoType)11, 0, NULL, 0, &size));
    WANT("code 15", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &SYSTEM, (PerfRegInfoType)15, 0, NULL, 0, &size));
#ifndef __cplusplus
    WANT("code -1", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &SYSTEM, (PerfRegInfoType)-1, 0, NULL, 0, &size));
#endif
    /* Enumerations come before look-ups, look-ups before the buffer's size. */
    WANT("unknown GUID and code 11", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &UNKNOWN, (PerfRegInfoType)11, 0, NULL, 0, &size));
    WANT("unknown GUID, nowhere to tell the size", ERROR_INVALID_PARAMETER,
        PerfQueryCounterSetRegistrationInfo(NULL, &UNKNOWN, PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, NULL));
    for (i = 1; i <= 10; i++) {
        const char *row = row_name("unknown GUID, code %u", i);
        actual = 0xDEADBEEF;
        WANT(row, ERROR_WMI_GUID_NOT_FOUND, PerfQueryCounterSetRegistrationInfo(NULL, &UNKNOWN, (PerfRegInfoType)i,
            0x0407, NULL, 0, &actual));
        EQUAL(row, "Actual", 0, actual);
    }
}

/* ---- PerfEnumerateCounterSetInstances ---- */

static void test_instances(void)
{
    DWORD size = 0xDEADBEEF, i, actual = 0;
    unsigned char odd[17];
    int has_total = 0, has_first = 0;
    for (i = 0; i < processors.instances; i++) {
        has_total |= same_text(processors.instance[i].name, T("_Total"));
        has_first |= same_text(processors.instance[i].name, T("0,0"));
    }
    TRUE_IN("Processor Information", has_total && has_first && processors.instances >= 3);
    EQUAL("System", "instances", 1, the_system.instances);
    EQUAL("Memory", "instances", 1, the_memory.instances);
    WANT("unknown GUID", ERROR_WMI_GUID_NOT_FOUND, PerfEnumerateCounterSetInstances(NULL, &UNKNOWN, NULL, 0, &size));
    EQUAL("unknown GUID", "Actual", 0, size);
    WANT("no GUID", ERROR_INVALID_PARAMETER, PerfEnumerateCounterSetInstances(NULL, NULL, NULL, 0, &size));
    WANT("unknown GUID, no buffer with a size", ERROR_INVALID_PARAMETER,
        PerfEnumerateCounterSetInstances(NULL, &UNKNOWN, NULL, 8, &size));
    memcpy(odd + 1, &SYSTEM, 16);
    WANT("GUID at an odd address", ERROR_NOT_ENOUGH_MEMORY,
        PerfEnumerateCounterSetInstances(NULL, GUIDS(odd + 1), NULL, 0, &actual));
}

/* ---- Handles ---- */

static void check_no_handle(const char *row, HANDLE handle)
{
    unsigned char identifier[64];
    DWORD actual = 0xDEADBEEF, size = put_identifier(identifier, &SYSTEM, 0, ANY, NULL);
    unsigned char before[64];
    memcpy(before, identifier, size);
    WANT(row, ERROR_INVALID_HANDLE, PerfAddCounters(handle, IDENTIFIERS(identifier), size));
    WANT(row, ERROR_INVALID_HANDLE, PerfDeleteCounters(handle, IDENTIFIERS(identifier), size));
    BYTES(row, "identifier", before, identifier, size);
    WANT(row, ERROR_INVALID_HANDLE, PerfQueryCounterInfo(handle, NULL, 0, &actual));
    EQUAL(row, "Actual", 0, actual);
    actual = 0xDEADBEEF;
    WANT(row, ERROR_INVALID_HANDLE, PerfQueryCounterData(handle, NULL, 0, &actual));
    EQUAL(row, "Actual", 0, actual);
    /* The handle is looked at before everything else. */
    WANT(row, ERROR_INVALID_HANDLE, PerfAddCounters(handle, NULL, 0));
    WANT(row, ERROR_INVALID_HANDLE, PerfDeleteCounters(handle, NULL, 0));
    WANT(row, ERROR_INVALID_HANDLE, PerfQueryCounterInfo(handle, NULL, 1, NULL));
    WANT(row, ERROR_INVALID_HANDLE, PerfQueryCounterData(handle, NULL, 1, NULL));
    WANT(row, ERROR_INVALID_HANDLE, PerfCloseQueryHandle(handle));
}

static void test_handles(void)
{
    HANDLE first = opened(), second = opened(), third, stale[64];
    unsigned char odd[1 + sizeof first];
    char memory[64];
    DWORD i;
    TRUE_IN("two handles", first != second);
    check_no_handle("NULL", NULL);
    check_no_handle("1", (HANDLE)(uintptr_t)1);
    check_no_handle("INVALID_HANDLE_VALUE", (HANDLE)(uintptr_t)-1);
    check_no_handle("memory of ours", memory);
    check_no_handle("a function", (HANDLE)(uintptr_t)&PerfCloseQueryHandle);
    check_no_handle("the next number", (HANDLE)((uintptr_t)second + 1));
    check_no_handle("far away", (HANDLE)((uintptr_t)second + 0x10000));
    for (i = 0; i < 8 * sizeof first; i++) {
        HANDLE close = (HANDLE)((uintptr_t)first ^ (uintptr_t)1 << i);
        if (close != second)
            check_no_handle(row_name("bit %u is another", i), close);
    }
    closed(first);
    check_no_handle("closed", first);
    third = opened();
    check_no_handle("closed, and another is open", first);
    WANT("the others go on", ERROR_SUCCESS, add_entry(second, &SYSTEM, 0, ANY, NULL));
    WANT("the others go on", ERROR_SUCCESS, add_entry(third, &SYSTEM, 0, ANY, NULL));
    closed(second);
    closed(third);
    check_no_handle("closed second", second);

    for (i = 0; i < 64; i++) {
        stale[i] = opened();
        closed(stale[i]);
    }
    third = opened();
    for (i = 0; i < 64; i++)
        check_no_handle("closed long ago", stale[i]);
    closed(third);

    WANT("nowhere for the handle", ERROR_INVALID_PARAMETER, PerfOpenQueryHandle(NULL, NULL));
    WANT("nowhere for the handle, of an unknown machine", ERROR_INVALID_PARAMETER,
        PerfOpenQueryHandle(T("no-such-machine"), NULL));
    memset(odd, 0xA5, sizeof odd);
    WANT("handle at an odd address", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, (HANDLE *)(void *)(odd + 1)));
    memcpy(&first, odd + 1, sizeof first);
    EQUAL("handle at an odd address", "the byte before", 0xA5, odd[0]);
    closed(first);
}

/* ---- PerfAddCounters, PerfDeleteCounters: the walk ---- */

#define TOTAL_SIZE ALIGN8(40 + 7 * UNIT)

typedef ULONG (*change_function)(HANDLE, PPERF_COUNTER_IDENTIFIER, DWORD);

static void put_dword(unsigned char *at, DWORD value)
{
    memcpy(at, &value, sizeof value);
}

static void check_empty(const char *row, HANDLE query)
{
    DWORD actual = 0xDEADBEEF;
    unsigned char data[64];
    WANT(row, ERROR_SUCCESS, PerfQueryCounterInfo(query, NULL, 0, &actual));
    EQUAL(row, "entries", 0, actual);
    WANT(row, ERROR_NOT_ENOUGH_MEMORY, PerfQueryCounterData(query, NULL, 0, &actual));
    EQUAL(row, "data", 48, actual);
    memset(data, 0xA5, sizeof data);
    WANT(row, ERROR_SUCCESS, PerfQueryCounterData(query, DATA(data), sizeof data, &actual));
    EQUAL(row, "data", 48, actual);
    EQUAL(row, "dwTotalSize", 48, dword_at(data));
    EQUAL(row, "dwNumCounters", 0, dword_at(data + 4));
    FILLED(row, "behind the header", 0xA5, data + 48, sizeof data - 48);
}

static void test_walk(const char *function, change_function change)
{
    static const struct {
        const char *row;
        DWORD first_size, second_size, bytes;
    } refused[] = {
        { "no bytes", TOTAL_SIZE, TOTAL_SIZE, 0 },
        { "1 byte", TOTAL_SIZE, TOTAL_SIZE, 1 },
        { "8 bytes", TOTAL_SIZE, TOTAL_SIZE, 8 },
        { "39 bytes", TOTAL_SIZE, TOTAL_SIZE, 39 },
        { "Size 0", 0, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 0 of two", 0, TOTAL_SIZE, 2 * TOTAL_SIZE },
        { "Size 8", 8, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 32", 32, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 39", 39, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 41", 41, TOTAL_SIZE, 41 },
        { "Size 44", 44, TOTAL_SIZE, 44 },
        { "Size 1 less", TOTAL_SIZE - 1, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 1 more", TOTAL_SIZE + 1, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 8 more than there are bytes", TOTAL_SIZE + 8, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 2 GiB", 0x80000000, TOTAL_SIZE, TOTAL_SIZE },
        { "Size -8", 0xFFFFFFF8, TOTAL_SIZE, TOTAL_SIZE },
        { "Size -1", 0xFFFFFFFF, TOTAL_SIZE, TOTAL_SIZE },
        { "Size 0 of the second", TOTAL_SIZE, 0, 2 * TOTAL_SIZE },
        { "Size 39 of the second", TOTAL_SIZE, 39, 2 * TOTAL_SIZE },
        { "Size of the second is 8 too much", TOTAL_SIZE, TOTAL_SIZE + 8, 2 * TOTAL_SIZE },
        { "Size of the second goes around", TOTAL_SIZE, (DWORD)0 - TOTAL_SIZE, 2 * TOTAL_SIZE },
        { "1 byte left", TOTAL_SIZE, TOTAL_SIZE, TOTAL_SIZE + 1 },
        { "8 bytes left", TOTAL_SIZE, TOTAL_SIZE, TOTAL_SIZE + 8 },
        { "39 bytes left", TOTAL_SIZE, TOTAL_SIZE, TOTAL_SIZE + 39 },
        { "the second begins and does not end", TOTAL_SIZE, TOTAL_SIZE, 2 * TOTAL_SIZE - 8 },
    };
    HANDLE query = opened();
    struct fenced memory = fenced_memory(4096);
    unsigned char before[3 * TOTAL_SIZE], *at;
    DWORD i;
    for (i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *row = row_name("%s: %s", function, refused[i].row);
        int odd;
        for (odd = 0; odd < 2; odd++) {
            memset(before, 0, sizeof before);
            put_identifier(before, &PROCESSORS, 0, ANY, T("_Total"));
            put_identifier(before + TOTAL_SIZE, &PROCESSORS, 1, ANY, T("_Total"));
            put_dword(before + 16, 0xAAAAAAAA);
            put_dword(before + TOTAL_SIZE + 16, 0xAAAAAAAA);
            put_dword(before + 20, refused[i].first_size);
            put_dword(before + TOTAL_SIZE + 20, refused[i].second_size);
            /* What counts ends where the memory does, or at an odd address before that. */
            at = memory.end - (refused[i].bytes == 0 ? 40 : refused[i].bytes) - odd;
            memcpy(at, before, refused[i].bytes);
            WANT(row, ERROR_INVALID_PARAMETER, change(query, IDENTIFIERS(at), refused[i].bytes));
            BYTES(row, "identifiers", before, at, refused[i].bytes);
        }
        check_empty(row, query);
    }
    put_identifier(memory.end - 40, &SYSTEM, 0, ANY, NULL);
    put_dword(memory.end - 40 + 20, 0);
    WANT(row_name("%s: Size 0 of 4 GiB", function), ERROR_INVALID_PARAMETER,
        change(query, IDENTIFIERS(memory.end - 40), 0xFFFFFFFF));
    WANT(row_name("%s: nothing", function), ERROR_INVALID_PARAMETER, change(query, NULL, 0));
    WANT(row_name("%s: nothing with a size", function), ERROR_INVALID_PARAMETER, change(query, NULL, 40));
    WANT(row_name("%s: nothing of 4 GiB", function), ERROR_INVALID_PARAMETER, change(query, NULL, 0xFFFFFFFF));
    check_empty(function, query);
    closed(query);
    munmap(memory.start, (size_t)(memory.end - memory.start));
}

/* ---- The Status of each identifier ---- */

enum operation { ADD, DELETE };

/* Calls for one block and checks that nothing but its Status was written. */
static void check_status(const char *row, enum operation operation, HANDLE query, DWORD wanted, unsigned char *bytes,
    DWORD size)
{
    static unsigned char before[65536];
    REQUIRE(row, size <= sizeof before);
    put_dword(bytes + 16, 0xAAAAAAAA);
    memcpy(before, bytes, size);
    if (operation == ADD)
        WANT(row, ERROR_SUCCESS, PerfAddCounters(query, IDENTIFIERS(bytes), size));
    else
        WANT(row, ERROR_SUCCESS, PerfDeleteCounters(query, IDENTIFIERS(bytes), size));
    EQUAL(row, "Status", wanted, dword_at(bytes + 16));
    put_dword(before + 16, wanted);
    put_dword(bytes + 16, wanted);
    BYTES(row, "all but Status", before, bytes, size);
}

static void test_statuses(void)
{
    static WCHAR longest[1024], too_long[1025], astral[1024], astral_too_long[1025];
    static const WCHAR lone_high[] = { 0xD800, 0 }, lone_low[] = { 'x', 0xDC00, 'y', 0 };
#if PERFLIB_WCHAR_SIZE == 4
    static const WCHAR beyond[] = { 'x', 0x110000, 0 }, last[] = { 0x10FFFF, 0 }, far_beyond[] = { (WCHAR)-1, 0 };
#endif
    static const unsigned char unended[8] = { 1, 1, 1, 0, 1, 1, 1, 0 };
    static unsigned char bytes[32768];
    const WCHAR pair[] = T("\U0001F600"); /* one unit of UTF-32, two of UTF-16 */
    size_t pair_len = text_len(pair), i;
    HANDLE query = opened();
    DWORD size;
    for (i = 0; i < 1023; i++)
        longest[i] = too_long[i] = 'n';
    too_long[1023] = 'n';
    for (i = 0; i < 511; i++)
        memcpy(astral + i * pair_len, pair, pair_len * UNIT);
    astral[511 * pair_len] = 'n'; /* 1023 units of UTF-16 */
    for (i = 0; i < 512; i++)
        memcpy(astral_too_long + i * pair_len, pair, pair_len * UNIT); /* 1024 */

    struct {
        const char *row;
        enum operation operation;
        DWORD wanted;
        const GUID *set;
        DWORD counter, id;
        const WCHAR *name;
    } rows[] = {
        { "unknown GUID without a name", ADD, ERROR_WMI_GUID_NOT_FOUND, &UNKNOWN, 0, ANY, NULL },
        { "unknown GUID with a name", ADD, ERROR_WMI_GUID_NOT_FOUND, &UNKNOWN, 0, ANY, T("x") },
        { "unknown GUID with too long a name", ADD, ERROR_WMI_GUID_NOT_FOUND, &UNKNOWN, 0, ANY, too_long },
        { "unknown counter", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &PROCESSORS, 9999, ANY, T("_Total") },
        { "unknown counter without a name", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &PROCESSORS, 9999, ANY, NULL },
        { "unknown counter with too long a name", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &PROCESSORS, 9999, ANY, too_long },
        { "unknown counter of a single instance", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &SYSTEM, 9999, ANY, NULL },
        { "counter id before the last one", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &SYSTEM, 0xFFFFFFFE, ANY, NULL },
        { "no name", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, NULL },
        { "empty name", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, T("") },
        { "no name, all counters", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, ANY, ANY, NULL },
        { "1024 units", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, too_long },
        { "1023 units", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, longest },
        { "1023 units again", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, longest },
        { "1024 units of UTF-16, in pairs", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, astral_too_long },
        { "1023 units of UTF-16, in pairs", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, astral },
        { "half a pair", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, lone_high },
        { "half a pair again", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, lone_high },
        { "the other half among letters", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, lone_low },
        { "the other half among capitals", ADD, ERROR_SUCCESS, &PROCESSORS, 1, ANY, lone_low },
#if PERFLIB_WCHAR_SIZE == 4
        { "the last character", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, last },
        { "no character", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, beyond },
        { "no character, unknown GUID", ADD, ERROR_WMI_GUID_NOT_FOUND, &UNKNOWN, 0, ANY, beyond },
        { "no character, unknown counter", ADD, ERROR_WMI_ITEMID_NOT_FOUND, &PROCESSORS, 9999, ANY, beyond },
        { "all bits", ADD, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, far_beyond },
        { "no character, delete", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, beyond },
#endif
        { "first", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("_Total") },
        { "the same", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, T("_Total") },
        { "the same in capitals", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, T("_TOTAL") },
        { "another counter", ADD, ERROR_SUCCESS, &PROCESSORS, 1, ANY, T("_Total") },
        { "all counters", ADD, ERROR_SUCCESS, &PROCESSORS, ANY, ANY, T("_Total") },
        { "all counters again", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, ANY, ANY, T("_total") },
        { "another id", ADD, ERROR_SUCCESS, &PROCESSORS, 0, 7, T("_Total") },
        { "another id again", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, 7, T("_Total") },
        { "a pattern that selects the same", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("_Tota?") },
        { "an instance that is not there", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("nobody") },
        { "a letter with two dots", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("\u00e4") },
        { "its capital", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, T("\u00c4") },
        { "a letter whose capital is far away", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("\u00ff") },
        { "that capital", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 0, ANY, T("\u0178") },
        { "a letter whose capital is two", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("\u00df") },
        { "those two", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("SS") },
        { "a letter of two units", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("\U00010428") },
        { "its capital, which no unit maps to", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("\U00010400") },
        { "single instance with *", ADD, ERROR_SUCCESS, &SYSTEM, 0, ANY, T("*") },
        { "single instance without a name", ADD, ERROR_ALREADY_EXISTS, &SYSTEM, 0, ANY, NULL },
        { "single instance with an empty name", ADD, ERROR_ALREADY_EXISTS, &SYSTEM, 0, ANY, T("") },
        { "single instance, another counter, empty name", ADD, ERROR_SUCCESS, &SYSTEM, 1, ANY, T("") },
        { "single instance, another counter, no name", ADD, ERROR_ALREADY_EXISTS, &SYSTEM, 1, ANY, NULL },
        { "single instance, no name", ADD, ERROR_SUCCESS, &MEMORY, ANY, ANY, NULL },
        { "single instance with a name", ADD, ERROR_INVALID_PARAMETER, &SYSTEM, 2, ANY, T("x") },
        { "single instance with _Total", ADD, ERROR_INVALID_PARAMETER, &SYSTEM, 2, ANY, T("_Total") },
        { "single instance with two stars", ADD, ERROR_INVALID_PARAMETER, &SYSTEM, 2, ANY, T("**") },
        { "single instance with ?", ADD, ERROR_INVALID_PARAMETER, &SYSTEM, 2, ANY, T("?") },
        { "delete what is not there", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 2, ANY, T("_Total") },
        { "delete, another id", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, 8, T("_Total") },
        { "delete, unknown GUID", DELETE, ERROR_INVALID_PARAMETER, &UNKNOWN, 0, ANY, T("_Total") },
        { "delete, unknown counter", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 9999, ANY, T("_Total") },
        { "delete, too long a name", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, too_long },
        { "delete, no name", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, NULL },
        { "delete in capitals", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("_TOTAL") },
        { "delete again", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, T("_Total") },
        { "add after deleting", ADD, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("_tOTAL") },
        { "delete with an id", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, 7, T("_Total") },
        { "delete a pattern", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, ANY, T("_TOTA?") },
        { "a pattern deletes nothing that it selects", DELETE, ERROR_INVALID_PARAMETER, &PROCESSORS, 0, ANY, T("*") },
        { "all counters delete no single one", DELETE, ERROR_SUCCESS, &PROCESSORS, ANY, ANY, T("_Total") },
        { "the single one is there still", ADD, ERROR_ALREADY_EXISTS, &PROCESSORS, 1, ANY, T("_Total") },
        { "delete 1023 units", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, ANY, longest },
        { "delete pairs", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, ANY, astral },
        { "delete half a pair", DELETE, ERROR_SUCCESS, &PROCESSORS, 0, ANY, lone_high },
        { "delete a single instance without a name", DELETE, ERROR_SUCCESS, &SYSTEM, 0, ANY, NULL },
        { "delete a single instance with *", DELETE, ERROR_SUCCESS, &SYSTEM, 1, ANY, T("*") },
    };
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* At an odd address every second time. */
        unsigned char *at = bytes + i % 2;
        size = put_identifier(at, rows[i].set, rows[i].counter, rows[i].id, rows[i].name);
        check_status(rows[i].row, rows[i].operation, query, rows[i].wanted, at, size);
    }

    put_identifier(bytes, &PROCESSORS, 0, ANY, NULL);
    put_dword(bytes + 20, 48);
    memcpy(bytes + 40, unended, 8);
    check_status("a name without NUL", ADD, query, ERROR_INVALID_PARAMETER, bytes, 48);
    check_status("a name without NUL, delete", DELETE, query, ERROR_INVALID_PARAMETER, bytes, 48);
    put_dword(bytes + 24, 9999);
    check_status("a name without NUL, unknown counter", ADD, query, ERROR_WMI_ITEMID_NOT_FOUND, bytes, 48);
    memcpy(bytes, &UNKNOWN, 16);
    check_status("a name without NUL, unknown GUID", ADD, query, ERROR_WMI_GUID_NOT_FOUND, bytes, 48);
    put_identifier(bytes, &SYSTEM, 3, ANY, NULL);
    put_dword(bytes + 20, 48);
    memcpy(bytes + 40, unended, 8);
    check_status("a name without NUL, single instance", ADD, query, ERROR_INVALID_PARAMETER, bytes, 48);

    size = put_identifier(bytes, &PROCESSORS, 5, ANY, T("*"));
    memset(bytes + size, 0x77, 24);
    memset(bytes + 40 + 2 * UNIT, 0x77, size - 40 - 2 * UNIT);
    put_dword(bytes + 20, size + 24);
    put_dword(bytes + 32, 0x77777777); /* Index */
    put_dword(bytes + 36, 0x77777777); /* Reserved */
    check_status("something behind the NUL, Index and Reserved", ADD, query, ERROR_SUCCESS, bytes, size + 24);
    size = put_identifier(bytes, &PROCESSORS, 5, ANY, T("*"));
    check_status("the same in other padding", ADD, query, ERROR_ALREADY_EXISTS, bytes, size);
    check_status("delete it", DELETE, query, ERROR_SUCCESS, bytes, size);
    closed(query);
}

/* Blocks are processed one by one, whatever befalls their neighbours. */
static void test_many_blocks(void)
{
    static const struct {
        const WCHAR *name;
        DWORD counter, wanted;
    } blocks[] = {
        { T("_Total"), 0, ERROR_SUCCESS },
        { T("_total"), 0, ERROR_ALREADY_EXISTS },
        { NULL, 0, ERROR_INVALID_PARAMETER },
        { T("0,0"), 9999, ERROR_WMI_ITEMID_NOT_FOUND },
        { T("*"), ANY, ERROR_SUCCESS },
        { T(""), 1, ERROR_INVALID_PARAMETER },
        { T("0,0"), 1, ERROR_SUCCESS },
    };
    static unsigned char bytes[65536];
    unsigned char *info;
    HANDLE query = opened();
    DWORD i, size = 1, at = 1, actual = 0;
    for (i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        size += put_identifier(bytes + size, &PROCESSORS, blocks[i].counter, ANY, blocks[i].name);
    WANT("several blocks", ERROR_SUCCESS, PerfAddCounters(query, IDENTIFIERS(bytes + 1), size - 1));
    for (i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        EQUAL("several blocks", "Status", blocks[i].wanted, dword_at(bytes + at + 16));
        at += dword_at(bytes + at + 20);
    }
    WANT("several blocks, delete", ERROR_SUCCESS, PerfDeleteCounters(query, IDENTIFIERS(bytes + 1), size - 1));
    for (i = 0, at = 1; i < sizeof blocks / sizeof blocks[0]; i++) {
        DWORD wanted = blocks[i].wanted == ERROR_SUCCESS ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER;
        EQUAL("several blocks, delete", "Status", wanted, dword_at(bytes + at + 16));
        at += dword_at(bytes + at + 20);
    }
    check_empty("several blocks, all deleted", query);

    for (i = 0, size = 0; i < 500; i++)
        size += put_identifier(bytes + size, &PROCESSORS, 0, 1000 + i, T("_Total"));
    WANT("500 blocks", ERROR_SUCCESS, PerfAddCounters(query, IDENTIFIERS(bytes), size));
    for (i = 0, at = 0; i < 500; i++, at += dword_at(bytes + at + 20))
        EQUAL("500 blocks", "Status", ERROR_SUCCESS, dword_at(bytes + at + 16));
    WANT("500 entries", ERROR_NOT_ENOUGH_MEMORY, PerfQueryCounterInfo(query, NULL, 0, &actual));
    EQUAL("500 entries", "Actual", 500 * TOTAL_SIZE, actual);
    info = data_of(query, &actual);
    EQUAL("500 entries", "size of the data", 48 + 500 * 16, actual);
    EQUAL("500 entries", "dwNumCounters", 500, dword_at(info + 4));
    free(info);
    closed(query);
}

/* ---- PerfQueryCounterInfo ---- */

static void check_info(const char *row, HANDLE query, const struct entry *entries, DWORD count)
{
    static unsigned char wanted[65536], found[65536];
    DWORD i, size = 0, actual = 0;
    for (i = 0; i < count; i++) {
        const WCHAR *name = is_single(&entries[i]) ? NULL : entries[i].name;
        DWORD at = size;
        size += put_identifier(wanted + at, entries[i].set->guid, entries[i].counter, entries[i].id, name);
        put_dword(wanted + at + 32, i);
    }
    memset(found, 0xA5, sizeof found);
    WANT(row, ERROR_SUCCESS, PerfQueryCounterInfo(query, IDENTIFIERS(found), sizeof found, &actual));
    EQUAL(row, "Actual", size, actual);
    BYTES(row, "identifiers", wanted, found, size);
    FILLED(row, "behind them", 0xA5, found + size, 64);
}

static void test_info(void)
{
    static const WCHAR lone[] = { 0xDC00, 'x', 0xD800, 0 };
    const struct entry all[] = {
        { &processors, 0, ANY, T("_Total") },
        { &the_system, 6, ANY, NULL },
        { &processors, ANY, 0, T("*") },
        { &the_memory, ANY, ANY, T("*") },
        { &processors, 2, 3, T("NoBody, At aLL") },
        { &the_system, 9, ANY, T("") },
        { &processors, 3, 4, lone },
        { &processors, 4, 5, T("a\U0001F600b") },
        { &processors, 5, 6, T("abc") },
    };
    struct entry left[9];
    unsigned char bytes[256];
    DWORD i, size, count = sizeof all / sizeof all[0];
    HANDLE query = opened();
    for (i = 0; i < count; i++)
        EQUAL("info", "Status", ERROR_SUCCESS,
            add_entry(query, all[i].set->guid, all[i].counter, all[i].id, all[i].name));
    check_info("in the order of adding", query, all, count);

    size = put_identifier(bytes, &PROCESSORS, 2, 3, T("nobody, at all"));
    check_status("delete one in the middle", DELETE, query, ERROR_SUCCESS, bytes, size);
    memcpy(left, all, sizeof left);
    memmove(&left[4], &left[5], 4 * sizeof left[0]);
    check_info("the gap is closed", query, left, count - 1);

    size = put_identifier(bytes, &PROCESSORS, 0, ANY, T("_Total"));
    check_status("delete the first", DELETE, query, ERROR_SUCCESS, bytes, size);
    check_info("all move up", query, left + 1, count - 2);

    EQUAL("add again", "Status", ERROR_SUCCESS, add_entry(query, &PROCESSORS, 0, ANY, T("_Total")));
    left[count - 1] = all[0];
    check_info("what is added again comes last", query, left + 1, count - 1);
    closed(query);
}

/* ---- PerfQueryCounterData ---- */

/* 100 ns since 1601 as a date, by the slow obvious way. */
static SYSTEMTIME date_of(ULONGLONG time)
{
    static const WORD days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    SYSTEMTIME date;
    ULONGLONG day = time / 864000000000ull, milliseconds = time / 10000 % 86400000;
    WORD year = 1601, month = 0;
    date.wDayOfWeek = (WORD)((day + 1) % 7); /* 1601-01-01 was a Monday */
    for (;;) {
        int is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        WORD length = (WORD)(days[month] + (month == 1 && is_leap));
        if (day < length)
            break;
        day -= length;
        month++;
        if (month == 12) {
            month = 0;
            year++;
        }
    }
    date.wYear = year;
    date.wMonth = (WORD)(month + 1);
    date.wDay = (WORD)(day + 1);
    date.wHour = (WORD)(milliseconds / 3600000);
    date.wMinute = (WORD)(milliseconds / 60000 % 60);
    date.wSecond = (WORD)(milliseconds / 1000 % 60);
    date.wMilliseconds = (WORD)(milliseconds % 1000);
    return date;
}

static void test_clocks(void)
{
    HANDLE query = opened();
    DWORD round, actual = 0;
    LARGE_INTEGER before, after, frequency;
    ULONGLONG wall_before, wall_after;
    LONGLONG last = 0;
    for (round = 0; round < 20; round++) {
        PERF_DATA_HEADER header;
        SYSTEMTIME date;
        if (round == 10)
            EQUAL("clocks", "Status", ERROR_SUCCESS,
                add_entry(query, &UNKNOWN, 0, ANY, NULL) == ERROR_WMI_GUID_NOT_FOUND ? 0 : 1);
        perflib_QueryPerformanceFrequency(&frequency);
        perflib_QueryPerformanceCounter(&before);
        perflib_GetSystemTimeAsFileTime(&wall_before);
        WANT("clocks", ERROR_SUCCESS, PerfQueryCounterData(query, &header, sizeof header, &actual));
        perflib_GetSystemTimeAsFileTime(&wall_after);
        perflib_QueryPerformanceCounter(&after);
        EQUAL("clocks", "Actual", 48, actual);
        EQUAL("clocks", "PerfFreq", frequency.QuadPart, header.PerfFreq);
        TRUE_IN("clocks", before.QuadPart <= header.PerfTimeStamp && header.PerfTimeStamp <= after.QuadPart);
        TRUE_IN("clocks", wall_before <= (ULONGLONG)header.PerfTime100NSec
            && (ULONGLONG)header.PerfTime100NSec <= wall_after);
        TRUE_IN("clocks", last < header.PerfTimeStamp);
        last = header.PerfTimeStamp;
        date = date_of((ULONGLONG)header.PerfTime100NSec);
        BYTES("clocks", "SystemTime", &date, &header.SystemTime, sizeof date);
    }
    closed(query);
}

static void test_types(void)
{
    DWORD total_id = 0, i;
    for (i = 0; i < processors.instances; i++)
        if (same_text(processors.instance[i].name, T("_Total")))
            total_id = processors.instance[i].id;
    struct {
        const char *row;
        DWORD type;
        struct entry entry;
    } rows[] = {
        { "one counter, a name", PERF_SINGLE_COUNTER, { &processors, 0, ANY, T("_Total") } },
        { "one counter, a name in capitals", PERF_SINGLE_COUNTER, { &processors, 0, ANY, T("_TOTAL") } },
        { "all counters, a name", PERF_MULTIPLE_COUNTERS, { &processors, ANY, ANY, T("_Total") } },
        { "one counter, *", PERF_MULTIPLE_INSTANCES, { &processors, 0, ANY, T("*") } },
        { "all counters, *", PERF_COUNTERSET, { &processors, ANY, ANY, T("*") } },
        { "a pattern for one, one counter", PERF_MULTIPLE_INSTANCES, { &processors, 0, ANY, T("_Tota?") } },
        { "a pattern for one, all counters", PERF_COUNTERSET, { &processors, ANY, ANY, T("_*") } },
        { "a 4-byte counter", PERF_SINGLE_COUNTER, { &processors, 3, ANY, T("_Total") } },
        { "a 4-byte counter, *", PERF_MULTIPLE_INSTANCES, { &processors, 3, ANY, T("*") } },
        { "nobody", PERF_ERROR_RETURN, { &processors, 0, ANY, T("nobody") } },
        { "nobody, all counters", PERF_ERROR_RETURN, { &processors, ANY, ANY, T("nobody") } },
        { "a pattern for nobody", PERF_ERROR_RETURN, { &processors, 0, ANY, T("nobody*") } },
        { "a pattern for nobody, all counters", PERF_ERROR_RETURN, { &processors, ANY, ANY, T("no?body") } },
        { "the right id", PERF_SINGLE_COUNTER, { &processors, 0, total_id, T("_Total") } },
        { "the right id, *", PERF_MULTIPLE_INSTANCES, { &processors, 0, total_id, T("*") } },
        { "another id", PERF_ERROR_RETURN, { &processors, 0, total_id ^ 0x40000000, T("_Total") } },
        { "another id, all counters", PERF_ERROR_RETURN, { &processors, ANY, total_id ^ 0x40000000, T("_Total") } },
        { "another id, *", PERF_ERROR_RETURN, { &processors, 0, total_id ^ 0x40000000, T("*") } },
        { "another id, *, all counters", PERF_ERROR_RETURN, { &processors, ANY, total_id ^ 0x40000000, T("*") } },
        { "single instance, one counter", PERF_SINGLE_COUNTER, { &the_system, 11, ANY, NULL } },
        { "single instance, one counter, *", PERF_SINGLE_COUNTER, { &the_system, 6, ANY, T("*") } },
        { "single instance, all counters", PERF_MULTIPLE_COUNTERS, { &the_system, ANY, ANY, NULL } },
        { "single instance, all counters, *", PERF_MULTIPLE_COUNTERS, { &the_memory, ANY, ANY, T("*") } },
        { "single instance, all counters, empty", PERF_MULTIPLE_COUNTERS, { &the_system, ANY, ANY, T("") } },
    };
    struct entry together[sizeof rows / sizeof rows[0]];
    DWORD count = 0, size = 0;
    HANDLE all = opened();
    unsigned char *bytes;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct entry *entry = &rows[i].entry;
        HANDLE query = opened();
        DWORD status = add_entry(query, entry->set->guid, entry->counter, entry->id, entry->name);
        EQUAL(rows[i].row, "Status", ERROR_SUCCESS, status);
        bytes = data_of(query, &size);
        EQUAL(rows[i].row, "dwType", rows[i].type, dword_at(bytes + 48 + 4));
        EQUAL(rows[i].row, "the type that the entry wants", rows[i].type, wanted_type(entry));
        check_data(rows[i].row, bytes, size, entry, 1);
        free(bytes);
        closed(query);
        if (add_entry(all, entry->set->guid, entry->counter, entry->id, entry->name) == ERROR_SUCCESS)
            together[count++] = *entry;
    }
    bytes = data_of(all, &size);
    check_data("all of them together", bytes, size, together, count);
    free(bytes);
    bytes = data_of(all, &size);
    check_data("and once more", bytes, size, together, count);
    free(bytes);
    closed(all);
}

static void test_wildcards(void)
{
    static const struct {
        const WCHAR *pattern;
        int least; /* instances that there are in any case; -1: none */
    } rows[] = {
        { T("*"), 3 },
        { T("**"), 3 },
        { T("*?"), 3 },
        { T("?*"), 3 },
        { T("*,*"), 2 },
        { T("0,?"), 1 },
        { T("0,*"), 2 },
        { T("?,?"), 1 },
        { T("*_Total"), 2 },
        { T("*,_total"), 1 },
        { T("_T*l"), 1 },
        { T("_?????"), 1 },
        { T("_??????"), -1 },
        { T("*_TOTAL*"), 2 },
        { T("*a*t*"), -1 },
        { T("*t*a*"), 2 },
        { T("???"), 1 },
        { T("?"), -1 },
        { T("*,"), -1 },
        { T(",*"), -1 },
        { T("*0"), 1 },
        { T("0*0"), 1 },
        { T("*?????????????????????????????"), -1 },
        { T("*******x"), -1 },
        { T("[0],*"), -1 },
        { T("\\*"), -1 },
        { T("0,0"), 1 },
    };
    DWORD i, k, size = 0;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct entry entry = { &processors, PERFLIB_PROCESSOR_INFORMATION_PERCENT_IDLE_TIME, ANY, rows[i].pattern };
        char text[64];
        const char *row = row_name("pattern %s", plain(text, sizeof text, rows[i].pattern));
        HANDLE query = opened();
        unsigned char *bytes;
        int found = 0;
        for (k = 0; k < processors.instances; k++)
            found += selects(&entry, &processors.instance[k]);
        TRUE_IN(row, rows[i].least < 0 ? found == 0 : found >= rows[i].least);
        EQUAL(row, "Status", ERROR_SUCCESS,
            add_entry(query, &PROCESSORS, entry.counter, ANY, entry.name));
        entry.counter = PERF_WILDCARD_COUNTER;
        EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, &PROCESSORS, entry.counter, ANY, entry.name));
        bytes = data_of(query, &size);
        {
            struct entry both[2];
            both[0] = both[1] = entry;
            both[0].counter = PERFLIB_PROCESSOR_INFORMATION_PERCENT_IDLE_TIME;
            check_data(row, bytes, size, both, 2);
        }
        free(bytes);
        closed(query);
    }
}

/* The cells of an entry's results in one block: a value is the same, or missing, in whichever form it is asked. */
static void check_same_values(const struct set *set, const WCHAR *name, DWORD at_row)
{
    HANDLE query = opened();
    DWORD size = 0, all_at = 48 + 16 + ALIGN8(8 + 4 * set->counters), at, i;
    unsigned char *bytes;
    const char *row = row_name("%s, the same value in every form", set->label);
    EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, set->guid, PERF_WILDCARD_COUNTER, ANY, name));
    for (i = 0; i < set->counters; i++)
        EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, set->guid, set->counter[i].CounterId, ANY, name));
    if (name != NULL)
        EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, set->guid, PERF_WILDCARD_COUNTER, ANY, T("*")));
    bytes = data_of(query, &size);
    at = 48 + dword_at(bytes + 48 + 8);
    REQUIRE(row, at == all_at + 16 * set->counters);
    for (i = 0; i < set->counters; i++) {
        const unsigned char *cell = bytes + all_at + 16 * i;
        int is_missing = dword_at(cell) == 0;
        EQUAL(row, "dwType", is_missing ? PERF_ERROR_RETURN : PERF_SINGLE_COUNTER, dword_at(bytes + at + 4));
        EQUAL(row, "dwStatus", is_missing ? ERROR_NO_DATA : ERROR_SUCCESS, dword_at(bytes + at));
        EQUAL(row, "dwSize", is_missing ? 16 : 32, dword_at(bytes + at + 8));
        if (!is_missing)
            BYTES(row, "the counter alone", cell, bytes + at + 16, 16);
        at += dword_at(bytes + at + 8);
    }
    if (name != NULL) {
        at += 16;
        BYTES(row, "counter ids", bytes + 48 + 16, bytes + at, ALIGN8(8 + 4 * set->counters));
        at += ALIGN8(8 + 4 * set->counters) + 8;
        for (i = 0; i < at_row; i++)
            at += dword_at(bytes + at) + 16 * set->counters;
        REQUIRE(row, at < size);
        BYTES(row, "name in the table", name, bytes + at + 8, (text_len(name) + 1) * UNIT);
        at += dword_at(bytes + at);
        BYTES(row, "values in the table", bytes + all_at, bytes + at, 16 * set->counters);
    }
    free(bytes);
    closed(query);
}

static void test_same_values(void)
{
    DWORD i;
    check_same_values(&the_system, NULL, 0);
    check_same_values(&the_memory, NULL, 0);
    for (i = 0; i < processors.instances; i++)
        check_same_values(&processors, processors.instance[i].name, i);
}

/* A value of a single-instance counterset. */
static ULONGLONG value_of(const struct set *set, DWORD counter)
{
    HANDLE query = opened();
    DWORD size = 0;
    ULONGLONG value = 0;
    unsigned char *bytes;
    EQUAL(set->label, "Status", ERROR_SUCCESS, add_entry(query, set->guid, counter, ANY, NULL));
    bytes = data_of(query, &size);
    EQUAL(set->label, "size", 48 + 16 + 16, size);
    EQUAL(set->label, "dwType", PERF_SINGLE_COUNTER, dword_at(bytes + 48 + 4));
    if (size == 48 + 16 + 16)
        memcpy(&value, bytes + 48 + 16 + 8, 8);
    free(bytes);
    closed(query);
    return value;
}

static void test_values(void)
{
    ULONGLONG now, started = value_of(&the_system, PERFLIB_SYSTEM_SYSTEM_UP_TIME);
    ULONGLONG switches = value_of(&the_system, PERFLIB_SYSTEM_CONTEXT_SWITCHES_PER_SEC);
    perflib_GetSystemTimeAsFileTime(&now);
    TRUE_IN("the system started before now", started > 0 && started < now);
    TRUE_IN("this process is one of the processes", value_of(&the_system, PERFLIB_SYSTEM_PROCESSES) >= 1);
    TRUE_IN("switches grow", value_of(&the_system, PERFLIB_SYSTEM_CONTEXT_SWITCHES_PER_SEC) >= switches);
    TRUE_IN("there is memory", value_of(&the_memory, PERFLIB_MEMORY_AVAILABLE_BYTES) > 0);
    TRUE_IN("there is memory", value_of(&the_memory, PERFLIB_MEMORY_COMMIT_LIMIT) > 0);
}

static void test_empty_query(void)
{
    HANDLE query = opened();
    unsigned char bytes[64];
    DWORD size = put_identifier(bytes, &UNKNOWN, 0, ANY, NULL);
    check_empty("new", query);
    check_status("unknown GUID, Size 40, no name", ADD, query, ERROR_WMI_GUID_NOT_FOUND, bytes, size);
    check_empty("after an entry that was refused", query);
    EQUAL("add", "Status", ERROR_SUCCESS, add_entry(query, &SYSTEM, 0, ANY, NULL));
    size = put_identifier(bytes, &SYSTEM, 0, ANY, NULL);
    check_status("delete", DELETE, query, ERROR_SUCCESS, bytes, size);
    check_empty("emptied", query);
    closed(query);
}

/* ---- Machines ---- */

static void check_machine(const char *row, const WCHAR *machine, ULONG unknown)
{
    DWORD actual = 0xDEADBEEF;
    HANDLE query = (HANDLE)(uintptr_t)0xBAD;
    ULONG asked = unknown != 0 ? unknown : (ULONG)ERROR_NOT_ENOUGH_MEMORY;
    ULONG code = CALL(PerfEnumerateCounterSet(machine, NULL, 0, &actual));
    EQUAL(row, "PerfEnumerateCounterSet", asked, code);
    TRUE_IN(row, (actual == 0) == (unknown != 0));
    code = CALL(PerfQueryCounterSetRegistrationInfo(machine, &SYSTEM, PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, &actual));
    EQUAL(row, "PerfQueryCounterSetRegistrationInfo", asked, code);
    TRUE_IN(row, (actual == 0) == (unknown != 0));
    code = CALL(PerfEnumerateCounterSetInstances(machine, &SYSTEM, NULL, 0, &actual));
    EQUAL(row, "PerfEnumerateCounterSetInstances", asked, code);
    TRUE_IN(row, (actual == 0) == (unknown != 0));
    code = CALL(PerfOpenQueryHandle(machine, &query));
    EQUAL(row, "PerfOpenQueryHandle", unknown, code);
    TRUE_IN(row, (query == NULL) == (unknown != 0));
    if (code == ERROR_SUCCESS)
        closed(query);
}

static void widen(WCHAR *out, const char *before, const char *text, int (*change)(int))
{
    while (*before != 0)
        *out++ = (WCHAR)*before++;
    while (*text != 0)
        *out++ = (WCHAR)change((unsigned char)*text++);
    *out = 0;
}

static int as_it_is(int c)
{
    return c;
}

static void test_machines(void)
{
    static const WCHAR lone[] = { 0xD800, 0 };
    static const struct {
        const char *row;
        const WCHAR *machine;
        ULONG code;
    } rows[] = {
        { "NULL", NULL, 0 },
        { "empty", T(""), 0 },
        { "a dot", T("."), 0 },
        { "a dot behind backslashes", T("\\\\."), 0 },
        { "localhost", T("localhost"), 0 },
        { "LOCALHOST", T("LOCALHOST"), 0 },
        { "LocalHost behind backslashes", T("\\\\LocalHost"), 0 },
        { "unknown", T("no-such-machine"), RPC_S_SERVER_UNAVAILABLE },
        { "unknown, behind backslashes", T("\\\\no-such-machine"), RPC_S_SERVER_UNAVAILABLE },
        { "one backslash", T("\\localhost"), RPC_S_SERVER_UNAVAILABLE },
        { "three backslashes", T("\\\\\\localhost"), RPC_S_SERVER_UNAVAILABLE },
        { "slashes", T("//localhost"), RPC_S_SERVER_UNAVAILABLE },
        { "two dots", T(".."), RPC_S_SERVER_UNAVAILABLE },
        { "a blank", T(" "), RPC_S_SERVER_UNAVAILABLE },
        { "localhost and more", T("localhosts"), RPC_S_SERVER_UNAVAILABLE },
        { "localhost and less", T("localhos"), RPC_S_SERVER_UNAVAILABLE },
        { "another letter that looks so", T("l\u03bfcalhost"), RPC_S_SERVER_UNAVAILABLE },
        { "a pair", T("\U0001F600"), RPC_S_SERVER_UNAVAILABLE },
        { "half a pair", lone, RPC_S_SERVER_UNAVAILABLE },
    };
    char own[256];
    WCHAR name[512];
    struct fenced memory = fenced_memory(4096);
    unsigned char *at;
    DWORD i, actual = 0;
    HANDLE query = NULL;
    ULONG code;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_machine(rows[i].row, rows[i].machine, rows[i].code);

    memset(own, 0, sizeof own);
    REQUIRE("own name", gethostname(own, sizeof own - 1) == 0);
    widen(name, "", own, as_it_is);
    check_machine("own name", name, 0);
    widen(name, "", own, toupper);
    check_machine("own name in capitals", name, 0);
    widen(name, "", own, tolower);
    check_machine("own name in small letters", name, 0);
    widen(name, "\\\\", own, as_it_is);
    check_machine("own name behind backslashes", name, 0);
    widen(name, "\\\\", own, toupper);
    check_machine("own name in capitals behind backslashes", name, 0);
    widen(name, "x", own, as_it_is);
    check_machine("own name and more", name, RPC_S_SERVER_UNAVAILABLE);

    /* Names that end where the memory does, also at an odd address. */
    at = memory.end - 10 * UNIT;
    memcpy(at, T("localhost"), 10 * UNIT);
    check_machine("localhost at the end of memory", (LPCWSTR)(void *)at, 0);
    memmove(at - 1, at, 10 * UNIT);
    check_machine("localhost at an odd address", (LPCWSTR)(void *)(at - 1), 0);
    at = memory.end - 1024 * UNIT;
    for (i = 0; i < 1024; i++) {
        WCHAR letter = 'a';
        memcpy(at + i * UNIT, &letter, UNIT);
    }
    /* No machine has such a name; that it has no end either may be said so or so. */
    code = CALL(PerfOpenQueryHandle((LPCWSTR)(void *)at, &query));
    TRUE_IN("1024 units without NUL", code == RPC_S_SERVER_UNAVAILABLE || code == ERROR_INVALID_PARAMETER);
    TRUE_IN("1024 units without NUL", query == NULL);
    check_machine("1024 units without NUL", (LPCWSTR)(void *)at, code);
    memset(memory.end - UNIT, 0, UNIT);
    check_machine("1023 units", (LPCWSTR)(void *)at, RPC_S_SERVER_UNAVAILABLE);
    memset(memory.end - 2 * UNIT, 'x', 2 * UNIT);
    check_machine("localhost and something behind its NUL", T("localhost\0x"), 0);
    munmap(memory.start, (size_t)(memory.end - memory.start));

    /* Pointers and enumerations come before the machine, the machine before what is looked up on it. */
    WANT("unknown machine, nowhere to tell the size", ERROR_INVALID_PARAMETER,
        PerfEnumerateCounterSet(T("no-such-machine"), NULL, 0, NULL));
    WANT("unknown machine, no buffer with a size", ERROR_INVALID_PARAMETER,
        PerfEnumerateCounterSetInstances(T("no-such-machine"), &SYSTEM, NULL, 1, &actual));
    WANT("unknown machine, code 11", ERROR_INVALID_PARAMETER, PerfQueryCounterSetRegistrationInfo(
        T("no-such-machine"), &SYSTEM, (PerfRegInfoType)11, 0, NULL, 0, &actual));
    WANT("unknown machine, unknown GUID", RPC_S_SERVER_UNAVAILABLE, PerfQueryCounterSetRegistrationInfo(
        T("no-such-machine"), &UNKNOWN, PERF_REG_COUNTERSET_STRUCT, 0, NULL, 0, &actual));
    WANT("unknown machine, unknown GUID", RPC_S_SERVER_UNAVAILABLE,
        PerfEnumerateCounterSetInstances(T("no-such-machine"), &UNKNOWN, NULL, 0, &actual));
}

int main(void)
{
    perflib_SetLastError(LAST_ERROR);
    learn_set(&processors, "Processor Information", &PROCESSORS);
    learn_set(&the_system, "System", &SYSTEM);
    learn_set(&the_memory, "Memory", &MEMORY);
    test_enumerate();
    test_registration();
    test_instances();
    test_buffers();
    test_handles();
    test_machines();
    test_walk("PerfAddCounters", PerfAddCounters);
    test_walk("PerfDeleteCounters", PerfDeleteCounters);
    test_statuses();
    test_many_blocks();
    test_info();
    test_empty_query();
    test_clocks();
    test_types();
    test_wildcards();
    test_same_values();
    test_values();
    forget_set(&processors);
    forget_set(&the_system);
    forget_set(&the_memory);
    return suite_end();
}
