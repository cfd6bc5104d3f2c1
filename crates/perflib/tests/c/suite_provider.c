/* The provider functions: codes, blocks in the program's own text, and the life of a process that provides counters.
 *
 * Plain C11, and C++ as well. Publishes in a folder of its own, and looks at the files there.
 *
 *     cc suite_provider.c -o suite_provider -pthread $(pkg-config --cflags --libs perflib)
 *
 * and with -fshort-wchar, or with -DPERFLIB_WCHAR_SIZE=2.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "life.h"

enum { LAST_ERROR = 0x5EED };
enum { REQUESTS = 1, TICKS = 7, ADDRESS = 9 };

/* As programs have them that are made from a manifest. */
struct template_of_3 {
    PERF_COUNTERSET_INFO set;
    PERF_COUNTER_INFO counter[3];
};

static const GUID PROVIDER = { 0x3f7a2b10, 0x51c4, 0x4e0f, { 0x9d, 2, 3, 5, 7, 11, 13, 17 } };
static const GUID ROUTES = { 0x3f7a2b11, 0x51c4, 0x4e0f, { 0x9d, 2, 3, 5, 7, 11, 13, 19 } };

static struct template_of_3 routes(void)
{
    static const PERF_COUNTER_INFO counters[3] = {
        { REQUESTS, PERF_COUNTER_COUNTER, 0, sizeof(ULONG), PERF_DETAIL_NOVICE, -3, 77 },
        { TICKS, PERF_COUNTER_LARGE_RAWCOUNT, 0, sizeof(ULONGLONG), PERF_DETAIL_ADVANCED, 0, 77 },
        { ADDRESS, PERF_COUNTER_RAWCOUNT, PERF_ATTRIB_BY_REFERENCE, sizeof(void *), PERF_DETAIL_NOVICE, 0, 77 },
    };
    struct template_of_3 made;
    made.set.CounterSetGuid = ROUTES;
    made.set.ProviderGuid = PROVIDER;
    made.set.NumCounters = 3;
    made.set.InstanceType = PERF_COUNTERSET_MULTI_INSTANCES;
    memcpy(made.counter, counters, sizeof counters);
    return made;
}

/* ---- Codes and the last error ---- */

/* None of those that return a code touches the last error. */
static ULONG called(int line, const char *call, ULONG code)
{
    check_equal(__FILE__, line, call, "last error", LAST_ERROR, perflib_GetLastError());
    return code;
}

#define CALL(call) called(__LINE__, #call, call)
#define WANT(row, code, call) EQUAL(row, "code", code, CALL(call))

/* Those that return a pointer set it if they fail, and only then. */
#define WANT_NONE(row, code, call) \
    do { \
        TRUE_IN(row, (call) == NULL); \
        EQUAL(row, "last error", code, perflib_GetLastError()); \
        perflib_SetLastError(LAST_ERROR); \
    } while (0)

static PERF_COUNTERSET_INSTANCE *created(HANDLE provider, const WCHAR *name, ULONG id)
{
    PERF_COUNTERSET_INSTANCE *instance = PerfCreateInstance(provider, &ROUTES, name, id);
    REQUIRE("create", instance != NULL);
    EQUAL("create", "last error", LAST_ERROR, perflib_GetLastError());
    return instance;
}

static HANDLE provider_with(PERFLIBREQUEST callback)
{
    GUID guid = PROVIDER;
    HANDLE provider = NULL;
    struct template_of_3 template_ = routes();
    REQUIRE("start", CALL(PerfStartProvider(&guid, callback, &provider)) == ERROR_SUCCESS && provider != NULL);
    REQUIRE("set", CALL(PerfSetCounterSetInfo(provider, &template_.set, sizeof template_)) == ERROR_SUCCESS);
    return provider;
}

/* The value of a counter, as generated code finds it. */
static ULONGLONG *value_of(PERF_COUNTERSET_INSTANCE *instance, const struct template_of_3 *template_, int counter)
{
    return (ULONGLONG *)((unsigned char *)(instance + 1) + template_->counter[counter].Offset);
}

static ULONG WINAPI no_callback(ULONG code, PVOID buffer, ULONG size)
{
    (void)code, (void)buffer, (void)size;
    return ERROR_SUCCESS;
}

static void test_codes(void)
{
    GUID guid = PROVIDER;
    HANDLE provider = NULL, untouched = (HANDLE)(uintptr_t)0xBAD, other;
    struct template_of_3 template_ = routes(), wanted = routes();
    PERF_COUNTERSET_INSTANCE *instance, *again;
    PERF_PROVIDER_CONTEXT context;
    ULONG referred = 5;
    int i;
    const char *row = "starting";
    WANT(row, ERROR_INVALID_PARAMETER, PerfStartProvider(NULL, NULL, &untouched));
    EQUAL(row, "handle", 0xBAD, (uintptr_t)untouched);
    WANT(row, ERROR_INVALID_PARAMETER, PerfStartProvider(&guid, NULL, NULL));
    memset(&context, 0, sizeof context);
    WANT("a context of no size", ERROR_INVALID_PARAMETER, PerfStartProviderEx(&guid, &context, &provider));
    context.ContextSize = sizeof context - 1;
    WANT("a context too small", ERROR_INVALID_PARAMETER, PerfStartProviderEx(&guid, &context, &provider));
    context.ContextSize = sizeof context + 1;
    context.ControlCallback = no_callback;
    WANT("a larger context", ERROR_SUCCESS, PerfStartProviderEx(&guid, &context, &provider));
    WANT("the same again", ERROR_SUCCESS, PerfStartProviderEx(&guid, NULL, &other));
    TRUE_IN("the same again", other != provider);
    *(ULONGLONG *)other = ~0ull; /* a handle may be written to */
    WANT("stop", ERROR_SUCCESS, PerfStopProvider(other));
    WANT("stop again", ERROR_INVALID_PARAMETER, PerfStopProvider(other));

    row = "template";
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetCounterSetInfo(provider, NULL, sizeof template_));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetCounterSetInfo(provider, &template_.set, sizeof template_ - 1));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetCounterSetInfo(other, &template_.set, sizeof template_));
    BYTES(row, "untouched", &wanted, &template_, sizeof template_);
    WANT(row, ERROR_SUCCESS, PerfSetCounterSetInfo(provider, &template_.set, sizeof template_));
    for (i = 0; i < 3; i++)
        wanted.counter[i].Offset = 8 * (ULONG)i;
    BYTES(row, "offsets", &wanted, &template_, sizeof template_);
    WANT(row, ERROR_ALREADY_EXISTS, PerfSetCounterSetInfo(provider, &template_.set, sizeof template_));

    row = "instance";
    WANT_NONE(row, ERROR_INVALID_PARAMETER, PerfCreateInstance(other, &ROUTES, T("a"), 0));
    WANT_NONE(row, ERROR_INVALID_PARAMETER, PerfCreateInstance(provider, NULL, T("a"), 0));
    WANT_NONE(row, ERROR_INVALID_PARAMETER, PerfCreateInstance(provider, &UNKNOWN, NULL, 0));
    WANT_NONE(row, ERROR_NOT_FOUND, PerfCreateInstance(provider, &UNKNOWN, T("a"), 0));
    WANT_NONE(row, ERROR_INVALID_PARAMETER, PerfCreateInstance(provider, &ROUTES, T(""), 0));
    instance = created(provider, T("a"), 0);
    WANT_NONE(row, ERROR_ALREADY_EXISTS, PerfCreateInstance(provider, &ROUTES, T("a"), 0));
    again = created(provider, T("a"), 1);
    TRUE_IN(row, PerfQueryInstance(provider, &ROUTES, T("A"), 1) == again);
    TRUE_IN(row, PerfQueryInstance(provider, &ROUTES, T("a"), 0) == instance);
    WANT_NONE(row, ERROR_NOT_FOUND, PerfQueryInstance(provider, &ROUTES, T("a"), 2));
    WANT_NONE(row, ERROR_NOT_FOUND, PerfQueryInstance(provider, &UNKNOWN, T("a"), 0));
    WANT_NONE(row, ERROR_INVALID_PARAMETER, PerfQueryInstance(provider, &ROUTES, NULL, 0));

    row = "values";
    WANT(row, ERROR_SUCCESS, PerfSetULongCounterValue(provider, instance, REQUESTS, 0xFFFFFFFF));
    WANT(row, ERROR_SUCCESS, PerfIncrementULongCounterValue(provider, instance, REQUESTS, 6));
    WANT(row, ERROR_SUCCESS, PerfDecrementULongCounterValue(provider, instance, REQUESTS, 2));
    EQUAL(row, "REQUESTS", 3, *value_of(instance, &template_, 0));
    WANT(row, ERROR_SUCCESS, PerfSetULongLongCounterValue(provider, instance, TICKS, 2));
    WANT(row, ERROR_SUCCESS, PerfDecrementULongLongCounterValue(provider, instance, TICKS, 4));
    WANT(row, ERROR_SUCCESS, PerfIncrementULongLongCounterValue(provider, instance, TICKS, 1));
    EQUAL(row, "TICKS", ~0ull, *value_of(instance, &template_, 1));
    WANT(row, ERROR_SUCCESS, PerfSetCounterRefValue(provider, instance, ADDRESS, &referred));
    EQUAL(row, "ADDRESS", (uintptr_t)&referred, *value_of(instance, &template_, 2));
    WANT(row, ERROR_SUCCESS, PerfSetCounterRefValue(provider, instance, ADDRESS, NULL));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetCounterRefValue(provider, instance, TICKS, &referred));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetULongCounterValue(provider, instance, TICKS, 1));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetULongLongCounterValue(provider, instance, REQUESTS, 1));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetULongCounterValue(provider, instance, ADDRESS, 1));
    WANT(row, ERROR_NOT_FOUND, PerfSetULongCounterValue(provider, instance, 2, 1));
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetULongCounterValue(provider, NULL, REQUESTS, 1));
    EQUAL(row, "of the other", 0, *value_of(again, &template_, 0));

    row = "deleting";
    WANT(row, ERROR_INVALID_PARAMETER, PerfDeleteInstance(provider, NULL));
    WANT(row, ERROR_SUCCESS, PerfDeleteInstance(provider, instance));
    WANT(row, ERROR_INVALID_PARAMETER, PerfDeleteInstance(provider, instance));
    WANT_NONE(row, ERROR_NOT_FOUND, PerfQueryInstance(provider, &ROUTES, T("a"), 0));
    WANT("stop", ERROR_SUCCESS, PerfStopProvider(provider));
    *value_of(again, &template_, 0) = 7; /* the memory stays */
    WANT("after the end", ERROR_INVALID_PARAMETER, PerfSetULongCounterValue(provider, again, REQUESTS, 1));
}

/* A program finds its own text in a block. */
static void test_blocks(void)
{
    static WCHAR longest[1025];
    const WCHAR *names[4] = { T("a"), T("Inst1"), T("\u00e9\u2603 many"), longest };
    HANDLE provider = provider_with(NULL);
    ULONG i, id;
    for (i = 0; i < 1023; i++)
        longest[i] = 'x';
    for (id = 0; id < 4; id++) {
        const char *row = row_name("block of name %u", id);
        PERF_COUNTERSET_INSTANCE *instance = created(provider, names[id], id);
        ULONG name_size = (ULONG)(text_len(names[id]) + 1) * UNIT;
        BYTES(row, "CounterSetGuid", &ROUTES, &instance->CounterSetGuid, sizeof(GUID));
        EQUAL(row, "InstanceId", id, instance->InstanceId);
        EQUAL(row, "InstanceNameSize", name_size, instance->InstanceNameSize);
        if (UNIT == 2) {
            EQUAL(row, "InstanceNameOffset", 32 + 3 * 8, instance->InstanceNameOffset);
            EQUAL(row, "dwSize", ALIGN8(32 + 3 * 8 + name_size), instance->dwSize);
        }
        TRUE_IN(row, instance->InstanceNameOffset >= 32 + 3 * 8 && instance->InstanceNameOffset % UNIT == 0);
        TRUE_IN(row, instance->InstanceNameOffset + name_size <= instance->dwSize && instance->dwSize % 8 == 0);
        BYTES(row, "name", names[id], (unsigned char *)instance + instance->InstanceNameOffset, name_size);
        FILLED(row, "values", 0, instance + 1, 3 * 8);
        EQUAL(row, "alignment", 0, (uintptr_t)instance % 64);
    }
    longest[1023] = 'x';
    WANT_NONE("a name too long", ERROR_INVALID_PARAMETER, PerfCreateInstance(provider, &ROUTES, longest, 0));
    WANT("stop", ERROR_SUCCESS, PerfStopProvider(provider));
}

/* ---- Files ---- */

static char folder[64] = "/tmp/perflib-suite-XXXXXX";

/* How many files of a process end in that; the path of the last one. */
static int files_of(pid_t pid, const char *suffix, char path[512])
{
    char begin[32];
    struct dirent *file;
    DIR *files = opendir(folder);
    int count = 0;
    REQUIRE("folder", files != NULL);
    snprintf(begin, sizeof begin, "%d-", (int)pid);
    while ((file = readdir(files)) != NULL) {
        size_t len = strlen(file->d_name), tail = strlen(suffix);
        if (strncmp(file->d_name, begin, strlen(begin)) != 0 || len < tail
            || strcmp(file->d_name + len - tail, suffix) != 0)
            continue;
        count++;
        snprintf(path, 512, "%s/%s", folder, file->d_name);
    }
    closedir(files);
    return count;
}

/* A value in a file, where a block of ROUTES with that id stands: its counter by position. */
static ULONGLONG published(const char *row, const char *path, ULONG id, int counter)
{
    struct stat info;
    ULONGLONG value = 0xDEAD;
    unsigned char *bytes;
    long at;
    int file = open(path, O_RDONLY);
    REQUIRE(row, file >= 0 && fstat(file, &info) == 0);
    bytes = (unsigned char *)malloc((size_t)info.st_size);
    REQUIRE(row, bytes != NULL && read(file, bytes, (size_t)info.st_size) == info.st_size);
    for (at = 8192; at + 64 <= info.st_size; at += 64)
        if (memcmp(bytes + at, &ROUTES, 16) == 0 && memcmp(bytes + at + 20, &id, 4) == 0
            && memcmp(bytes + at + 16, "\0\0\0\0", 4) != 0)
            memcpy(&value, bytes + at + 32 + 8 * counter, 8);
    free(bytes);
    close(file);
    return value;
}

/* Whether the program that wrote a file is alive: it holds the lock. */
static int is_locked(const char *path)
{
    struct flock lock;
    int file = open(path, O_RDONLY), code;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_RDLCK;
    lock.l_len = 1;
    REQUIRE("file", file >= 0);
    code = fcntl(file, F_OFD_GETLK, &lock);
    close(file);
    REQUIRE("lock", code == 0);
    return lock.l_type != F_UNLCK;
}

/* Asks a program to begin to collect, as a reader does: its status, or 0xBAD if it does not answer. */
static ULONG asked(const char *path)
{
    static const unsigned char request[] = { 5, 0, 0, 0, 0, 0, 0, 0, 'H', 0, 0, 0 };
    struct sockaddr_un address;
    ULONG answer[2] = { 0xBAD, 1 };
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0
        && send(connection, request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request)
        TRUE_IN("answer", recv(connection, answer, sizeof answer, 0) == (ssize_t)sizeof answer && answer[1] == 0);
    close(connection);
    return answer[0];
}

/* ---- Forks and ends ---- */

static ULONG WINAPI say_pid(ULONG code, PVOID buffer, ULONG size)
{
    (void)buffer;
    TRUE_IN("callback", code == PERF_COLLECT_START && size == 48 + 2 * UNIT);
    return (ULONG)getpid();
}

static HANDLE inherited;
static PERF_COUNTERSET_INSTANCE *inherited_instance;

/* What a child does with a provider that it inherited. Returns its exit status. */
static int be_child(pid_t parent, int generation)
{
    const char *row = generation == 0 ? "child" : "child's child";
    struct template_of_3 template_ = routes();
    unsigned long failed = checks_failed;
    PERF_COUNTERSET_INSTANCE *own;
    char path[512], socket_path[512];
    alarm(300);
    PerfSetCounterSetInfo(inherited, &template_.set, sizeof template_); /* for its offsets */
    template_.counter[1].Offset = 8;
    *value_of(inherited_instance, &template_, 1) = 666; /* goes nowhere */
    WANT(row, ERROR_INVALID_PARAMETER, PerfSetULongLongCounterValue(inherited, inherited_instance, TICKS, 666));
    WANT(row, ERROR_INVALID_PARAMETER, PerfDeleteInstance(inherited, inherited_instance));
    WANT_NONE(row, ERROR_NOT_FOUND, PerfQueryInstance(inherited, &ROUTES, T("a"), 3));
    EQUAL(row, "files before it has instances", 0, files_of(getpid(), ".pfs", path));
    own = created(inherited, T("a"), 3);
    TRUE_IN(row, own != inherited_instance);
    WANT(row, ERROR_SUCCESS, PerfSetULongLongCounterValue(inherited, own, TICKS, 11));
    EQUAL(row, "files", 1, files_of(getpid(), ".pfs", path));
    EQUAL(row, "TICKS", 11, published(row, path, 3, 1));
    EQUAL(row, "sockets", 1, files_of(getpid(), ".sock", socket_path));
    EQUAL(row, "who answers", getpid(), asked(socket_path));
    EQUAL(row, "sockets of the parent", 1, files_of(parent, ".sock", socket_path));
    EQUAL(row, "who answers there", parent, asked(socket_path));
    if (generation == 0) {
        PERF_COUNTERSET_INSTANCE *before = inherited_instance;
        pid_t child, here = getpid();
        inherited_instance = own;
        fflush(NULL);
        child = fork();
        if (child == 0)
            _exit(be_child(here, 1));
        check_child("child's child", child, 0);
        inherited_instance = before;
        EQUAL(row, "TICKS after that", 11, published(row, path, 3, 1));
    }
    WANT(row, ERROR_SUCCESS, PerfStopProvider(inherited));
    WANT(row, ERROR_INVALID_PARAMETER, PerfStopProvider(inherited));
    EQUAL(row, "files after the end", 0, files_of(getpid(), ".pfs", path) + files_of(getpid(), ".sock", path));
    EQUAL(row, "files of the parent", 2, files_of(parent, ".pfs", path) + files_of(parent, ".sock", path));
    return checks_failed != failed;
}

static int is_busy;

static void *keep_busy(void *argument)
{
    (void)argument;
    while (__atomic_load_n(&is_busy, __ATOMIC_RELAXED)) {
        PERF_COUNTERSET_INSTANCE *instance;
        HANDLE provider;
        GUID guid = PROVIDER;
        struct template_of_3 template_ = routes();
        perflib_SetLastError(LAST_ERROR);
        PerfStartProvider(&guid, no_callback, &provider);
        PerfSetCounterSetInfo(provider, &template_.set, sizeof template_);
        instance = created(provider, T("busy"), 1);
        PerfIncrementULongCounterValue(inherited, inherited_instance, REQUESTS, 1);
        PerfDeleteInstance(provider, instance);
        PerfStopProvider(provider);
    }
    return NULL;
}

static void test_forks(int is_among_threads)
{
    const char *row = is_among_threads ? "fork among busy threads" : "fork";
    pthread_t threads[2];
    char path[512];
    int round, i;
    inherited = provider_with(say_pid);
    inherited_instance = created(inherited, T("a"), 3);
    WANT(row, ERROR_SUCCESS, PerfSetULongLongCounterValue(inherited, inherited_instance, TICKS, 5));
    for (round = 0; round < (is_among_threads ? 20 : 3); round++) {
        pid_t child;
        if (is_among_threads && round == 0) {
            is_busy = 1;
            for (i = 0; i < 2; i++)
                threads[i] = started(keep_busy, NULL);
        }
        fflush(NULL);
        if (is_among_threads)
            usleep((useconds_t)(round * 37 % 1000));
        child = fork();
        if (child == 0 && !is_among_threads)
            _exit(be_child(getppid(), 0));
        if (child == 0) {
            alarm(300);
            created(inherited, T("a"), 3);
            _exit(PerfStopProvider(inherited) != ERROR_SUCCESS);
        }
        check_child(row, child, 0);
        if (!is_among_threads) {
            EQUAL(row, "files", 1, files_of(getpid(), ".pfs", path));
            EQUAL(row, "TICKS", 5, published(row, path, 3, 1));
            TRUE_IN(row, is_locked(path));
            files_of(getpid(), ".sock", path);
            EQUAL(row, "who answers", getpid(), asked(path));
        }
    }
    __atomic_store_n(&is_busy, 0, __ATOMIC_RELAXED);
    for (i = 0; is_among_threads && i < 2; i++)
        pthread_join(threads[i], NULL);
    WANT(row, ERROR_SUCCESS, PerfStopProvider(inherited));
    EQUAL(row, "files after the end", 0, files_of(getpid(), ".pfs", path) + files_of(getpid(), ".sock", path));
}

/* A dead program looks dead, though its child lives. */
static void test_death(void)
{
    const char *row = "death";
    char path[512], socket_path[512];
    int ready[2], status;
    pid_t parent, child = 0;
    REQUIRE(row, pipe(ready) == 0);
    fflush(NULL);
    parent = fork();
    if (parent == 0) {
        pid_t in_turn;
        alarm(300);
        created(provider_with(say_pid), T("a"), 3);
        in_turn = fork();
        if (in_turn == 0)
            in_turn = getpid();
        else
            for (;;)
                pause();
        if (write(ready[1], &in_turn, sizeof in_turn) != (ssize_t)sizeof in_turn)
            _exit(1);
        for (;;)
            pause();
    }
    REQUIRE(row, read(ready[0], &child, sizeof child) == (ssize_t)sizeof child);
    EQUAL(row, "files", 1, files_of(parent, ".pfs", path));
    EQUAL(row, "sockets", 1, files_of(parent, ".sock", socket_path));
    TRUE_IN(row, is_locked(path));
    EQUAL(row, "who answers", parent, asked(socket_path));
    kill(parent, SIGKILL);
    TRUE_IN(row, waitpid(parent, &status, 0) == parent);
    TRUE_IN(row, kill(child, 0) == 0);
    TRUE_IN(row, !is_locked(path));
    EQUAL(row, "who answers the dead", 0xBAD, asked(socket_path));
    kill(child, SIGKILL);
    close(ready[0]);
    close(ready[1]);
    /* The next program of this user cleans up. */
    WANT(row, ERROR_SUCCESS, PerfStopProvider(provider_with(NULL)));
    EQUAL(row, "files after that", 0, files_of(parent, ".pfs", path) + files_of(parent, ".sock", path));
}

/* Nothing has to be stopped. */
static void test_exit(void)
{
    const char *row = "exit";
    char path[512];
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        alarm(300);
        created(provider_with(say_pid), T("a"), 3);
        exit(files_of(getpid(), ".pfs", path) + files_of(getpid(), ".sock", path));
    }
    check_child(row, child, 2);
    EQUAL(row, "files after the end", 0, files_of(child, ".pfs", path) + files_of(child, ".sock", path));
}

/* ---- Threads ---- */

static void *count(void *argument)
{
    struct template_of_3 template_ = routes();
    ULONG i;
    (void)argument;
    template_.counter[1].Offset = 8;
    for (i = 0; i < 20000; i++) {
        PerfIncrementULongCounterValue(inherited, inherited_instance, REQUESTS, 1);
        /* As a program does that has no time to call. */
        __atomic_fetch_add(value_of(inherited_instance, &template_, 1), 3, __ATOMIC_RELAXED);
        if (i % 1000 == 0) {
            ULONG id = 10 + (ULONG)(uintptr_t)argument;
            perflib_SetLastError(LAST_ERROR);
            EQUAL("threads", "delete", ERROR_SUCCESS, PerfDeleteInstance(inherited, created(inherited, T("a"), id)));
        }
    }
    return NULL;
}

static void test_threads(void)
{
    char path[512];
    pthread_t threads[4];
    uintptr_t i;
    inherited = provider_with(NULL);
    inherited_instance = created(inherited, T("a"), 3);
    for (i = 0; i < 4; i++)
        threads[i] = started(count, (void *)i);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    EQUAL("threads", "files", 1, files_of(getpid(), ".pfs", path));
    EQUAL("threads", "REQUESTS", 4 * 20000, published("threads", path, 3, 0) & 0xFFFFFFFF);
    EQUAL("threads", "TICKS", 4 * 3 * 20000, published("threads", path, 3, 1));
    WANT("threads", ERROR_SUCCESS, PerfStopProvider(inherited));
}

int main(void)
{
    REQUIRE("folder", mkdtemp(folder) != NULL && setenv("PERFSET_RUNTIME_DIR", folder, 1) == 0);
    /* No result depends on how busy the machine is that tests. */
    REQUIRE("deadline", setenv("PERFSET_DEADLINE", "60s", 1) == 0);
    perflib_SetLastError(LAST_ERROR);
    test_codes();
    test_blocks();
    test_threads();
    test_forks(0);
    if (FORKS_AMONG_THREADS)
        test_forks(1);
    test_death();
    test_exit();
    TRUE_IN("folder", rmdir(folder) == 0);
    return suite_end();
}
