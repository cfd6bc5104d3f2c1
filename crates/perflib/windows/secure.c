/* The functions of MS C that know the size of their buffer, for narrow and for wide text. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)

#define UNIT 1
#include "secure_units.h"
#undef UNIT
#define UNIT 2
#include "secure_units.h"
#undef UNIT
#define UNIT 4
#include "secure_units.h"
#undef UNIT

int perflib_memcpy_s(void *to, size_t size, const void *from, size_t count);
int perflib_memcpy_s(void *to, size_t size, const void *from, size_t count)
{
    if (count == 0) return 0;
    if (to == NULL) return errno = EINVAL;
    if (from != NULL && count <= size) {
        memcpy(to, from, count);
        return 0;
    }
    memset(to, 0, size);
    return errno = from == NULL ? EINVAL : ERANGE;
}

int perflib_memmove_s(void *to, size_t size, const void *from, size_t count);
int perflib_memmove_s(void *to, size_t size, const void *from, size_t count)
{
    if (count == 0) return 0;
    if (to == NULL || from == NULL) return errno = EINVAL;
    if (count > size) return errno = ERANGE;
    memmove(to, from, count);
    return 0;
}

/* A size in bytes; what is too large for that is too large anyway. */
static size_t bytes_of(size_t units, size_t unit)
{
    return units > SIZE_MAX / unit ? SIZE_MAX : units * unit;
}

#define WMEM(suffix, unit)                                                                                             \
    int perflib_wmemcpy_s##suffix(void *, size_t, const void *, size_t);                                               \
    int perflib_wmemcpy_s##suffix(void *to, size_t size, const void *from, size_t count)                               \
    {                                                                                                                  \
        return perflib_memcpy_s(to, bytes_of(size, unit), from, bytes_of(count, unit));                                \
    }                                                                                                                  \
    int perflib_wmemmove_s##suffix(void *, size_t, const void *, size_t);                                              \
    int perflib_wmemmove_s##suffix(void *to, size_t size, const void *from, size_t count)                              \
    {                                                                                                                  \
        return perflib_memmove_s(to, bytes_of(size, unit), from, bytes_of(count, unit));                               \
    }
WMEM(, 2)
WMEM(_utf32, 4)

int perflib_strerror_s(char *to, size_t size, int error);
int perflib_strerror_s(char *to, size_t size, int error)
{
    if (to == NULL || size == 0) return errno = EINVAL;
    int result = perflib_strncpy_s(to, size, strerror(error), PERFLIB_TRUNCATE);
    return result == PERFLIB_STRUNCATE ? 0 : result;
}

/* Letters beyond ASCII are several bytes each, and stay as they are. */
char *perflib__strupr(char *text);
char *perflib__strupr(char *text)
{
    for (char *at = text; *at != 0; at++)
        if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    return text;
}

char *perflib__strlwr(char *text);
char *perflib__strlwr(char *text)
{
    for (char *at = text; *at != 0; at++)
        if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
    return text;
}

char *perflib__strrev(char *text);
char *perflib__strrev(char *text)
{
    size_t length = strlen(text);
    for (size_t index = 0; index < length / 2; index++) {
        char kept = text[index];
        text[index] = text[length - 1 - index];
        text[length - 1 - index] = kept;
    }
    return text;
}

#pragma GCC visibility pop
