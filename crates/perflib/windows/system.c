/* The machine's name, and the string functions that the system has beside those of C. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#include <wctype.h>

#pragma GCC visibility push(hidden)

static int get_computer_name(void *text, uint32_t *size, unsigned unit)
{
    char name[256];
    size_t rest = perflib_computer_name(name, sizeof name);
    uint32_t units[256];
    uint32_t length = 0;
    for (const char *at = name; rest > 0;) {
        struct perflib_character character = perflib_text_read(at, rest, 1);
        length += perflib_text_write((char *)units + length * unit, unit, character.code);
        at += character.units;
        rest -= character.units;
    }
    perflib_text_write((char *)units + length * unit, unit, 0);
    if (size == NULL) {
        perflib_SetLastError(PERFLIB_INVALID_PARAMETER);
        return 0;
    }
    bool fits = text != NULL && *size > length;
    *size = fits ? length : length + 1;
    if (fits)
        memcpy(text, units, ((size_t)length + 1) * unit);
    else
        perflib_SetLastError(PERFLIB_BUFFER_OVERFLOW);
    return fits;
}

int perflib_GetComputerNameA(char *text, uint32_t *size);
int perflib_GetComputerNameA(char *text, uint32_t *size)
{
    return get_computer_name(text, size, 1);
}

int perflib_GetComputerNameW(uint16_t *text, uint32_t *size);
int perflib_GetComputerNameW(uint16_t *text, uint32_t *size)
{
    return get_computer_name(text, size, 2);
}

int perflib_GetComputerNameW_utf32(uint32_t *text, uint32_t *size);
int perflib_GetComputerNameW_utf32(uint32_t *text, uint32_t *size)
{
    return get_computer_name(text, size, 4);
}

uint32_t perflib_GetCurrentProcessId(void);
uint32_t perflib_GetCurrentProcessId(void)
{
    return (uint32_t)getpid();
}

uint32_t perflib_GetCurrentThreadId(void);
uint32_t perflib_GetCurrentThreadId(void)
{
    return (uint32_t)gettid();
}

void perflib_ExitProcess(unsigned code) __attribute__((__noreturn__));
void perflib_ExitProcess(unsigned code)
{
    exit((int)code);
}

/* NULL is a string without units for lstrlen, and less than any other for lstrcmp. */
static int length_of(const void *text, unsigned unit)
{
    return text == NULL ? 0 : (int)perflib_text_length(text, SIZE_MAX >> 1, unit);
}

static int compare(const void *left, const void *right, unsigned unit, bool ignores_case)
{
    if (left == NULL || right == NULL) return (left != NULL) - (right != NULL);
    for (size_t index = 0;; index++) {
        uint32_t one = perflib_text_unit(left, index, unit);
        uint32_t other = perflib_text_unit(right, index, unit);
        if (ignores_case && (unit > 1 || (one < 0x80 && other < 0x80))) {
            one = (uint32_t)towlower((wint_t)one);
            other = (uint32_t)towlower((wint_t)other);
        }
        if (one != other) return one < other ? -1 : 1;
        if (one == 0) return 0;
    }
}

/* Copies at most `size` - 1 units to where they are wanted; NULL for NULL. */
static void *copy(char *to, const void *from, size_t size, unsigned unit)
{
    if (to == NULL || from == NULL || size == 0) return NULL;
    size_t length = perflib_text_length(from, size - 1, unit);
    memmove(to, from, length * unit);
    memset(to + length * unit, 0, unit);
    return to;
}

static void *append(char *to, const void *from, unsigned unit)
{
    if (to == NULL || from == NULL) return NULL;
    copy(to + perflib_text_length(to, SIZE_MAX, unit) * unit, from, SIZE_MAX, unit);
    return to;
}

#define LSTR(kind, text, unit)                                                                                         \
    int perflib_lstrlen##kind(const text *);                                                                           \
    int perflib_lstrlen##kind(const text *of) { return length_of(of, unit); }                                          \
    int perflib_lstrcmp##kind(const text *, const text *);                                                             \
    int perflib_lstrcmp##kind(const text *left, const text *right) { return compare(left, right, unit, false); }       \
    int perflib_lstrcmpi##kind(const text *, const text *);                                                            \
    int perflib_lstrcmpi##kind(const text *left, const text *right) { return compare(left, right, unit, true); }       \
    text *perflib_lstrcpy##kind(text *, const text *);                                                                 \
    text *perflib_lstrcpy##kind(text *to, const text *from) { return copy((char *)to, from, SIZE_MAX, unit); }         \
    text *perflib_lstrcpyn##kind(text *, const text *, int);                                                           \
    text *perflib_lstrcpyn##kind(text *to, const text *from, int size)                                                 \
    {                                                                                                                  \
        return copy((char *)to, from, size < 0 ? 0 : (size_t)size, unit);                                              \
    }                                                                                                                  \
    text *perflib_lstrcat##kind(text *, const text *);                                                                 \
    text *perflib_lstrcat##kind(text *to, const text *from) { return append((char *)to, from, unit); }

LSTR(A, char, 1)
LSTR(W, uint16_t, 2)
LSTR(W_utf32, uint32_t, 4)

#pragma GCC visibility pop
