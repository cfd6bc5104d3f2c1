/* The consumer functions over a recording that PERFSET_LOG names.
 *
 * It prints a line for each sample: its time in 100 ns and the raw value of Available Bytes. With the argument
 * `nothing` no log can be opened. The check in xtask compares the lines with those of the command.
 *
 *     cc suite_log.c -o suite $(pkg-config --cflags --libs perflib)
 *     PERFSET_LOG=x.perfset ./suite
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <inttypes.h>

#include "walk.h"

/* Codes that winerror.h has, and perflib.h does not need. */
enum { FILE_NOT_FOUND = 2, HANDLE_EOF = 38 };

/* No function shows this machine instead of a log that cannot be opened. */
static void test_nothing(void)
{
    HANDLE query = &query;
    DWORD len = 0;
    GUID guid;
    EQUAL("no log", "code", FILE_NOT_FOUND, PerfOpenQueryHandle(NULL, &query));
    TRUE_IN("no log", query == NULL);
    EQUAL("no log", "code", FILE_NOT_FOUND, PerfEnumerateCounterSet(NULL, &guid, 1, &len));
    EQUAL("no log", "code", FILE_NOT_FOUND, PerfEnumerateCounterSetInstances(NULL, &MEMORY, NULL, 0, &len));
}

/* Every sample once, in the order of the recording. */
static void test_samples(void)
{
    struct question q = { "samples", QUERY_DATA, NULL, NULL, 0, 0 };
    HANDLE query = NULL;
    LONGLONG before = 0;
    int samples = 0;
    DWORD size;
    REQUIRE("open", PerfOpenQueryHandle(NULL, &query) == ERROR_SUCCESS);
    EQUAL("add", "status", ERROR_SUCCESS, add_entry(query, &MEMORY, PERFLIB_MEMORY_AVAILABLE_BYTES, ANY, NULL));
    q.query = query;
    for (;;) {
        PERF_DATA_HEADER header;
        PERF_COUNTER_DATA data;
        unsigned char *bytes = NULL;
        uint64_t value = 0;
        /* The size is asked first: no sample may be lost by that. */
        ULONG code = ask(&q, NULL, 0, &size);
        if (code == HANDLE_EOF)
            break;
        REQUIRE("size", code == ERROR_NOT_ENOUGH_MEMORY && samples < 100000);
        bytes = answer(&q, &size);
        memcpy(&header, bytes, sizeof header);
        REQUIRE("sample", size >= 80 && header.dwNumCounters == 1);
        EQUAL("sample", "dwStatus", ERROR_SUCCESS, dword_at(bytes + 48));
        memcpy(&data, bytes + 64, sizeof data);
        EQUAL("sample", "dwDataSize", 8, data.dwDataSize);
        memcpy(&value, bytes + 72, sizeof value);
        TRUE_IN("the order", header.PerfTime100NSec > before);
        before = header.PerfTime100NSec;
        printf("sample %" PRId64 " %" PRIu64 "\n", (int64_t)header.PerfTime100NSec, value);
        samples++;
        free(bytes);
    }
    EQUAL("the end", "code", HANDLE_EOF, ask(&q, NULL, 0, &size));
    TRUE_IN("samples", samples > 0);
    EQUAL("close", "code", ERROR_SUCCESS, PerfCloseQueryHandle(query));
}

/* A query whose entries change on the way goes on with the next sample. */
static void test_changes(void)
{
    struct set processors, the_memory;
    struct entry entries[2];
    HANDLE query = NULL;
    unsigned char *bytes;
    DWORD size, i;
    memset(&processors, 0, sizeof processors);
    memset(&the_memory, 0, sizeof the_memory);
    learn_set(&processors, "processors", &PROCESSORS);
    learn_set(&the_memory, "memory", &MEMORY);
    entries[0].set = &the_memory;
    entries[0].name = NULL;
    entries[1].set = &processors;
    entries[1].name = T("*");
    for (i = 0; i < 2; i++) {
        entries[i].counter = PERF_WILDCARD_COUNTER;
        entries[i].id = ANY;
    }
    REQUIRE("open", PerfOpenQueryHandle(NULL, &query) == ERROR_SUCCESS);
    for (i = 0; i < 2; i++) {
        const struct entry *entry = &entries[i];
        EQUAL("add", "status", ERROR_SUCCESS, add_entry(query, entry->set->guid, entry->counter, ANY, entry->name));
        bytes = data_of(query, &size);
        check_data("data", bytes, size, entries, i + 1);
        free(bytes);
    }
    EQUAL("close", "code", ERROR_SUCCESS, PerfCloseQueryHandle(query));
    forget_set(&processors);
    forget_set(&the_memory);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "nothing") == 0) {
        test_nothing();
        return suite_end();
    }
    test_samples();
    test_changes();
    return suite_end();
}
