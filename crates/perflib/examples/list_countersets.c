/* Lists the countersets of this machine: GUID, how many instances each has now, English name.
 *
 *     cc list_countersets.c -o list_countersets $(pkg-config --cflags --libs perflib)
 *     ./list_countersets
 *
 * A counterset is a kind of thing with its counters, such as "Processor Information"; an instance is one such thing,
 * such as the first processor. Countersets are told apart by their GUIDs, which never change.
 */
#include <perflib.h>

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(WCHAR) == sizeof(wchar_t), "names are printed as wchar_t here: leave PERFLIB_WCHAR_SIZE alone");

/* All functions that fill a buffer answer a short one with ERROR_NOT_ENOUGH_MEMORY and the size that would do. That may
 * have grown when they are asked again, so they are asked in a loop. This one counts GUIDs, the others bytes.
 */
static ULONG get_countersets(GUID **guids, DWORD *count)
{
    DWORD capacity = 0;
    *guids = NULL;
    for (;;) {
        ULONG status = PerfEnumerateCounterSet(NULL, *guids, capacity, count);
        if (status != ERROR_NOT_ENOUGH_MEMORY)
            return status;
        free(*guids);
        capacity = *count;
        *guids = malloc(capacity * sizeof **guids);
        if (*guids == NULL)
            return ERROR_OUTOFMEMORY;
    }
}

/* A text comes with its terminator, in the units of WCHAR: here those of wchar_t. */
static ULONG get_english_name(const GUID *counterset, WCHAR **name)
{
    DWORD capacity = 0;
    DWORD actual = 0;
    *name = NULL;
    for (;;) {
        ULONG status = PerfQueryCounterSetRegistrationInfo(NULL, counterset, PERF_REG_COUNTERSET_ENGLISH_NAME, 0,
            (LPBYTE)*name, capacity, &actual);
        if (status != ERROR_NOT_ENOUGH_MEMORY)
            return status;
        free(*name);
        capacity = actual;
        *name = malloc(capacity);
        if (*name == NULL)
            return ERROR_OUTOFMEMORY;
    }
}

/* Instances are blocks, one behind the other: a PERF_INSTANCE_HEADER, then the name, both together Size bytes. */
static ULONG count_blocks(const unsigned char *at, size_t left, unsigned *count)
{
    while (left > 0) {
        PERF_INSTANCE_HEADER header;
        if (left < sizeof header)
            return ERROR_INVALID_DATA;
        memcpy(&header, at, sizeof header);
        if (header.Size < sizeof header || header.Size > left)
            return ERROR_INVALID_DATA;
        at += header.Size;
        left -= header.Size;
        *count += 1;
    }
    return ERROR_SUCCESS;
}

static ULONG count_instances(const GUID *counterset, unsigned *count)
{
    PERF_INSTANCE_HEADER *blocks = NULL;
    DWORD capacity = 0;
    DWORD actual = 0;
    ULONG status;
    *count = 0;
    for (;;) {
        status = PerfEnumerateCounterSetInstances(NULL, counterset, blocks, capacity, &actual);
        if (status != ERROR_NOT_ENOUGH_MEMORY)
            break;
        free(blocks);
        capacity = actual;
        blocks = malloc(capacity);
        if (blocks == NULL)
            return ERROR_OUTOFMEMORY;
    }
    if (status == ERROR_SUCCESS)
        status = count_blocks((const unsigned char *)blocks, actual, count);
    else if (status == ERROR_WMI_INSTANCE_NOT_FOUND)
        status = ERROR_SUCCESS; /* it has none now: no failure */
    free(blocks);
    return status;
}

static void print_guid(const GUID *guid)
{
    printf("{%08" PRIx32 "-%04x-%04x-", guid->Data1, guid->Data2, guid->Data3);
    for (int i = 0; i < 8; i++)
        printf(i == 2 ? "-%02x" : "%02x", guid->Data4[i]);
    printf("}");
}

int main(void)
{
    GUID *guids;
    DWORD guid_count;
    int failures = 0;

    /* %ls turns wide text into the locale's encoding. The C locale knows nothing beyond ASCII. */
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");

    ULONG status = get_countersets(&guids, &guid_count);
    if (status != ERROR_SUCCESS) {
        fprintf(stderr, "list_countersets: countersets: error %" PRIu32 "\n", status);
        free(guids);
        return EXIT_FAILURE;
    }

    for (DWORD i = 0; i < guid_count; i++) {
        WCHAR *name;
        unsigned instances = 0;
        status = get_english_name(&guids[i], &name);
        if (status == ERROR_SUCCESS)
            status = count_instances(&guids[i], &instances);

        print_guid(&guids[i]);
        if (status == ERROR_SUCCESS)
            printf(" %4u  %ls\n", instances, name);
        else {
            printf("    -  error %" PRIu32 "\n", status);
            failures++;
        }
        free(name);
    }
    free(guids);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
