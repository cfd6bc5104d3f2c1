/* Reads blocks of PerfLib V2 with every check that a consumer owes, and compares them with what is registered. */
#ifndef WALK_H
#define WALK_H

#include "query.h"

enum { MOST_COUNTERS = 128, MOST_INSTANCES = 8192, MOST_NAME = 64 };

struct instance {
    DWORD id;
    WCHAR name[MOST_NAME];
};

/* A counterset as it is registered, and the instances that it has now. */
struct set {
    const char *label;
    const GUID *guid;
    DWORD instance_type;
    DWORD counters;
    PERF_COUNTER_REG_INFO counter[MOST_COUNTERS];
    DWORD instances;
    struct instance *instance;
};

/* Asks for a block until it fits, as consumers do. Memory from malloc; *size is what was written. */
static inline unsigned char *answer(const struct question *q, DWORD *size)
{
    DWORD room = 0, result, rounds = 0;
    unsigned char *bytes = NULL;
    while ((result = ask(q, bytes, room, size)) == ERROR_NOT_ENOUGH_MEMORY) {
        REQUIRE(q->row, *size > room && ++rounds < 100);
        free(bytes);
        room = *size;
        bytes = (unsigned char *)malloc(room);
        REQUIRE(q->row, bytes != NULL);
    }
    REQUIRE(q->row, result == ERROR_SUCCESS && bytes != NULL);
    return bytes;
}

static inline unsigned char *registration(const GUID *set, DWORD code, DWORD language, DWORD *size)
{
    struct question q = { "registration", REGISTRATION, NULL, NULL, 0, 0 };
    q.set = set;
    q.code = code;
    q.language = language;
    return answer(&q, size);
}

static inline unsigned char *instances_of(const GUID *set, DWORD *size)
{
    struct question q = { "instances", INSTANCES, NULL, NULL, 0, 0 };
    q.set = set;
    return answer(&q, size);
}

static inline unsigned char *data_of(HANDLE query, DWORD *size)
{
    struct question q = { "data", QUERY_DATA, NULL, NULL, 0, 0 };
    q.query = query;
    return answer(&q, size);
}

/* An instance block: its size if all of it is as it must be, else 0. */
static inline DWORD check_instance(const char *row, const unsigned char *at, DWORD left, DWORD *id,
    WCHAR name[MOST_NAME])
{
    PERF_INSTANCE_HEADER header;
    DWORD units = 0;
    if (!TRUE_IN(row, left >= 8))
        return 0;
    memcpy(&header, at, sizeof header);
    if (!TRUE_IN(row, header.Size >= 8 + UNIT && header.Size <= left))
        return 0;
    while (8 + (units + 1) * UNIT <= header.Size && units < MOST_NAME) {
        memcpy(&name[units], at + 8 + units * UNIT, UNIT);
        if (name[units] == 0)
            break;
        units++;
    }
    if (!TRUE_IN(row, units < MOST_NAME && 8 + (units + 1) * UNIT <= header.Size))
        return 0;
    EQUAL(row, "PERF_INSTANCE_HEADER.Size", ALIGN8(8 + (units + 1) * UNIT), header.Size);
    FILLED(row, "padding of an instance name", 0, at + 8 + (units + 1) * UNIT, header.Size - 8 - (units + 1) * UNIT);
    *id = header.InstanceId;
    return header.Size;
}

static inline void learn_set(struct set *set, const char *label, const GUID *guid)
{
    DWORD size = 0, at = 0;
    PERF_COUNTERSET_REG_INFO info;
    unsigned char *bytes = registration(guid, PERF_REG_COUNTERSET_STRUCT, 0, &size);
    memcpy(&info, bytes, sizeof info);
    set->label = label;
    set->guid = guid;
    set->instance_type = info.InstanceType;
    set->counters = info.NumCounters;
    REQUIRE(label, info.NumCounters <= MOST_COUNTERS && size == 32 + 48 * info.NumCounters);
    memcpy(set->counter, bytes + 32, 48 * info.NumCounters);
    free(bytes);

    set->instance = (struct instance *)malloc(sizeof(struct instance) * MOST_INSTANCES);
    set->instances = 0;
    REQUIRE(label, set->instance != NULL);
    bytes = instances_of(guid, &size);
    while (at < size) {
        struct instance *instance = &set->instance[set->instances];
        DWORD block = check_instance(label, bytes + at, size - at, &instance->id, instance->name);
        REQUIRE(label, block != 0 && set->instances < MOST_INSTANCES);
        at += block;
        set->instances++;
    }
    free(bytes);
    TRUE_IN(label, set->instances >= 1);
}

static inline void forget_set(struct set *set)
{
    free(set->instance);
    set->instance = NULL;
}

/* The slow obvious matcher: * stands for any units, ? for one; the names here are ASCII. */
static inline int matches(const WCHAR *pattern, const WCHAR *name)
{
    WCHAR p = *pattern, n = *name;
    if (p == '*')
        return matches(pattern + 1, name) || (n != 0 && matches(pattern, name + 1));
    if (p == 0 || n == 0)
        return p == 0 && n == 0;
    if (p >= 'a' && p <= 'z')
        p = (WCHAR)(p - 'a' + 'A');
    if (n >= 'a' && n <= 'z')
        n = (WCHAR)(n - 'a' + 'A');
    return (p == '?' || p == n) && matches(pattern + 1, name + 1);
}

static inline int has_wildcard(const WCHAR *pattern)
{
    while (*pattern != 0 && *pattern != '*' && *pattern != '?')
        pattern++;
    return *pattern != 0;
}

/* An entry of a query. */
struct entry {
    const struct set *set;
    DWORD counter;
    DWORD id;
    const WCHAR *name; /* NULL: none */
};

static inline int is_single(const struct entry *entry)
{
    return (entry->set->instance_type & PERF_COUNTERSET_FLAG_MULTIPLE) == 0;
}

static inline int selects(const struct entry *entry, const struct instance *instance)
{
    if (entry->id != ANY && entry->id != instance->id)
        return 0;
    return is_single(entry) || matches(entry->name, instance->name);
}

/* Bytes of a value, by the size bits of its type. */
static inline DWORD value_size(DWORD type)
{
    return (type & PERF_SIZE_VARIABLE_LEN) == PERF_SIZE_LARGE ? 8 : 4;
}

static inline const PERF_COUNTER_REG_INFO *counter_of(const struct set *set, DWORD id)
{
    DWORD at;
    for (at = 0; at < set->counters; at++)
        if (set->counter[at].CounterId == id)
            return &set->counter[at];
    return NULL;
}

/* A PERF_COUNTER_DATA block: its size if all of it is as it must be, else 0. */
static inline DWORD check_value(const char *row, const unsigned char *at, DWORD left, const struct set *set,
    DWORD counter, int may_be_empty)
{
    PERF_COUNTER_DATA data;
    const PERF_COUNTER_REG_INFO *info = counter_of(set, counter);
    if (!TRUE_IN(row, left >= 16) || !TRUE_IN(row, info != NULL))
        return 0;
    memcpy(&data, at, sizeof data);
    EQUAL(row, "PERF_COUNTER_DATA.dwSize", 16, data.dwSize);
    if (!may_be_empty || data.dwDataSize != 0)
        EQUAL(row, "PERF_COUNTER_DATA.dwDataSize", value_size(info->Type), data.dwDataSize);
    if (data.dwSize != 16 || data.dwDataSize > 8)
        return 0;
    FILLED(row, "padding of a value", 0, at + 8 + data.dwDataSize, 8 - data.dwDataSize);
    return data.dwSize;
}

/* PERF_MULTI_COUNTERS with the counters that the entry asks for, in the order of registration. Returns its size. */
static inline DWORD check_ids(const char *row, const unsigned char *at, DWORD left, const struct set *set)
{
    PERF_MULTI_COUNTERS ids;
    DWORD i;
    if (!TRUE_IN(row, left >= 8))
        return 0;
    memcpy(&ids, at, sizeof ids);
    EQUAL(row, "PERF_MULTI_COUNTERS.dwCounters", set->counters, ids.dwCounters);
    EQUAL(row, "PERF_MULTI_COUNTERS.dwSize", ALIGN8(8 + 4 * set->counters), ids.dwSize);
    if (ids.dwCounters != set->counters || ids.dwSize != ALIGN8(8 + 4 * set->counters) || ids.dwSize > left)
        return 0;
    for (i = 0; i < ids.dwCounters; i++)
        EQUAL(row, "counter id", set->counter[i].CounterId, dword_at(at + 8 + 4 * i));
    FILLED(row, "padding of counter ids", 0, at + 8 + 4 * i, ids.dwSize - 8 - 4 * i);
    return ids.dwSize;
}

/* PERF_MULTI_INSTANCES with the instances that the entry selects, in the order of enumeration. Returns its size. */
static inline DWORD check_rows(const char *row, const unsigned char *at, DWORD left, const struct entry *entry)
{
    PERF_MULTI_INSTANCES rows;
    DWORD done = 8, next = 0, seen;
    if (!TRUE_IN(row, left >= 8))
        return 0;
    memcpy(&rows, at, sizeof rows);
    if (!TRUE_IN(row, rows.dwTotalSize >= 8 && rows.dwTotalSize <= left) || !TRUE_IN(row, rows.dwInstances != 0))
        return 0;
    for (seen = 0; seen < rows.dwInstances; seen++) {
        WCHAR name[MOST_NAME];
        DWORD id = 0, i, block = check_instance(row, at + done, rows.dwTotalSize - done, &id, name);
        DWORD columns = entry->counter == PERF_WILDCARD_COUNTER ? entry->set->counters : 1;
        if (block == 0)
            return 0;
        done += block;
        while (next < entry->set->instances && !selects(entry, &entry->set->instance[next]))
            next++;
        if (TRUE_IN(row, next < entry->set->instances)) {
            EQUAL(row, "instance id", entry->set->instance[next].id, id);
            TRUE_IN(row, same_text(entry->set->instance[next].name, name));
            next++;
        }
        for (i = 0; i < columns; i++) {
            DWORD counter = columns == 1 ? entry->counter : entry->set->counter[i].CounterId;
            DWORD value = check_value(row, at + done, rows.dwTotalSize - done, entry->set, counter, 1);
            if (value == 0)
                return 0;
            done += value;
        }
    }
    while (next < entry->set->instances && !selects(entry, &entry->set->instance[next]))
        next++;
    EQUAL(row, "instances that were looked at", entry->set->instances, next);
    EQUAL(row, "PERF_MULTI_INSTANCES.dwTotalSize", rows.dwTotalSize, done);
    return rows.dwTotalSize;
}

/* The type that an entry's result has, by what the entry asks. An entry that selects nothing has none. */
static inline DWORD wanted_type(const struct entry *entry)
{
    int is_multiple = !is_single(entry) && has_wildcard(entry->name);
    DWORD i;
    for (i = 0; i < entry->set->instances; i++)
        if (selects(entry, &entry->set->instance[i]))
            break;
    if (i == entry->set->instances)
        return PERF_ERROR_RETURN;
    if (entry->counter == PERF_WILDCARD_COUNTER)
        return is_multiple ? PERF_COUNTERSET : PERF_MULTIPLE_COUNTERS;
    return is_multiple ? PERF_MULTIPLE_INSTANCES : PERF_SINGLE_COUNTER;
}

/* One result, which is an entry's. Returns its size, 0 if it cannot be gone on from. */
static inline DWORD check_result(const char *row, const unsigned char *at, DWORD left, const struct entry *entry)
{
    DWORD status, type, size, reserved, wanted = wanted_type(entry), done = 16, i;
    if (!TRUE_IN(row, left >= 16))
        return 0;
    status = dword_at(at);
    type = dword_at(at + 4);
    size = dword_at(at + 8);
    reserved = dword_at(at + 12);
    EQUAL(row, "PERF_COUNTER_HEADER.Reserved", 0, reserved);
    if (!TRUE_IN(row, size >= 16 && size <= left))
        return 0;
    /* A counter that this machine cannot give is an error where it is asked alone. */
    if (wanted == PERF_SINGLE_COUNTER && type == PERF_ERROR_RETURN)
        wanted = PERF_ERROR_RETURN;
    if (!EQUAL(row, "PERF_COUNTER_HEADER.dwType", wanted, type))
        return size;
    EQUAL(row, "PERF_COUNTER_HEADER.dwStatus", type == PERF_ERROR_RETURN ? ERROR_NO_DATA : ERROR_SUCCESS, status);
    if (type == PERF_MULTIPLE_COUNTERS || type == PERF_COUNTERSET)
        done += check_ids(row, at + done, size - done, entry->set);
    if (type == PERF_MULTIPLE_INSTANCES || type == PERF_COUNTERSET)
        done += check_rows(row, at + done, size - done, entry);
    if (type == PERF_SINGLE_COUNTER)
        done += check_value(row, at + done, size - done, entry->set, entry->counter, 0);
    for (i = 0; type == PERF_MULTIPLE_COUNTERS && i < entry->set->counters; i++)
        done += check_value(row, at + done, size - done, entry->set, entry->set->counter[i].CounterId, 1);
    EQUAL(row, "PERF_COUNTER_HEADER.dwSize", size, done);
    return size;
}

/* A whole block of data, one result an entry. */
static inline void check_data(const char *row, const unsigned char *bytes, DWORD size, const struct entry *entries,
    DWORD count)
{
    PERF_DATA_HEADER header;
    DWORD done = 48, i;
    if (!TRUE_IN(row, size >= 48))
        return;
    memcpy(&header, bytes, sizeof header);
    EQUAL(row, "PERF_DATA_HEADER.dwTotalSize", size, header.dwTotalSize);
    EQUAL(row, "a multiple of 8", 0, header.dwTotalSize % 8);
    if (!EQUAL(row, "PERF_DATA_HEADER.dwNumCounters", count, header.dwNumCounters))
        return;
    for (i = 0; i < count; i++) {
        DWORD result = check_result(row, bytes + done, size - done, &entries[i]);
        if (!TRUE_IN(row, result != 0))
            return;
        done += result;
    }
    EQUAL(row, "end of the results", size, done);
}

#endif
