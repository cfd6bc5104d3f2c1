/* Checks that count themselves. A failed one says where it stands, in which row, what was wanted and what was found. */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer a child must not be forked while other threads allocate: it inherits the sanitizer's locks. */
#ifdef __SANITIZE_ADDRESS__
#define FORKS_AMONG_THREADS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORKS_AMONG_THREADS 0
#endif
#endif
#ifndef FORKS_AMONG_THREADS
#define FORKS_AMONG_THREADS 1
#endif

/* Valgrind is twenty times slower: a program that is built for it repeats less. */
#ifdef QUICK
#define ROUNDS(n) (((n) + 4) / 5)
#define IS_LEFT_OUT(turn, at) ((turn) > 0 && (at) % 4 != (turn))
#else
#define ROUNDS(n) (n)
#define IS_LEFT_OUT(turn, at) 0
#endif

/* Threads check too. */
static unsigned long checks_passed, checks_failed;

/* Whether to speak of it: of what fails in a loop nobody reads all. */
static inline int check_says(int is_good)
{
    enum { MOST_MESSAGES = 200 };
    unsigned long *count = is_good ? &checks_passed : &checks_failed;
    return __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < MOST_MESSAGES && !is_good;
}

static inline int check_equal(const char *file, int line, const char *row, const char *what, unsigned long long wanted,
    unsigned long long found)
{
    if (check_says(wanted == found))
        fprintf(stderr, "%s:%d: %s: %s: wanted %llu (%#llx), found %llu (%#llx)\n", file, line, row, what, wanted,
            wanted, found, found);
    return wanted == found;
}

static inline int check_true(const char *file, int line, const char *row, const char *what, int is_true)
{
    if (check_says(is_true))
        fprintf(stderr, "%s:%d: %s: wanted %s, found that it is not so\n", file, line, row, what);
    return is_true;
}

static inline int check_bytes(const char *file, int line, const char *row, const char *what, const void *wanted,
    const void *found, size_t len)
{
    const unsigned char *w = (const unsigned char *)wanted, *f = (const unsigned char *)found;
    size_t at = 0;
    while (at < len && w[at] == f[at])
        at++;
    if (check_says(at == len))
        fprintf(stderr, "%s:%d: %s: %s: at byte %zu of %zu: wanted %02x, found %02x\n", file, line, row, what, at, len,
            w[at], f[at]);
    return at == len;
}

/* All bytes have one value. */
static inline int check_filled(const char *file, int line, const char *row, const char *what, unsigned char wanted,
    const void *found, size_t len)
{
    const unsigned char *f = (const unsigned char *)found;
    size_t at = 0;
    while (at < len && f[at] == wanted)
        at++;
    if (check_says(at == len))
        fprintf(stderr, "%s:%d: %s: %s: at byte %zu of %zu: wanted %02x, found %02x\n", file, line, row, what, at, len,
            wanted, f[at]);
    return at == len;
}

#define EQUAL(row, what, wanted, found) \
    check_equal(__FILE__, __LINE__, row, what, (unsigned long long)(wanted), (unsigned long long)(found))
#define TRUE_IN(row, condition) check_true(__FILE__, __LINE__, row, #condition, (condition) ? 1 : 0)
#define BYTES(row, what, wanted, found, len) check_bytes(__FILE__, __LINE__, row, what, wanted, found, len)
#define FILLED(row, what, wanted, found, len) check_filled(__FILE__, __LINE__, row, what, wanted, found, len)

/* Without it nothing that follows means anything. It counts only if it fails. */
#define REQUIRE(row, condition) \
    do { \
        if (!(condition)) { \
            check_true(__FILE__, __LINE__, row, #condition, 0); \
            exit(suite_end()); \
        } \
    } while (0)

/* A row's name made of parts. It is valid until so many more are made as there are. */
__attribute__((format(printf, 1, 2))) static inline const char *row_name(const char *format, ...)
{
    static char names[16][256];
    static unsigned next;
    char *name = names[next++ % 16];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof names[0], format, arguments);
    va_end(arguments);
    return name;
}

/* The last line of a program, and its exit status. */
static inline int suite_end(void)
{
    if (checks_failed != 0) {
        printf("suite: %lu checks failed, %lu passed\n", checks_failed, checks_passed);
        return 1;
    }
    printf("suite: %lu checks passed\n", checks_passed);
    return 0;
}

#endif
