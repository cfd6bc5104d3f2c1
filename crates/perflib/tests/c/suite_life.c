/* The consumer functions in the life of a process: many handles, threads, forks, ends.
 *
 * Plain C11, and C++ as well. Starts itself anew to see how a process ends: see main.
 *
 *     cc suite_life.c -o suite_life -pthread $(pkg-config --cflags --libs perflib)
 *
 * and with -fshort-wchar, or with -DPERFLIB_WCHAR_SIZE=2.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "life.h"
#include "walk.h"

static struct set processors, the_system;

static void learn(void)
{
    learn_set(&processors, "Processor Information", &PROCESSORS);
    learn_set(&the_system, "System", &SYSTEM);
}

/* One round of all that a consumer does, on a handle of its own. Any thread, at any time of its life. */
static void use(const char *row, int is_thorough)
{
    struct entry entries[3];
    unsigned char *bytes;
    HANDLE query = NULL;
    DWORD size = 0, i;
    entries[0].set = entries[1].set = &processors;
    entries[2].set = &the_system;
    entries[0].counter = 0;
    entries[0].name = T("_Total");
    entries[1].counter = entries[2].counter = PERF_WILDCARD_COUNTER;
    entries[1].name = T("*");
    entries[2].name = NULL;
    if (!EQUAL(row, "open", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &query)))
        return;
    for (i = 0; i < 3; i++) {
        entries[i].id = ANY;
        EQUAL(row, "Status", ERROR_SUCCESS,
            add_entry(query, entries[i].set->guid, entries[i].counter, ANY, entries[i].name));
    }
    EQUAL(row, "info", ERROR_NOT_ENOUGH_MEMORY, PerfQueryCounterInfo(query, NULL, 0, &size));
    EQUAL(row, "size of info", identifier_size(T("_Total")) + identifier_size(T("*")) + 40, size);
    bytes = data_of(query, &size);
    if (is_thorough) {
        check_data(row, bytes, size, entries, 3);
    } else {
        EQUAL(row, "dwTotalSize", size, dword_at(bytes));
        EQUAL(row, "dwNumCounters", 3, dword_at(bytes + 4));
    }
    free(bytes);
    EQUAL(row, "close", ERROR_SUCCESS, PerfCloseQueryHandle(query));
    EQUAL(row, "close again", ERROR_INVALID_HANDLE, PerfCloseQueryHandle(query));
}

static void check_no_handle(const char *row, HANDLE handle)
{
    DWORD actual = 1;
    EQUAL(row, "PerfAddCounters", ERROR_INVALID_HANDLE, add_entry(handle, &SYSTEM, 0, ANY, NULL));
    EQUAL(row, "PerfQueryCounterInfo", ERROR_INVALID_HANDLE, PerfQueryCounterInfo(handle, NULL, 0, &actual));
    EQUAL(row, "PerfQueryCounterData", ERROR_INVALID_HANDLE, PerfQueryCounterData(handle, NULL, 0, &actual));
    EQUAL(row, "Actual", 0, actual);
    EQUAL(row, "PerfCloseQueryHandle", ERROR_INVALID_HANDLE, PerfCloseQueryHandle(handle));
}

/* ---- Threads ---- */

static void *own_handles(void *rounds)
{
    uintptr_t round;
    for (round = 0; round < (uintptr_t)rounds; round++)
        use("8 threads with their own handles", 1);
    return NULL;
}

static void test_own_handles(void)
{
    pthread_t threads[8];
    DWORD i;
    for (i = 0; i < 8; i++)
        threads[i] = started(own_handles, (void *)(uintptr_t)ROUNDS(25));
    for (i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

struct shared {
    HANDLE query;
    pthread_barrier_t start;
    DWORD closed_well;
};

static void check_code(const char *what, ULONG code, ULONG other)
{
    const char *row = "4 threads share a handle that is closed";
    EQUAL(row, what, code == other || code == ERROR_INVALID_HANDLE ? code : other, code);
}

/* All that may happen to a handle at once, until it is no more. */
static void *share(void *argument)
{
    struct shared *shared = (struct shared *)argument;
    enum { ROOM = 1 << 20 };
    unsigned char *bytes = (unsigned char *)malloc(ROOM);
    DWORD actual;
    ULONG code;
    REQUIRE("memory", bytes != NULL);
    pthread_barrier_wait(&shared->start);
    do {
        code = add_entry(shared->query, &PROCESSORS, PERF_WILDCARD_COUNTER, ANY, T("*"));
        check_code("PerfAddCounters", code, code == ERROR_ALREADY_EXISTS ? code : ERROR_SUCCESS);
        code = PerfQueryCounterInfo(shared->query, IDENTIFIERS(bytes), ROOM, &actual);
        check_code("PerfQueryCounterInfo", code, ERROR_SUCCESS);
        code = PerfQueryCounterData(shared->query, DATA(bytes), ROOM, &actual);
        check_code("PerfQueryCounterData", code, ERROR_SUCCESS);
        if (code == ERROR_SUCCESS)
            EQUAL("4 threads share a handle that is closed", "dwTotalSize", actual, dword_at(bytes));
        put_identifier(bytes, &PROCESSORS, PERF_WILDCARD_COUNTER, ANY, T("*"));
        code = PerfDeleteCounters(shared->query, IDENTIFIERS(bytes), identifier_size(T("*")));
        check_code("PerfDeleteCounters", code, ERROR_SUCCESS);
    } while (code != ERROR_INVALID_HANDLE);
    free(bytes);
    return NULL;
}

static void *close_it(void *argument)
{
    struct shared *shared = (struct shared *)argument;
    ULONG code;
    pthread_barrier_wait(&shared->start);
    usleep(2000);
    code = PerfCloseQueryHandle(shared->query);
    if (code == ERROR_SUCCESS)
        __atomic_fetch_add(&shared->closed_well, 1, __ATOMIC_RELAXED);
    check_code("PerfCloseQueryHandle", code, ERROR_SUCCESS);
    return NULL;
}

static void test_shared_handle(void)
{
    DWORD round, i;
    for (round = 0; round < ROUNDS(30); round++) {
        struct shared shared;
        pthread_t threads[6];
        shared.closed_well = 0;
        REQUIRE("shared handle", PerfOpenQueryHandle(NULL, &shared.query) == ERROR_SUCCESS);
        pthread_barrier_init(&shared.start, NULL, 6);
        for (i = 0; i < 6; i++)
            threads[i] = started(i < 4 ? share : close_it, &shared);
        for (i = 0; i < 6; i++)
            pthread_join(threads[i], NULL);
        EQUAL("two threads close one handle", "how many did", 1, shared.closed_well);
        check_no_handle("a handle that others closed", shared.query);
        pthread_barrier_destroy(&shared.start);
    }
}

/* ---- Handles ---- */

enum { MOST = 65536, ATTEMPTS = 70000 };

static int by_number(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)*(const HANDLE *)a, y = (uintptr_t)*(const HANDLE *)b;
    return x < y ? -1 : x > y;
}

static void test_many_handles(void)
{
    static HANDLE handles[ATTEMPTS], sorted[MOST];
    DWORD i, open = 0, refused = 0, actual;
    for (i = 0; i < ATTEMPTS; i++) {
        ULONG code;
        handles[i] = (HANDLE)(uintptr_t)0xBAD;
        code = PerfOpenQueryHandle(NULL, &handles[i]);
        EQUAL("70,000 opens", "code", i < MOST ? ERROR_SUCCESS : ERROR_NO_SYSTEM_RESOURCES, code);
        TRUE_IN("70,000 opens", (handles[i] != NULL) == (code == ERROR_SUCCESS));
        open += code == ERROR_SUCCESS;
        refused += code == ERROR_NO_SYSTEM_RESOURCES;
        if (i > MOST && code == ERROR_SUCCESS)
            break; /* there is no limit: more would only repeat it */
    }
    EQUAL("70,000 opens", "opened", MOST, open);
    EQUAL("70,000 opens", "refused", ATTEMPTS - MOST, refused);
    REQUIRE("70,000 opens", open == MOST);
    memcpy(sorted, handles, sizeof sorted);
    qsort(sorted, MOST, sizeof sorted[0], by_number);
    for (i = 1; i < MOST; i++)
        TRUE_IN("no handle twice", sorted[i - 1] != sorted[i]);
    EQUAL("the last of them works", "Status", ERROR_SUCCESS, add_entry(handles[MOST - 1], &SYSTEM, 0, ANY, NULL));
    EQUAL("the first of them works", "data", ERROR_NOT_ENOUGH_MEMORY,
        PerfQueryCounterData(handles[0], NULL, 0, &actual));

    EQUAL("close one of the middle", "code", ERROR_SUCCESS, PerfCloseQueryHandle(handles[1000]));
    EQUAL("one more fits", "code", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &handles[MOST]));
    EQUAL("and no second one", "code", ERROR_NO_SYSTEM_RESOURCES, PerfOpenQueryHandle(NULL, &handles[MOST + 1]));
    TRUE_IN("and no second one", handles[MOST + 1] == NULL);
    check_no_handle("the one of the middle", handles[1000]);
    EQUAL("close what took its place", "code", ERROR_SUCCESS, PerfCloseQueryHandle(handles[MOST]));
    for (i = 0; i < MOST; i++)
        EQUAL("close all", "code", i == 1000 ? ERROR_INVALID_HANDLE : ERROR_SUCCESS, PerfCloseQueryHandle(handles[i]));

    EQUAL("after closing all", "code", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &handles[MOST + 1]));
    for (i = 0; i <= MOST; i++)
        EQUAL("an old handle", "code", ERROR_INVALID_HANDLE, PerfQueryCounterData(handles[i], NULL, 0, &actual));
    EQUAL("the new one", "code", ERROR_SUCCESS, PerfCloseQueryHandle(handles[MOST + 1]));
    for (i = 0; i < ATTEMPTS; i++) {
        EQUAL("70,000 opens and closes", "open", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &sorted[0]));
        EQUAL("70,000 opens and closes", "an old handle", ERROR_INVALID_HANDLE,
            PerfCloseQueryHandle(handles[i % MOST]));
        EQUAL("70,000 opens and closes", "close", ERROR_SUCCESS, PerfCloseQueryHandle(sorted[0]));
    }
    use("after 70,000 handles", 1);
}

/* ---- Forks ---- */

/* What a child does with what it inherited. It has no thread but this one. Returns its exit status. */
static int be_child(HANDLE inherited, int generation)
{
    const char *row = generation == 0 ? "child" : "child's child";
    unsigned long failed = checks_failed;
    HANDLE own = NULL;
    pthread_t thread;
    alarm(300); /* one that waits for a lock of nobody ends, and so it is seen */
    check_no_handle(row, inherited);
    use(row, 1);
    EQUAL(row, "open", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &own));
    TRUE_IN(row, own != inherited);
    thread = started(own_handles, (void *)(uintptr_t)1);
    pthread_join(thread, NULL);
    if (generation == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(be_child(own, 1));
        check_child("child's child", child, 0);
    }
    EQUAL(row, "close", ERROR_SUCCESS, PerfCloseQueryHandle(own));
    return checks_failed != failed;
}

static int is_busy;

static void *keep_busy(void *argument)
{
    (void)argument;
    while (__atomic_load_n(&is_busy, __ATOMIC_RELAXED))
        use("busy while the process forks", 0);
    return NULL;
}

static void test_forks(int is_among_threads)
{
    const char *row = is_among_threads ? "fork among busy threads" : "fork";
    HANDLE query = NULL;
    DWORD size = 0;
    pthread_t threads[2];
    int round, i;
    REQUIRE(row, PerfOpenQueryHandle(NULL, &query) == ERROR_SUCCESS);
    EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, &SYSTEM, PERF_WILDCARD_COUNTER, ANY, NULL));
    is_busy = is_among_threads;
    for (i = 0; is_among_threads && i < 2; i++)
        threads[i] = started(keep_busy, NULL);
    for (round = 0; round < ROUNDS(is_among_threads ? 50 : 3); round++) {
        pid_t child;
        fflush(NULL);
        if (is_among_threads)
            usleep((useconds_t)(round * 37 % 1000));
        child = fork();
        if (child == 0)
            _exit(be_child(query, 0));
        check_child(row, child, 0);
        free(data_of(query, &size));
        TRUE_IN(row, size > 48);
    }
    __atomic_store_n(&is_busy, 0, __ATOMIC_RELAXED);
    for (i = 0; is_among_threads && i < 2; i++)
        pthread_join(threads[i], NULL);
    EQUAL(row, "close", ERROR_SUCCESS, PerfCloseQueryHandle(query));
}

/* ---- Ends of threads ---- */

static pthread_key_t key;
static int ended;

static void at_end_of_thread(void *argument)
{
    use("at the end of a thread", 1);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    /* Once more, when all other thread-specific data are gone. */
    if ((uintptr_t)argument < 3)
        pthread_setspecific(key, (void *)((uintptr_t)argument + 1));
}

#ifdef __cplusplus
struct used_at_end {
    int is_armed;
    ~used_at_end()
    {
        if (is_armed)
            use("at the end of a thread's object", 1);
    }
};
static thread_local used_at_end object;
#endif

static void *end_thread(void *is_used_before)
{
#ifdef __cplusplus
    object.is_armed = 1;
#endif
    pthread_setspecific(key, (void *)(uintptr_t)1);
    if (is_used_before != NULL) {
        perflib_SetLastError(7);
        use("before the end of a thread", 1);
        EQUAL("before the end of a thread", "last error", 7, perflib_GetLastError());
    }
    return NULL;
}

static void test_ends_of_threads(void)
{
    int i;
    REQUIRE("thread-specific data", pthread_key_create(&key, at_end_of_thread) == 0);
    for (i = 0; i < 20; i++)
        pthread_join(started(end_thread, i % 2 == 0 ? &key : NULL), NULL);
    EQUAL("ends of threads", "calls", 60, ended);
    pthread_key_delete(key);
}

/* ---- Ends of processes ----
 *
 * This program started anew ends in one of several ways. The last that runs says with its exit status that everything
 * ran, and that all was well.
 */

enum { ENDED_WELL = 42, ENDED_BADLY = 43 };

static int is_ending, stages;
static HANDLE kept_open;

static void at_exit(void)
{
    if (processors.instance == NULL)
        learn();
    use("atexit", 1);
    stages |= 1;
}

__attribute__((destructor)) static void at_unload(void)
{
    DWORD size = 0;
    if (!is_ending)
        return;
    use("destructor", 1);
    if (kept_open != NULL) {
        free(data_of(kept_open, &size));
        EQUAL("destructor", "close", ERROR_SUCCESS, PerfCloseQueryHandle(kept_open));
    }
    _exit(checks_failed == 0 && stages == 1 ? ENDED_WELL : ENDED_BADLY);
}

static void *exit_from_thread(void *argument)
{
    (void)argument;
    use("a thread that ends the process", 1);
    exit(0);
}

static void *work_on(void *argument)
{
    (void)argument;
    usleep(20000);
    use("after the main thread", 1);
    exit(0);
}

/* The shortest use, which needs nothing learned before. */
static void *touch(void *argument)
{
    const char *row = "fork in the middle of the first use";
    HANDLE query = NULL;
    ULONGLONG now = 0;
    DWORD size = 0;
    (void)argument;
    perflib_GetSystemTimeAsFileTime(&now);
    TRUE_IN(row, now != 0);
    EQUAL(row, "open", ERROR_SUCCESS, PerfOpenQueryHandle(NULL, &query));
    EQUAL(row, "Status", ERROR_SUCCESS, add_entry(query, &PROCESSORS, PERF_WILDCARD_COUNTER, ANY, T("*")));
    EQUAL(row, "data", ERROR_NOT_ENOUGH_MEMORY, PerfQueryCounterData(query, NULL, 0, &size));
    EQUAL(row, "close", ERROR_SUCCESS, PerfCloseQueryHandle(query));
    return NULL;
}

/* Two threads begin to use the library while the main thread forks. */
static void fork_early(void)
{
    enum { CHILDREN = 8 };
    pthread_t threads[2];
    pid_t children[CHILDREN];
    int i;
    for (i = 0; i < 2; i++)
        threads[i] = started(touch, NULL);
    for (i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(300);
            touch(NULL);
            _exit(checks_failed != 0);
        }
    }
    for (i = 0; i < CHILDREN; i++)
        check_child("fork in the middle of the first use", children[i], 0);
    for (i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

enum { RETURN, FIRST_USE, BUSY_THREADS, EXIT_FROM_THREAD, MAIN_THREAD_FIRST, FORK_EARLY, WAYS };

static const char *const WAY_NAMES[WAYS] = {
    "the main thread returns",
    "the first use is at the end",
    "threads are busy at the end",
    "a thread exits",
    "the main thread ends before another",
    "fork in the middle of the first use",
};

static int end(int way)
{
    int i;
    alarm(300);
    is_ending = 1;
    atexit(at_exit);
    if (way == FORK_EARLY)
        fork_early();
    if (way != FIRST_USE && way != FORK_EARLY) {
        learn();
        use("before the end", 1);
        PerfOpenQueryHandle(NULL, &kept_open);
        add_entry(kept_open, &PROCESSORS, PERF_WILDCARD_COUNTER, ANY, T("*"));
    }
    if (way == BUSY_THREADS) {
        is_busy = 1; /* for good: they run while the process ends */
        for (i = 0; i < 2; i++)
            pthread_detach(started(keep_busy, NULL));
        usleep(5000);
    }
    if (way == EXIT_FROM_THREAD) {
        pthread_detach(started(exit_from_thread, NULL));
        for (;;)
            pause();
    }
    if (way == MAIN_THREAD_FIRST) {
        pthread_detach(started(work_on, NULL));
        pthread_exit(NULL);
    }
    return 0;
}

static void test_ends_of_processes(char *program)
{
    int way, round;
    for (way = 0; way < WAYS; way++)
        for (round = 0; round < ROUNDS(way == FORK_EARLY ? 20 : 5); round++) {
            pid_t child;
            if (way == FORK_EARLY && !FORKS_AMONG_THREADS)
                break;
            fflush(NULL);
            child = fork();
            if (child == 0) {
                char number[] = { (char)('0' + way), 0 }, *arguments[] = { program, number, NULL };
                execv(program, arguments);
                _exit(127);
            }
            check_child(WAY_NAMES[way], child, ENDED_WELL);
        }
}

/* With the number of a way, ends in that way. */
int main(int argc, char **argv)
{
    if (argc == 2)
        return end(argv[1][0] - '0');
    learn();
    test_own_handles();
    test_shared_handle();
    test_many_handles();
    test_forks(0);
    if (FORKS_AMONG_THREADS)
        test_forks(1);
    test_ends_of_threads();
    test_ends_of_processes(argv[0]);
    forget_set(&processors);
    forget_set(&the_system);
    return suite_end();
}
