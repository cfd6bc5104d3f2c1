/* Shows how busy each processor is.
 *
 *     cc processor_time.c -o processor_time $(pkg-config --cflags --libs perflib)
 *     ./processor_time [INTERVAL [COUNT]]
 *
 * As with vmstat: every INTERVAL seconds, by default each second, COUNT times or until Ctrl+C.
 *
 * PerfLib gives raw values, never percentages. % Processor Time is the time that a processor was idle, in units of 100
 * ns; its type, PERF_100NSEC_TIMER_INV, says how two of them make a percentage: 100 * (1 - idle / elapsed).
 */
#define _POSIX_C_SOURCE 200809L
#include <perflib.h>
#include <perflib_symbols.h>

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

_Static_assert(sizeof(WCHAR) == sizeof(wchar_t), "names are printed as wchar_t here: leave PERFLIB_WCHAR_SIZE alone");

/* What PerfQueryCounterData filled. */
struct block {
    unsigned char *bytes;
    DWORD size;
    DWORD capacity;
};

/* Bytes that are still to be read. */
struct rest {
    const unsigned char *at;
    size_t left;
};

/* One instance and its value. */
struct row {
    const WCHAR *name;
    ULONG id;
    uint64_t idle;
};

static void fail(const char *what, ULONG status)
{
    fprintf(stderr, "processor_time: %s: error %" PRIu32 "\n", what, status);
    exit(EXIT_FAILURE);
}

/* An entry of a query: which counter, of which instances. The name is a pattern; it follows the structure, and both
 * together fill a multiple of 8 bytes.
 */
static HANDLE open_query(void)
{
    struct {
        PERF_COUNTER_IDENTIFIER id;
        WCHAR name[4];
    } entry = {
        .id = {
            .CounterSetGuid = PERFLIB_PROCESSOR_INFORMATION_GUID,
            .Size = sizeof entry,
            .CounterId = PERFLIB_PROCESSOR_INFORMATION_PERCENT_PROCESSOR_TIME,
            .InstanceId = 0xffffffff, /* any */
        },
        .name = PERF_WILDCARD_INSTANCE,
    };
    HANDLE query;

    ULONG status = PerfOpenQueryHandle(NULL, &query);
    if (status != ERROR_SUCCESS)
        fail("open", status);
    status = PerfAddCounters(query, &entry.id, sizeof entry);
    if (status == ERROR_SUCCESS)
        status = entry.id.Status; /* the call can succeed and an entry fail */
    if (status != ERROR_SUCCESS)
        fail("add", status);
    return query;
}

/* Reads all processors at once. The buffer grows to what one reading takes, and is kept. */
static void collect(HANDLE query, struct block *block)
{
    for (;;) {
        ULONG status =
            PerfQueryCounterData(query, (PERF_DATA_HEADER *)block->bytes, block->capacity, &block->size);
        if (status == ERROR_SUCCESS)
            return;
        if (status != ERROR_NOT_ENOUGH_MEMORY)
            fail("collect", status);
        free(block->bytes);
        block->capacity = block->size;
        block->bytes = malloc(block->capacity);
        if (block->bytes == NULL)
            fail("memory", ERROR_OUTOFMEMORY);
    }
}

/* Takes a structure of `size` bytes. `whole`, a field of it, says how many bytes it has with what belongs to it: that is
 * `inner`, and `rest` goes on behind it. Blocks may come from programs that cannot be trusted: all sizes are checked.
 */
static void take(struct rest *rest, void *header, size_t size, ULONG *whole, struct rest *inner)
{
    if (rest->left < size)
        fail("the block ends too early", ERROR_INVALID_DATA);
    memcpy(header, rest->at, size);
    if (*whole < size || *whole > rest->left)
        fail("the block has a wrong size", ERROR_INVALID_DATA);
    inner->at = rest->at + size;
    inner->left = *whole - size;
    rest->at += *whole;
    rest->left -= *whole;
}

/* Finds the rows in a block: PERF_DATA_HEADER, PERF_COUNTER_HEADER (one, as the query has one entry),
 * PERF_MULTI_INSTANCES, and in it the rows. Gives the time of the block, and how many rows there are.
 */
static LONGLONG open_rows(const struct block *block, struct rest *rows, DWORD *count)
{
    struct rest all = { block->bytes, block->size };
    struct rest results;
    struct rest result;
    PERF_DATA_HEADER data;
    PERF_COUNTER_HEADER counter;
    PERF_MULTI_INSTANCES instances;

    take(&all, &data, sizeof data, &data.dwTotalSize, &results);
    if (data.dwNumCounters != 1)
        fail("another number of results than entries", ERROR_INVALID_DATA);
    take(&results, &counter, sizeof counter, &counter.dwSize, &result);
    if (counter.dwType == PERF_ERROR_RETURN)
        fail("no values", counter.dwStatus);
    if (counter.dwType != PERF_MULTIPLE_INSTANCES)
        fail("another kind of result than asked for", ERROR_INVALID_DATA);
    take(&result, &instances, sizeof instances, &instances.dwTotalSize, rows);
    *count = instances.dwInstances;
    return data.PerfTime100NSec;
}

/* A row is a PERF_INSTANCE_HEADER with the name, then a PERF_COUNTER_DATA with the value. */
static struct row next_row(struct rest *rows)
{
    PERF_INSTANCE_HEADER instance;
    PERF_COUNTER_DATA data;
    struct rest name;
    struct rest value;
    struct row row;

    take(rows, &instance, sizeof instance, &instance.Size, &name);
    row.name = (const WCHAR *)name.at;
    row.id = instance.InstanceId;
    if (wcsnlen(row.name, name.left / sizeof(WCHAR)) == name.left / sizeof(WCHAR))
        fail("a name without end", ERROR_INVALID_DATA);

    take(rows, &data, sizeof data, &data.dwSize, &value);
    if (data.dwDataSize != sizeof row.idle || value.left < sizeof row.idle)
        fail("a value of another size", ERROR_INVALID_DATA);
    memcpy(&row.idle, value.at, sizeof row.idle);
    return row;
}

/* Processors come and go: the same one is the one with the same name and id, not the one in the same place. */
static int find_row(const struct block *block, const struct row *wanted, struct row *found)
{
    struct rest rows;
    DWORD count;
    open_rows(block, &rows, &count);
    for (DWORD i = 0; i < count; i++) {
        *found = next_row(&rows);
        if (found->id == wanted->id && wcscmp(found->name, wanted->name) == 0)
            return 1;
    }
    return 0;
}

static void print_busy(const struct block *before, const struct block *after)
{
    struct rest rows;
    struct rest unused;
    DWORD count;
    DWORD unused_count;
    LONGLONG elapsed = open_rows(after, &rows, &count) - open_rows(before, &unused, &unused_count);

    for (DWORD i = 0; i < count; i++) {
        struct row now = next_row(&rows);
        struct row then;
        if (elapsed > 0 && find_row(before, &now, &then)) {
            double idle = (double)(int64_t)(now.idle - then.idle);
            printf("%6.1f %%  %ls\n", 100.0 * (1.0 - idle / (double)elapsed), now.name);
        } else {
            printf("     - %%  %ls\n", now.name); /* it was not there before */
        }
    }
    printf("\n");
    if (fflush(stdout) != 0)
        exit(EXIT_FAILURE); /* nobody reads any more */
}

static void pause_for(double seconds)
{
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

int main(int argc, char **argv)
{
    char *end;
    double interval = 1;
    unsigned long count = 0; /* for ever */
    int right = argc <= 3;

    if (right && argc > 1) {
        interval = strtod(argv[1], &end);
        right = end != argv[1] && *end == '\0' && interval > 0 && interval < 1e9;
    }
    if (right && argc > 2) {
        count = strtoul(argv[2], &end, 10);
        right = argv[2][0] >= '0' && argv[2][0] <= '9' && *end == '\0' && count > 0;
    }
    if (!right) {
        fprintf(stderr, "usage: processor_time [INTERVAL [COUNT]]\n");
        return 2;
    }

    /* %ls turns wide text into the locale's encoding. The C locale knows nothing beyond ASCII. */
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");

    HANDLE query = open_query();
    struct block before = { NULL, 0, 0 };
    struct block after = { NULL, 0, 0 };
    collect(query, &before);
    for (unsigned long i = 0; count == 0 || i < count; i++) {
        pause_for(interval);
        collect(query, &after);
        print_busy(&before, &after);

        struct block swap = before;
        before = after;
        after = swap;
    }
    free(before.bytes);
    free(after.bytes);

    ULONG status = PerfCloseQueryHandle(query);
    if (status != ERROR_SUCCESS)
        fail("close", status);
    return EXIT_SUCCESS;
}
