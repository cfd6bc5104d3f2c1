/* Performance data through the registry's functions, and the clocks: what consumers of the V1 format call.
 *
 * Written as source for Windows is: it takes windows.h of include/windows, and with it what that needs at linking. So
 * WCHAR is wchar_t, of 4 bytes or with -fshort-wchar of 2. Plain C11, and C++ as well.
 *
 *     cc suite_v1.c -o suite_v1 -pthread $(pkg-config --cflags --libs perflib-windows)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <windows.h>
#include <winperf.h>

#include <pthread.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define T(text) L##text
#define UNIT ((DWORD)sizeof(WCHAR))
#define ALIGN8(size) (((size) + 7) & ~(DWORD)7)

enum { ROOM = 4 << 20, MARK = 0xA5, LAST_INDEX = 1847 };

/* ---- Calls by either name ---- */

/* A value name, and how it is given. */
struct name {
    const char *narrow;
    const WCHAR *wide;
};

enum form { NARROW, WIDE, FORMS };

#define NAME(text) { text, T("") text }

static LSTATUS query(enum form form, HKEY key, const struct name *name, LPDWORD type, void *data, LPDWORD size)
{
    if (form == NARROW)
        return RegQueryValueExA(key, name->narrow, NULL, type, (LPBYTE)data, size);
    return RegQueryValueExW(key, name->wide, NULL, type, (LPBYTE)data, size);
}

static const char *in_row(const char *key, enum form form, const struct name *name)
{
    const char *text = name->narrow == NULL ? "NULL" : name->narrow;
    return row_name("%s, \"%s\"%s", key, text, form == NARROW ? "" : ", wide");
}

static const struct {
    const char *row;
    HKEY key;
} KEYS[] = {
    { "HKEY_PERFORMANCE_DATA", HKEY_PERFORMANCE_DATA },
    { "HKEY_PERFORMANCE_TEXT", HKEY_PERFORMANCE_TEXT },
    { "HKEY_PERFORMANCE_NLSTEXT", HKEY_PERFORMANCE_NLSTEXT },
};

/* ---- Clocks ---- */

static LONGLONG ticks_now(void)
{
    LARGE_INTEGER ticks;
    TRUE_IN("QueryPerformanceCounter", QueryPerformanceCounter(&ticks) != 0);
    return ticks.QuadPart;
}

static LONGLONG ticks_a_second(void)
{
    LARGE_INTEGER frequency;
    TRUE_IN("QueryPerformanceFrequency", QueryPerformanceFrequency(&frequency) != 0);
    return frequency.QuadPart;
}

static ULONGLONG wall_now(void)
{
    FILETIME time;
    GetSystemTimeAsFileTime(&time);
    return (ULONGLONG)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static ULONGLONG wall_of_system(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (ULONGLONG)now.tv_sec * 10000000 + (ULONGLONG)now.tv_nsec / 100 + 116444736000000000ull;
}

static void test_clocks(void)
{
    LONGLONG last = 0, frequency = ticks_a_second(), start, passed;
    ULONGLONG last_wall = 0, wall, wanted;
    int i;
    EQUAL("frequency", "ticks a second", 1000000000, frequency);
    for (i = 0; i < 1000; i++) {
        LONGLONG now = ticks_now();
        TRUE_IN("ticks do not go back", now >= last && now > 0);
        last = now;
        wall = wall_now();
        TRUE_IN("the wall clock does not go back", wall >= last_wall);
        last_wall = wall;
    }
    start = ticks_now();
    wall = wall_now();
    usleep(20000);
    passed = ticks_now() - start;
    TRUE_IN("20 ms take 20 ms", passed >= frequency / 50 && passed < frequency * 60);
    wanted = (ULONGLONG)passed / 100;
    wall = wall_now() - wall;
    TRUE_IN("both clocks go alike", wall + 100000 > wanted && wall < wanted + 100000 + 10000000);
    wanted = wall_of_system();
    wall = wall_now();
    TRUE_IN("it is now", wall + 10000000 > wanted && wall < wanted + 10000000);
    EQUAL("ticks, frequency", "again", frequency, ticks_a_second());
}

/* 100 ns since 1601 as a date, by the C library. */
static SYSTEMTIME date_of(ULONGLONG time)
{
    SYSTEMTIME date;
    time_t seconds = (time_t)(time / 10000000) - 11644473600;
    struct tm broken;
    memset(&date, 0, sizeof date);
    gmtime_r(&seconds, &broken);
    date.wYear = (WORD)(broken.tm_year + 1900);
    date.wMonth = (WORD)(broken.tm_mon + 1);
    date.wDayOfWeek = (WORD)broken.tm_wday;
    date.wDay = (WORD)broken.tm_mday;
    date.wHour = (WORD)broken.tm_hour;
    date.wMinute = (WORD)broken.tm_min;
    date.wSecond = (WORD)broken.tm_sec;
    date.wMilliseconds = (WORD)(time / 10000 % 1000);
    return date;
}

/* ---- Tables of names ---- */

enum { MOST_TITLES = 4096 };

/* What a table says, by index, as plain text. */
struct titles {
    DWORD count;
    DWORD index[MOST_TITLES];
    char text[MOST_TITLES][128];
};

static const char *title(const struct titles *titles, DWORD index)
{
    DWORD i;
    for (i = 0; i < titles->count; i++)
        if (titles->index[i] == index)
            return titles->text[i];
    return NULL;
}

/* A unit of a table: narrow tables have bytes. */
static DWORD unit_at(enum form form, const unsigned char *bytes, DWORD at)
{
    WCHAR unit;
    if (form == NARROW)
        return bytes[at];
    memcpy(&unit, bytes + at, sizeof unit);
    return (DWORD)unit;
}

/* Takes a table apart: pairs of an index and a text, and one NUL more at the end. */
static void read_table(const char *row, enum form form, const unsigned char *bytes, DWORD size, struct titles *titles)
{
    DWORD unit = form == NARROW ? 1 : UNIT, at = 0, last = 0;
    titles->count = 0;
    EQUAL(row, "remainder", 0, size % unit);
    REQUIRE(row, size >= 2 * unit);
    EQUAL(row, "last unit", 0, unit_at(form, bytes, size - unit));
    EQUAL(row, "last but one", 0, unit_at(form, bytes, size - 2 * unit));
    while (at < size - unit) {
        DWORD index = 0, digits = 0, len = 0, letter;
        REQUIRE(row, titles->count < MOST_TITLES);
        while ((letter = unit_at(form, bytes, at)) != 0) {
            REQUIRE(row, letter >= '0' && letter <= '9' && digits < 9);
            index = index * 10 + letter - '0';
            digits++;
            at += unit;
        }
        at += unit;
        TRUE_IN(row, digits > 0 && index > last);
        last = index;
        REQUIRE(row, at < size - unit);
        while ((letter = unit_at(form, bytes, at)) != 0) {
            if (len + 1 < sizeof titles->text[0])
                titles->text[titles->count][len++] = letter < 127 ? (char)letter : '?';
            at += unit;
            REQUIRE(row, at < size - unit);
        }
        at += unit;
        titles->text[titles->count][len] = 0;
        titles->index[titles->count++] = index;
    }
    EQUAL(row, "end", size - unit, at);
}

static unsigned char *memory;

static void check_table(const char *key_row, HKEY key, enum form form, const struct name *name, int is_help)
{
    static struct titles titles;
    const char *row = in_row(key_row, form, name);
    DWORD needed = 0, size, type = 0, i;
    EQUAL(row, "size", ERROR_SUCCESS, query(form, key, name, &type, NULL, &needed));
    EQUAL(row, "type", REG_MULTI_SZ, type);
    REQUIRE(row, needed > 2 && needed < ROOM);
    size = 77;
    EQUAL(row, "size, if a size is given", ERROR_SUCCESS, query(form, key, name, NULL, NULL, &size));
    EQUAL(row, "size, if a size is given", needed, size);

    memset(memory, MARK, needed + 64);
    size = needed - 1;
    EQUAL(row, "1 too small", ERROR_MORE_DATA, query(form, key, name, &type, memory, &size));
    EQUAL(row, "size of 1 too small", needed, size);
    FILLED(row, "buffer of 1 too small", MARK, memory, needed + 64);
    size = 10;
    EQUAL(row, "10 bytes", ERROR_MORE_DATA, query(form, key, name, &type, memory, &size));
    EQUAL(row, "size of 10 bytes", needed, size);
    size = 0;
    EQUAL(row, "buffer of size 0", ERROR_MORE_DATA, query(form, key, name, &type, memory, &size));
    EQUAL(row, "size of size 0", needed, size);

    type = 0;
    size = needed;
    EQUAL(row, "just large enough", ERROR_SUCCESS, query(form, key, name, &type, memory, &size));
    EQUAL(row, "type", REG_MULTI_SZ, type);
    EQUAL(row, "size", needed, size);
    FILLED(row, "behind the table", MARK, memory + needed, 64);
    size = ROOM;
    EQUAL(row, "larger", ERROR_SUCCESS, query(form, key, name, &type, memory, &size));
    EQUAL(row, "size of larger", needed, size);

    read_table(row, form, memory, needed, &titles);
    REQUIRE(row, titles.count > 10);
    for (i = 0; i < titles.count; i++) {
        TRUE_IN(row, titles.index[i] != 0);
        if (is_help) {
            EQUAL(row, "index of a help is odd", 1, titles.index[i] % 2);
        } else {
            TRUE_IN(row, titles.text[i][0] != 0);
            EQUAL(row, "index of a name is even", i == 0, titles.index[i] % 2);
        }
    }
    if (is_help) {
        TRUE_IN(row, title(&titles, LAST_INDEX) != NULL && strcmp(title(&titles, LAST_INDEX), "End Marker") == 0);
        TRUE_IN(row, title(&titles, 3) != NULL && title(&titles, 3)[0] != 0);
    } else {
        static const struct {
            DWORD index;
            const char *text;
        } known[] = {
            { 1, "1847" }, { LAST_INDEX - 1, "End Marker" }, { 2, "System" }, { 4, "Memory" }, { 238, "Processor" },
            { 6, "% Processor Time" }, { 674, "System Up Time" }, { 146, "Context Switches/sec" },
        };
        EQUAL(row, "first index", 1, titles.index[0]);
        for (i = 0; i < sizeof known / sizeof known[0]; i++) {
            const char *text = title(&titles, known[i].index);
            TRUE_IN(row_name("%s: %s", row, known[i].text), text != NULL && strcmp(text, known[i].text) == 0);
        }
    }
}

static void test_tables(void)
{
    static const struct {
        struct name name;
        int is_help;
    } names[] = {
        { NAME("Counter"), 0 },
        { NAME("counter"), 0 },
        { NAME("COUNTER"), 0 },
        { NAME("Counter 009"), 0 },
        { NAME("cOUNTER 009"), 0 },
        { NAME("Counter 9"), 0 },
        { NAME("Counter 409"), 0 },
        { NAME("Counter 0409"), 0 },
        { NAME("Counter 007"), 0 },
        { NAME("Counter xyz"), 0 },
        { NAME("Counterwise"), 0 },
        { NAME("Help"), 1 },
        { NAME("help"), 1 },
        { NAME("HELP 009"), 1 },
        { NAME("Help 007"), 1 },
        { NAME("Helpless"), 1 },
        { NAME("Explain 009"), 1 },
        { NAME("explain"), 1 },
    };
    size_t key, i;
    int form;
    for (key = 0; key < sizeof KEYS / sizeof KEYS[0]; key++)
        for (i = 0; i < sizeof names / sizeof names[0]; i++)
            for (form = 0; !IS_LEFT_OUT(key, i) && form < FORMS; form++)
                check_table(KEYS[key].row, KEYS[key].key, (enum form)form, &names[i].name, names[i].is_help);
}

/* ---- Blocks ---- */

static struct titles all_names, all_helps;

/* What a block is expected to be. */
enum expected { VALUES, METADATA };

static int is_base(DWORD type)
{
    return (type & PERF_TYPE_ZERO) == PERF_TYPE_COUNTER && (type & 0x00070000) == PERF_COUNTER_BASE;
}

/* Returns the length of a counter block that all values of the definitions are in, or 0. */
static DWORD check_counters(const char *row, const unsigned char *at, DWORD left,
    const PERF_COUNTER_DEFINITION *counters, DWORD count)
{
    PERF_COUNTER_BLOCK block;
    DWORD i;
    if (!TRUE_IN(row, left >= sizeof block))
        return 0;
    memcpy(&block, at, sizeof block);
    if (!TRUE_IN(row, block.ByteLength >= sizeof block && block.ByteLength <= left))
        return 0;
    EQUAL(row, "PERF_COUNTER_BLOCK.ByteLength, remainder", 0, block.ByteLength % 8);
    for (i = 0; i < count; i++)
        TRUE_IN(row, counters[i].CounterOffset <= block.ByteLength
            && counters[i].CounterSize <= block.ByteLength - counters[i].CounterOffset);
    return block.ByteLength;
}

/* Returns the length of an object that is as it must be, or 0. */
static DWORD check_object(const char *row, const unsigned char *at, DWORD left, enum expected expected, DWORD *index)
{
    enum { MOST = 256 };
    static PERF_COUNTER_DEFINITION counters[MOST];
    PERF_OBJECT_TYPE object;
    DWORD done, i, block_len = 0;
    int has_object_timer = 0;
    LONG instance;
    if (!TRUE_IN(row, left >= sizeof object))
        return 0;
    memcpy(&object, at, sizeof object);
    *index = object.ObjectNameTitleIndex;
    EQUAL(row, "PERF_OBJECT_TYPE.HeaderLength", 64, object.HeaderLength);
    EQUAL(row, "DefinitionLength", 64 + 40 * object.NumCounters, object.DefinitionLength);
    EQUAL(row, "TotalByteLength, remainder", 0, object.TotalByteLength % 8);
    if (!TRUE_IN(row, object.NumCounters > 0 && object.NumCounters <= MOST)
        || !TRUE_IN(row, object.DefinitionLength == 64 + 40 * object.NumCounters)
        || !TRUE_IN(row, object.TotalByteLength >= object.DefinitionLength && object.TotalByteLength <= left))
        return 0;
    EQUAL(row, "ObjectNameTitle", 0, object.ObjectNameTitle);
    EQUAL(row, "ObjectHelpTitle", 0, object.ObjectHelpTitle);
    TRUE_IN(row, title(&all_names, object.ObjectNameTitleIndex) != NULL);
    TRUE_IN(row, title(&all_helps, object.ObjectHelpTitleIndex) != NULL);
    TRUE_IN(row, object.DetailLevel >= PERF_DETAIL_NOVICE && object.DetailLevel <= PERF_DETAIL_WIZARD);
    TRUE_IN(row, object.DefaultCounter >= -1 && object.DefaultCounter < (LONG)object.NumCounters);
    EQUAL(row, "CodePage", 0, object.CodePage);

    memcpy(counters, at + object.HeaderLength, 40 * object.NumCounters);
    for (i = 0; i < object.NumCounters; i++) {
        const PERF_COUNTER_DEFINITION *counter = &counters[i];
        EQUAL(row, "PERF_COUNTER_DEFINITION.ByteLength", 40, counter->ByteLength);
        EQUAL(row, "CounterNameTitle", 0, counter->CounterNameTitle);
        EQUAL(row, "CounterHelpTitle", 0, counter->CounterHelpTitle);
        TRUE_IN(row, title(&all_names, counter->CounterNameTitleIndex) != NULL);
        TRUE_IN(row, title(&all_helps, counter->CounterHelpTitleIndex) != NULL);
        TRUE_IN(row, counter->DefaultScale >= -7 && counter->DefaultScale <= 7);
        TRUE_IN(row, counter->CounterSize == 4 || counter->CounterSize == 8);
        if (counter->CounterType == PERF_AVERAGE_TIMER)
            EQUAL(row, "CounterSize of PERF_AVERAGE_TIMER", 8, counter->CounterSize);
        else
            EQUAL(row, "CounterSize", (counter->CounterType & PERF_SIZE_LARGE) != 0 ? 8 : 4, counter->CounterSize);
        TRUE_IN(row, counter->CounterOffset >= 4);
        EQUAL(row, "CounterOffset, remainder", 0, counter->CounterOffset % counter->CounterSize);
        has_object_timer |= (counter->CounterType & PERF_OBJECT_TIMER) != 0;
        if (is_base(counter->CounterType)) {
            if (!TRUE_IN(row, i > 0))
                continue;
            EQUAL(row, "name of a base", counters[i - 1].CounterNameTitleIndex, counter->CounterNameTitleIndex);
            EQUAL(row, "place of a base", counters[i - 1].CounterOffset + 8, counter->CounterOffset);
        }
    }
    if (has_object_timer)
        EQUAL(row, "PerfFreq of the object", 10000000, object.PerfFreq.QuadPart);

    done = object.DefinitionLength;
    if (expected == METADATA) {
        TRUE_IN(row, object.NumInstances == PERF_METADATA_MULTIPLE_INSTANCES
            || object.NumInstances == PERF_METADATA_NO_INSTANCES);
    } else if (object.NumInstances == PERF_NO_INSTANCES) {
        done += check_counters(row, at + done, object.TotalByteLength - done, counters, object.NumCounters);
    } else {
        TRUE_IN(row, object.NumInstances >= 0);
    }
    for (instance = 0; instance < object.NumInstances; instance++) {
        PERF_INSTANCE_DEFINITION definition;
        DWORD block, units;
        WCHAR unit = 1;
        if (!TRUE_IN(row, object.TotalByteLength - done >= sizeof definition))
            return 0;
        memcpy(&definition, at + done, sizeof definition);
        EQUAL(row, "NameOffset", 24, definition.NameOffset);
        EQUAL(row, "NameLength, remainder", 0, definition.NameLength % UNIT);
        EQUAL(row, "PERF_INSTANCE_DEFINITION.ByteLength", ALIGN8(24 + definition.NameLength), definition.ByteLength);
        if (!TRUE_IN(row, definition.ByteLength <= object.TotalByteLength - done)
            || !TRUE_IN(row, definition.NameLength >= UNIT && definition.NameLength <= definition.ByteLength - 24))
            return 0;
        for (units = 0; units < definition.NameLength / UNIT; units++) {
            memcpy(&unit, at + done + 24 + units * UNIT, UNIT);
            if (unit == 0)
                break;
        }
        EQUAL(row, "the NUL is the last unit of the name", definition.NameLength / UNIT - 1, units);
        FILLED(row, "padding of a name", 0, at + done + 24 + definition.NameLength,
            definition.ByteLength - 24 - definition.NameLength);
        EQUAL(row, "ParentObjectTitleIndex", 0, definition.ParentObjectTitleIndex);
        done += definition.ByteLength;
        block = check_counters(row, at + done, object.TotalByteLength - done, counters, object.NumCounters);
        if (!TRUE_IN(row, block != 0))
            return 0;
        if (instance != 0)
            EQUAL(row, "all counter blocks of an object are alike", block_len, block);
        block_len = block;
        done += block;
    }
    EQUAL(row, "TotalByteLength", object.TotalByteLength, done);
    return object.TotalByteLength;
}

/* Returns how many objects a block has, and their indexes, if it is as it must be. */
static DWORD check_block(const char *row, const unsigned char *bytes, DWORD size, enum expected expected,
    DWORD indexes[64])
{
    static const unsigned char signature[8] = { 'P', 0, 'E', 0, 'R', 0, 'F', 0 };
    PERF_DATA_BLOCK block;
    SYSTEMTIME date;
    WCHAR own[MAX_COMPUTERNAME_LENGTH + 1] = { 0 };
    DWORD own_length = MAX_COMPUTERNAME_LENGTH + 1;
    DWORD done, i;
    if (!TRUE_IN(row, size >= sizeof block))
        return 0;
    memcpy(&block, bytes, sizeof block);
    BYTES(row, "Signature", signature, block.Signature, 8);
    EQUAL(row, "LittleEndian", 1, block.LittleEndian);
    EQUAL(row, "Version", PERF_DATA_VERSION, block.Version);
    EQUAL(row, "Revision", PERF_DATA_REVISION, block.Revision);
    EQUAL(row, "TotalByteLength", size, block.TotalByteLength);
    EQUAL(row, "SystemNameOffset", 88, block.SystemNameOffset);
    EQUAL(row, "HeaderLength", 88 + ALIGN8(block.SystemNameLength), block.HeaderLength);
    if (!TRUE_IN(row, block.HeaderLength <= size && block.SystemNameLength <= block.HeaderLength - 88))
        return 0;
    TRUE_IN(row, GetComputerNameW(own, &own_length));
    BYTES(row, "system name", own, bytes + 88, (own_length + 1) * UNIT);
    EQUAL(row, "SystemNameLength", (own_length + 1) * UNIT, block.SystemNameLength);
    FILLED(row, "padding of the system's name", 0, bytes + 88 + block.SystemNameLength,
        block.HeaderLength - 88 - block.SystemNameLength);
    EQUAL(row, "PerfFreq", ticks_a_second(), block.PerfFreq.QuadPart);
    date = date_of((ULONGLONG)block.PerfTime100nSec.QuadPart);
    BYTES(row, "SystemTime", &date, &block.SystemTime, sizeof date);
    done = block.HeaderLength;
    for (i = 0; i < block.NumObjectTypes && i < 64; i++) {
        DWORD object = check_object(row, bytes + done, size - done, expected, &indexes[i]);
        if (!TRUE_IN(row, object != 0))
            return 0;
        done += object;
    }
    EQUAL(row, "TotalByteLength after the last object", size, done);
    return block.NumObjectTypes;
}

static int has(const DWORD indexes[64], DWORD count, DWORD wanted)
{
    DWORD i;
    for (i = 0; i < count && i < 64; i++)
        if (indexes[i] == wanted)
            return 1;
    return 0;
}

static void test_reads(void)
{
    static const struct {
        struct name name;
        int objects; /* -1: whatever they are; -2: many */
    } names[] = {
        { { NULL, NULL }, -2 },
        { NAME(""), -2 },
        { NAME("Global"), -2 },
        { NAME("global"), -2 },
        { NAME("GLOBAL"), -2 },
        { NAME("OLD_Global"), -1 },
        { NAME("Costly"), -1 },
        { NAME("Foreign"), -1 },
        { NAME("2"), 1 },
        { NAME("238"), 1 },
        { NAME("2 238"), 2 },
        { NAME("238 4 2"), 3 },
        { NAME("2 2 2"), 1 },
        { NAME("2380"), 0 },
        { NAME("23"), 0 },
        { NAME("99999"), 0 },
        { NAME("4294967298"), 0 },
        { NAME("2 99999"), 1 },
        { NAME("invalid counter name"), -1 },
        { NAME("System"), -1 },
    };
    size_t key, i;
    int form;
    for (key = 0; key < sizeof KEYS / sizeof KEYS[0]; key++)
        for (i = 0; i < sizeof names / sizeof names[0]; i++)
            for (form = 0; !IS_LEFT_OUT(key, i) && form < FORMS; form++) {
                HKEY handle = KEYS[key].key;
                const struct name *name = &names[i].name;
                const char *row = in_row(KEYS[key].row, (enum form)form, name);
                PERF_DATA_BLOCK block;
                DWORD size = 0, type = 77, indexes[64], count;
                LONGLONG before, after;
                ULONGLONG wall_before, wall_after;
                EQUAL(row, "no buffer", ERROR_MORE_DATA, query((enum form)form, handle, name, &type, NULL, &size));
                EQUAL(row, "no buffer: size", 0, size);
                size = 10;
                memset(memory, MARK, 128);
                EQUAL(row, "10 bytes", ERROR_MORE_DATA, query((enum form)form, handle, name, &type, memory, &size));
                EQUAL(row, "10 bytes: size", 10, size);
                FILLED(row, "10 bytes: buffer", MARK, memory, 128);
                size = 1 << 20;
                EQUAL(row, "no buffer of 1 MiB", ERROR_MORE_DATA,
                    query((enum form)form, handle, name, NULL, NULL, &size));
                size = 0;
                EQUAL(row, "size 0", ERROR_MORE_DATA, query((enum form)form, handle, name, &type, memory, &size));
                size = ROOM;
                type = 77;
                before = ticks_now();
                wall_before = wall_now();
                EQUAL(row, "code", ERROR_SUCCESS, query((enum form)form, handle, name, &type, memory, &size));
                wall_after = wall_now();
                after = ticks_now();
                EQUAL(row, "type", REG_BINARY, type);
                count = check_block(row, memory, size, VALUES, indexes);
                if (names[i].objects >= 0)
                    EQUAL(row, "objects", names[i].objects, count);
                memcpy(&block, memory, sizeof block);
                TRUE_IN(row, before <= block.PerfTime.QuadPart && block.PerfTime.QuadPart <= after);
                TRUE_IN(row, wall_before <= (ULONGLONG)block.PerfTime100nSec.QuadPart
                    && (ULONGLONG)block.PerfTime100nSec.QuadPart <= wall_after);
                if (names[i].objects == -2) {
                    EQUAL(row, "DefaultObject", 238, block.DefaultObject);
                    TRUE_IN(row, has(indexes, count, 2) && has(indexes, count, 4) && has(indexes, count, 238));
                }
                if (names[i].objects == 1)
                    TRUE_IN(row, has(indexes, count, 2) || has(indexes, count, 238));
            }
}

static void test_metadata(void)
{
    static const struct name names[] = { NAME("MetadataGlobal"), NAME("metadataglobal"), NAME("MetadataCostly") };
    size_t i;
    int form;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        for (form = 0; form < FORMS; form++) {
            const char *row = in_row("HKEY_PERFORMANCE_DATA", (enum form)form, &names[i]);
            DWORD size = ROOM, type = 0, indexes[64], count;
            EQUAL(row, "code", ERROR_SUCCESS,
                query((enum form)form, HKEY_PERFORMANCE_DATA, &names[i], &type, memory, &size));
            EQUAL(row, "type", REG_BINARY, type);
            count = check_block(row, memory, size, METADATA, indexes);
            if (i < 2)
                TRUE_IN(row, has(indexes, count, 2) && has(indexes, count, 238));
        }
}

/* The loops that consumers have: what the size says after ERROR_MORE_DATA means nothing to them. */
static void test_growth(void)
{
    static const struct name global = NAME("Global"), counter = NAME("Counter 009");
    DWORD step, indexes[64];
    for (step = 0; step < 2; step++) {
        const char *row = step == 0 ? "twice as much" : "16 KiB more";
        DWORD room = step == 0 ? 64 : 16384, size = room, rounds = 0;
        unsigned char *bytes = (unsigned char *)malloc(room);
        LSTATUS code;
        while ((code = query(NARROW, HKEY_PERFORMANCE_DATA, &global, NULL, bytes, &size)) == ERROR_MORE_DATA) {
            free(bytes);
            room = step == 0 ? 2 * room : room + 16384;
            bytes = (unsigned char *)malloc(room);
            size = room;
            REQUIRE(row, bytes != NULL && ++rounds < 1000);
        }
        EQUAL(row, "code", ERROR_SUCCESS, code);
        TRUE_IN(row, check_block(row, bytes, size, VALUES, indexes) >= 3);
        free(bytes);
    }
    {
        /* The size is what ERROR_MORE_DATA left in it, and a little more. */
        const char *row = "a little more than it says";
        DWORD size = 1, type, rounds = 0;
        unsigned char *bytes = (unsigned char *)malloc(1);
        LSTATUS code;
        while ((code = query(WIDE, HKEY_PERFORMANCE_DATA, &counter, &type, bytes, &size)) == ERROR_MORE_DATA) {
            size += 1;
            bytes = (unsigned char *)realloc(bytes, size);
            REQUIRE(row, bytes != NULL && ++rounds < 1000);
        }
        EQUAL(row, "code", ERROR_SUCCESS, code);
        free(bytes);
    }
    {
        /* Blocks just large enough, and 1 byte less, where memory ends. */
        const char *row = "where memory ends";
        static const struct name system = NAME("2");
        DWORD size = ROOM, needed, page = (DWORD)sysconf(_SC_PAGESIZE), room = 64 * page;
        void *start = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned char *end = (unsigned char *)start + room;
        REQUIRE(row, start != MAP_FAILED && mprotect(end, page, PROT_NONE) == 0);
        EQUAL(row, "code", ERROR_SUCCESS, query(NARROW, HKEY_PERFORMANCE_DATA, &system, NULL, memory, &size));
        needed = size;
        REQUIRE(row, needed < room);
        EQUAL(row, "code", ERROR_SUCCESS, query(NARROW, HKEY_PERFORMANCE_DATA, &system, NULL, end - needed, &size));
        EQUAL(row, "size", needed, size);
        size = needed - 1;
        memset(start, MARK, room);
        EQUAL(row, "1 byte less", ERROR_MORE_DATA,
            query(NARROW, HKEY_PERFORMANCE_DATA, &system, NULL, end - size, &size));
        EQUAL(row, "size of 1 byte less", needed - 1, size);
        FILLED(row, "buffer of 1 byte less", MARK, start, room);
        munmap(start, room + page);
    }
}

static void test_odd_addresses(void)
{
    static const struct name names[] = { NAME("238"), NAME("Counter 009") };
    unsigned char odd_size[5], odd_type[5], odd_name[1 + 16 * sizeof(WCHAR)];
    size_t i;
    for (i = 0; i < 2; i++) {
        const char *row = row_name("%s at odd addresses", names[i].narrow);
        DWORD size = ROOM - 1, type = 0, indexes[64], len = (DWORD)strlen(names[i].narrow) + 1;
        memset(odd_type, MARK, sizeof odd_type);
        memcpy(odd_size + 1, &size, 4);
        memcpy(odd_name + 1, names[i].wide, len * UNIT);
        EQUAL(row, "code", ERROR_SUCCESS, RegQueryValueExW(HKEY_PERFORMANCE_DATA, (LPCWSTR)(void *)(odd_name + 1), NULL,
            (LPDWORD)(void *)(odd_type + 1), memory + 1, (LPDWORD)(void *)(odd_size + 1)));
        memcpy(&size, odd_size + 1, 4);
        memcpy(&type, odd_type + 1, 4);
        EQUAL(row, "type", i == 0 ? REG_BINARY : REG_MULTI_SZ, type);
        EQUAL(row, "the byte before the type", MARK, odd_type[0]);
        if (i == 0)
            EQUAL(row, "objects", 1, check_block(row, memory + 1, size, VALUES, indexes));
        else
            read_table(row, WIDE, memory + 1, size, &all_names);
    }
}

/* ---- Keys ---- */

static void test_keys(void)
{
    size_t i;
    for (i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        HKEY key = KEYS[i].key, opened = NULL;
        const char *row = KEYS[i].row;
        int is_data = i == 0;
        char name[16];
        WCHAR wide[16];
        LONG size = sizeof name;
        DWORD keys = 77, values = 77, len = 16, type = 0;
        BYTE value[4] = { 1, 2, 3, 4 };
        FILETIME written;
        EQUAL(row, "RegOpenKeyA of NULL", ERROR_INVALID_HANDLE, RegOpenKeyA(key, NULL, &opened));
        EQUAL(row, "RegOpenKeyA", ERROR_INVALID_HANDLE, RegOpenKeyA(key, "Global", &opened));
        EQUAL(row, "RegOpenKeyW of NULL", ERROR_INVALID_HANDLE, RegOpenKeyW(key, NULL, &opened));
        EQUAL(row, "RegOpenKeyW", ERROR_INVALID_HANDLE, RegOpenKeyW(key, T("Global"), &opened));
        EQUAL(row, "RegQueryValueA", ERROR_INVALID_HANDLE, RegQueryValueA(key, "Global", name, &size));
        EQUAL(row, "RegQueryValueW", ERROR_INVALID_HANDLE, RegQueryValueW(key, NULL, wide, &size));
        EQUAL(row, "RegSetValueA", ERROR_INVALID_HANDLE, RegSetValueA(key, NULL, REG_SZ, "x", 1));
        EQUAL(row, "RegSetValueW", ERROR_INVALID_HANDLE, RegSetValueW(key, T("Global"), REG_SZ, T("x"), UNIT));
        EQUAL(row, "RegQueryInfoKeyA", ERROR_SUCCESS, RegQueryInfoKeyA(key, NULL, NULL, NULL, &keys, NULL, NULL,
            &values, NULL, NULL, NULL, NULL));
        EQUAL(row, "keys", 0, keys);
        EQUAL(row, "values", 2, values);
        keys = values = 77;
        EQUAL(row, "RegQueryInfoKeyW", ERROR_SUCCESS, RegQueryInfoKeyW(key, NULL, NULL, NULL, &keys, &len, &len,
            &values, &len, &len, &len, &written));
        EQUAL(row, "keys", 0, keys);
        EQUAL(row, "values", 2, values);
        EQUAL(row, "RegQueryInfoKeyW of nothing", ERROR_SUCCESS,
            RegQueryInfoKeyW(key, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        len = 16;
        memset(name, MARK, sizeof name);
        EQUAL(row, "RegEnumValueA", ERROR_MORE_DATA, RegEnumValueA(key, 0, name, &len, NULL, &type, NULL, NULL));
        EQUAL(row, "RegEnumValueA: size of the name", 16, len);
        memset(wide, MARK, sizeof wide);
        EQUAL(row, "RegEnumValueW", ERROR_MORE_DATA, RegEnumValueW(key, 0, wide, &len, NULL, &type, NULL, NULL));
        EQUAL(row, "RegEnumValueW: size of the name", 16, len);
        EQUAL(row, "RegSetValueExA", is_data ? ERROR_INVALID_HANDLE : ERROR_BADKEY,
            RegSetValueExA(key, "Global", 0, REG_BINARY, value, sizeof value));
        EQUAL(row, "RegSetValueExW", is_data ? ERROR_INVALID_HANDLE : ERROR_BADKEY,
            RegSetValueExW(key, T("Global"), 0, REG_BINARY, value, sizeof value));
        EQUAL(row, "RegEnumKeyExA", is_data ? ERROR_INVALID_HANDLE : ERROR_NO_MORE_ITEMS,
            RegEnumKeyExA(key, 0, name, &len, NULL, NULL, NULL, NULL));
        EQUAL(row, "RegEnumKeyExW", is_data ? ERROR_INVALID_HANDLE : ERROR_NO_MORE_ITEMS,
            RegEnumKeyExW(key, 0, wide, &len, NULL, NULL, NULL, NULL));
        EQUAL(row, "RegCloseKey", ERROR_SUCCESS, RegCloseKey(key));
        EQUAL(row, "RegCloseKey again", ERROR_SUCCESS, RegCloseKey(key));
        EQUAL(row, "RegCloseKey once more", ERROR_SUCCESS, RegCloseKey(key));
        len = 0;
        EQUAL(row, "after closing", ERROR_SUCCESS, RegQueryValueExA(key, "Counter", NULL, NULL, NULL, &len));

        len = 64;
        EQUAL(row, "a buffer and no size", ERROR_INVALID_PARAMETER,
            RegQueryValueExA(key, "Global", NULL, NULL, memory, NULL));
        EQUAL(row, "a buffer and no size, wide", ERROR_INVALID_PARAMETER,
            RegQueryValueExW(key, T("Counter"), NULL, NULL, memory, NULL));
        EQUAL(row, "something reserved", ERROR_INVALID_PARAMETER,
            RegQueryValueExA(key, "Global", &len, NULL, memory, &len));
    }
}

#define PERFLIB_KEY "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Perflib"

static void test_other_keys(void)
{
    static const struct {
        struct name name;
        LSTATUS code;
        int is_text;
    } paths[] = {
        { NAME(PERFLIB_KEY "\\009"), ERROR_SUCCESS, 1 },
        { NAME("software\\microsoft\\windows nt\\currentversion\\perflib\\009"), ERROR_SUCCESS, 1 },
        { NAME("SOFTWARE\\MICROSOFT\\WINDOWS NT\\CURRENTVERSION\\PERFLIB\\CURRENTLANGUAGE"), ERROR_SUCCESS, 1 },
        { NAME(PERFLIB_KEY), ERROR_SUCCESS, 0 },
        { NAME(PERFLIB_KEY "\\no such key"), ERROR_FILE_NOT_FOUND, 0 },
        { NAME("no such key"), ERROR_FILE_NOT_FOUND, 0 },
    };
    static const struct name counter = NAME("Counter"), help = NAME("Help");
    static const uintptr_t wrong[] = { 0, 1, 0x80000003, 0x80000005, 0x80000004u ^ 0x100, (uintptr_t)-1 };
    DWORD last = 0, size, indexes[64];
    HKEY key, below;
    char own[256];
    size_t i;
    int form;
    for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (form = 0; form < FORMS; form++) {
            const char *row = in_row("HKEY_LOCAL_MACHINE", (enum form)form, &paths[i].name);
            key = NULL;
            EQUAL(row, "RegOpenKeyEx", paths[i].code, form == NARROW
                ? RegOpenKeyExA(HKEY_LOCAL_MACHINE, paths[i].name.narrow, 0, KEY_READ, &key)
                : RegOpenKeyExW(HKEY_LOCAL_MACHINE, paths[i].name.wide, 0, KEY_READ, &key));
            if (paths[i].code != ERROR_SUCCESS)
                continue;
            TRUE_IN(row, key != NULL);
            if (paths[i].is_text) {
                TRUE_IN(row, key == HKEY_PERFORMANCE_TEXT || key == HKEY_PERFORMANCE_NLSTEXT);
                check_table(row_name("%s", row), key, (enum form)form, &counter, 0);
                check_table(row_name("%s", row), key, (enum form)form, &help, 1);
            }
            EQUAL(row, "RegCloseKey", ERROR_SUCCESS, RegCloseKey(key));
        }

    EQUAL("Perflib", "RegOpenKeyEx", ERROR_SUCCESS, RegOpenKeyExA(HKEY_LOCAL_MACHINE, PERFLIB_KEY, 0, KEY_READ, &key));
    size = sizeof last;
    EQUAL("Perflib, Last Counter", "code", ERROR_SUCCESS,
        RegQueryValueExA(key, "Last Counter", NULL, NULL, (LPBYTE)&last, &size));
    EQUAL("Perflib, Last Counter", "size", 4, size);
    EQUAL("Perflib, Last Counter", "the highest index", all_names.index[all_names.count - 1], last);
    EQUAL("Perflib, Last Help", "code", ERROR_SUCCESS,
        RegQueryValueExW(key, T("last help"), NULL, NULL, (LPBYTE)&last, &size));
    EQUAL("Perflib, Last Help", "the highest index", all_helps.index[all_helps.count - 1], last);
    EQUAL("Perflib, no such value", "code", ERROR_FILE_NOT_FOUND,
        RegQueryValueExA(key, "no such value", NULL, NULL, (LPBYTE)&last, &size));
    EQUAL("Perflib\\009", "RegOpenKeyEx", ERROR_SUCCESS, RegOpenKeyExA(key, "009", 0, KEY_READ, &below));
    size = 0;
    EQUAL("Perflib\\009", "Counter", ERROR_SUCCESS, RegQueryValueExA(below, "Counter", NULL, NULL, NULL, &size));
    RegCloseKey(below);
    RegCloseKey(key);

    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *row = row_name("key %#llx", (unsigned long long)wrong[i]);
        size = 100;
        key = (HKEY)wrong[i];
        if (wrong[i] != 0x80000003) /* a key of Windows that is not here */
            EQUAL(row, "RegCloseKey", ERROR_INVALID_HANDLE, RegCloseKey(key));
        EQUAL(row, "RegQueryValueExA", ERROR_INVALID_HANDLE,
            RegQueryValueExA(key, "Global", NULL, NULL, memory, &size));
        EQUAL(row, "RegOpenKeyExA", ERROR_INVALID_HANDLE, RegOpenKeyExA(key, "x", 0, KEY_READ, &below));
    }

    key = NULL;
    EQUAL("RegConnectRegistryA", "this machine", ERROR_SUCCESS, RegConnectRegistryA(NULL, HKEY_PERFORMANCE_DATA, &key));
    size = ROOM;
    EQUAL("RegConnectRegistryA", "238", ERROR_SUCCESS, RegQueryValueExA(key, "238", NULL, NULL, memory, &size));
    EQUAL("RegConnectRegistryA", "objects", 1, check_block("RegConnectRegistryA", memory, size, VALUES, indexes));
    EQUAL("RegConnectRegistryA", "close", ERROR_SUCCESS, RegCloseKey(key));
    EQUAL("RegConnectRegistryW", "localhost", ERROR_SUCCESS,
        RegConnectRegistryW(T("\\\\localhost"), HKEY_PERFORMANCE_DATA, &key));
    memset(own, 0, sizeof own);
    memcpy(own, "\\\\", 2);
    gethostname(own + 2, sizeof own - 3);
    EQUAL("RegConnectRegistryA", "own name", ERROR_SUCCESS, RegConnectRegistryA(own, HKEY_PERFORMANCE_DATA, &key));
    EQUAL("RegConnectRegistryA", "unknown machine", ERROR_BAD_NETPATH,
        RegConnectRegistryA("\\\\no-such-machine", HKEY_PERFORMANCE_DATA, &key));
    EQUAL("RegConnectRegistryW", "unknown machine", ERROR_BAD_NETPATH,
        RegConnectRegistryW(T("\\\\no-such-machine"), HKEY_PERFORMANCE_DATA, &key));
}

/* ---- Threads and forks ---- */

static void *read_on(void *argument)
{
    enum { SMALL = 1 << 20 };
    unsigned char *bytes = (unsigned char *)malloc(SMALL);
    int round;
    (void)argument;
    REQUIRE("memory", bytes != NULL);
    for (round = 0; round < ROUNDS(20); round++) {
        DWORD size = SMALL, total;
        EQUAL("4 threads", "Global", ERROR_SUCCESS,
            RegQueryValueExW(HKEY_PERFORMANCE_DATA, T("Global"), NULL, NULL, bytes, &size));
        memcpy(&total, bytes + 20, 4);
        EQUAL("4 threads", "TotalByteLength", size, total);
        size = SMALL;
        EQUAL("4 threads", "Counter 009", ERROR_SUCCESS,
            RegQueryValueExA(HKEY_PERFORMANCE_DATA, "Counter 009", NULL, NULL, bytes, &size));
        RegCloseKey(HKEY_PERFORMANCE_DATA);
    }
    free(bytes);
    return NULL;
}

static void test_threads_and_forks(void)
{
    pthread_t threads[4];
    int i, status;
    for (i = 0; i < 4; i++)
        REQUIRE("threads", pthread_create(&threads[i], NULL, read_on, NULL) == 0);
    for (i = 0; !FORKS_AMONG_THREADS && i < 4; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < ROUNDS(10); i++) {
        pid_t child;
        fflush(NULL);
        child = fork();
        if (child == 0) {
            unsigned long failed = checks_failed;
            DWORD size = ROOM, indexes[64];
            alarm(300);
            EQUAL("child", "238", ERROR_SUCCESS,
                RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, NULL, memory, &size));
            check_block("child", memory, size, VALUES, indexes);
            _exit(checks_failed != failed);
        }
        TRUE_IN("fork", child > 0 && waitpid(child, &status, 0) == child);
        EQUAL("fork", "status of the child", 0, status);
    }
    for (i = 0; FORKS_AMONG_THREADS && i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void test_last_error(void)
{
    SetLastError(0x5EED);
    EQUAL("last error", "set", 0x5EED, GetLastError());
    RegQueryValueExA(HKEY_PERFORMANCE_DATA, "Global", NULL, NULL, NULL, NULL);
    RegOpenKeyA(HKEY_PERFORMANCE_DATA, NULL, NULL);
    EQUAL("last error", "the registry's functions return their codes", 0x5EED, GetLastError());
    SetLastError(0);
    EQUAL("last error", "set to 0", 0, GetLastError());
}

int main(void)
{
    static const struct name counter = NAME("Counter 009"), help = NAME("Help 009");
    DWORD size = ROOM;
    memory = (unsigned char *)malloc(ROOM + 64);
    REQUIRE("memory", memory != NULL);
    test_clocks();
    EQUAL("names", "code", ERROR_SUCCESS, query(WIDE, HKEY_PERFORMANCE_DATA, &counter, NULL, memory, &size));
    read_table("names", WIDE, memory, size, &all_names);
    size = ROOM;
    EQUAL("helps", "code", ERROR_SUCCESS, query(WIDE, HKEY_PERFORMANCE_DATA, &help, NULL, memory, &size));
    read_table("helps", WIDE, memory, size, &all_helps);
    test_tables();
    test_reads();
    test_metadata();
    test_growth();
    test_odd_addresses();
    test_keys();
    test_other_keys();
    test_threads_and_forks();
    test_last_error();
    free(memory);
    return suite_end();
}
