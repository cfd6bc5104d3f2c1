/* The copying functions of strsafe.h, for one size of unit. What does not fit is cut, terminated, and reported.
 * Those that count bytes are inline in the header.
 */
#include "units.h"

#define LENGTH(text, limit) perflib_text_length(text, limit, UNIT)

static int32_t NAME(append, wide_append)(TEXT *to, size_t size, size_t used, const TEXT *from, size_t count)
{
    size_t room = size - used - 1;
    size_t length = LENGTH(from, count < size ? count : size);
    bool fits = length <= room;
    if (!fits) length = room;
    memcpy(to + used, from, length * sizeof *to);
    to[used + length] = 0;
    return fits ? 0 : PERFLIB_E_BUFFER;
}

int32_t NAME(StringCchCopyNA, StringCchCopyNW)(TEXT *to, size_t size, const TEXT *from, size_t count);
int32_t NAME(StringCchCopyNA, StringCchCopyNW)(TEXT *to, size_t size, const TEXT *from, size_t count)
{
    if (size == 0 || size > INT_MAX) return PERFLIB_E_INVALID;
    if (count > INT_MAX - 1) {
        to[0] = 0;
        return PERFLIB_E_INVALID;
    }
    return NAME(append, wide_append)(to, size, 0, from, count);
}

int32_t NAME(StringCchCopyA, StringCchCopyW)(TEXT *to, size_t size, const TEXT *from);
int32_t NAME(StringCchCopyA, StringCchCopyW)(TEXT *to, size_t size, const TEXT *from)
{
    if (size == 0 || size > INT_MAX) return PERFLIB_E_INVALID;
    return NAME(append, wide_append)(to, size, 0, from, INT_MAX);
}

int32_t NAME(StringCchCatNA, StringCchCatNW)(TEXT *to, size_t size, const TEXT *from, size_t count);
int32_t NAME(StringCchCatNA, StringCchCatNW)(TEXT *to, size_t size, const TEXT *from, size_t count)
{
    if (size == 0 || size > INT_MAX || count > INT_MAX - 1) return PERFLIB_E_INVALID;
    size_t used = LENGTH(to, size);
    if (used == size) return PERFLIB_E_INVALID;
    return NAME(append, wide_append)(to, size, used, from, count);
}

int32_t NAME(StringCchCatA, StringCchCatW)(TEXT *to, size_t size, const TEXT *from);
int32_t NAME(StringCchCatA, StringCchCatW)(TEXT *to, size_t size, const TEXT *from)
{
    return NAME(StringCchCatNA, StringCchCatNW)(to, size, from, INT_MAX - 1);
}

int32_t NAME(StringCchLengthA, StringCchLengthW)(const TEXT *text, size_t limit, size_t *length);
int32_t NAME(StringCchLengthA, StringCchLengthW)(const TEXT *text, size_t limit, size_t *length)
{
    size_t found = 0;
    bool is_found = false;
    if (text != NULL && limit <= INT_MAX) {
        found = LENGTH(text, limit);
        is_found = found < limit;
    }
    if (length != NULL) *length = is_found ? found : 0;
    return is_found ? 0 : PERFLIB_E_INVALID;
}

#undef LENGTH
