/* The functions of MS C that know the size of their buffer, for one size of unit.
 *
 * What does not fit leaves an empty string and ERANGE, except with _TRUNCATE. A NULL or a size of 0 is EINVAL. There is
 * no handler for invalid parameters that would end the program.
 */
#include "units.h"

#define COPY(to, from, count) memcpy(to, from, (count) * sizeof(TEXT))
#define LENGTH(text, limit) perflib_text_length(text, limit, UNIT)

static int NAME(nothing_s, wide_nothing_s)(TEXT *to, int error)
{
    to[0] = 0;
    errno = error;
    return error;
}

/* Writes at most `count` units of `from` at `used` units of `to`. */
static int NAME(append_s, wide_append_s)(TEXT *to, size_t size, size_t used, const TEXT *from, size_t count)
{
    size_t room = size - used - 1;
    size_t length = LENGTH(from, count == PERFLIB_TRUNCATE || count > size ? size : count);
    if (length > room) {
        if (count != PERFLIB_TRUNCATE) return NAME(nothing_s, wide_nothing_s)(to, ERANGE);
        COPY(to + used, from, room);
        to[size - 1] = 0;
        return PERFLIB_STRUNCATE;
    }
    COPY(to + used, from, length);
    to[used + length] = 0;
    return 0;
}

int NAME(strncpy_s, wcsncpy_s)(TEXT *to, size_t size, const TEXT *from, size_t count);
int NAME(strncpy_s, wcsncpy_s)(TEXT *to, size_t size, const TEXT *from, size_t count)
{
    if (to == NULL && size == 0 && count == 0) return 0;
    if (to == NULL || size == 0) return errno = EINVAL;
    if (count == 0) {
        to[0] = 0;
        return 0;
    }
    if (from == NULL) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    return NAME(append_s, wide_append_s)(to, size, 0, from, count);
}

int NAME(strcpy_s, wcscpy_s)(TEXT *to, size_t size, const TEXT *from);
int NAME(strcpy_s, wcscpy_s)(TEXT *to, size_t size, const TEXT *from)
{
    if (to == NULL || size == 0) return errno = EINVAL;
    if (from == NULL) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    return NAME(append_s, wide_append_s)(to, size, 0, from, PERFLIB_TRUNCATE - 1);
}

int NAME(strncat_s, wcsncat_s)(TEXT *to, size_t size, const TEXT *from, size_t count);
int NAME(strncat_s, wcsncat_s)(TEXT *to, size_t size, const TEXT *from, size_t count)
{
    if (to == NULL && size == 0 && count == 0) return 0;
    if (to == NULL || size == 0) return errno = EINVAL;
    if (from == NULL && count != 0) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    size_t used = LENGTH(to, size);
    if (used == size) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    if (count == 0) return 0;
    return NAME(append_s, wide_append_s)(to, size, used, from, count);
}

int NAME(strcat_s, wcscat_s)(TEXT *to, size_t size, const TEXT *from);
int NAME(strcat_s, wcscat_s)(TEXT *to, size_t size, const TEXT *from)
{
    if (from == NULL && to != NULL && size > 0) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    return NAME(strncat_s, wcsncat_s)(to, size, from, PERFLIB_TRUNCATE - 1);
}

/* Digits of a number in any base, behind its sign. */
static int NAME(number_s, wide_number_s)(uint64_t value, bool is_negative, TEXT *to, size_t size, int base)
{
    if (to == NULL || size == 0) return errno = EINVAL;
    if (base < 2 || base > 36) return NAME(nothing_s, wide_nothing_s)(to, EINVAL);
    TEXT text[66];
    size_t at = sizeof text / sizeof *text;
    text[--at] = 0;
    do {
        text[--at] = (TEXT)"0123456789abcdefghijklmnopqrstuvwxyz"[value % (unsigned)base];
        value /= (unsigned)base;
    } while (value != 0);
    size_t length = sizeof text / sizeof *text - at;
    if (length + is_negative > size) return NAME(nothing_s, wide_nothing_s)(to, ERANGE);
    if (is_negative) *to++ = '-';
    COPY(to, text + at, length);
    return 0;
}

/* Only base 10 has a sign. */
int NAME(_itoa_s, _itow_s)(int32_t value, TEXT *to, size_t size, int base);
int NAME(_itoa_s, _itow_s)(int32_t value, TEXT *to, size_t size, int base)
{
    bool is_negative = value < 0 && base == 10;
    uint32_t digits = is_negative ? 0 - (uint32_t)value : (uint32_t)value;
    return NAME(number_s, wide_number_s)(digits, is_negative, to, size, base);
}

int NAME(_i64toa_s, _i64tow_s)(int64_t value, TEXT *to, size_t size, int base);
int NAME(_i64toa_s, _i64tow_s)(int64_t value, TEXT *to, size_t size, int base)
{
    bool is_negative = value < 0 && base == 10;
    uint64_t digits = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    return NAME(number_s, wide_number_s)(digits, is_negative, to, size, base);
}

int NAME(_ui64toa_s, _ui64tow_s)(uint64_t value, TEXT *to, size_t size, int base);
int NAME(_ui64toa_s, _ui64tow_s)(uint64_t value, TEXT *to, size_t size, int base)
{
    return NAME(number_s, wide_number_s)(value, false, to, size, base);
}

int NAME(_ultoa_s, _ultow_s)(uint32_t value, TEXT *to, size_t size, int base);
int NAME(_ultoa_s, _ultow_s)(uint32_t value, TEXT *to, size_t size, int base)
{
    return NAME(number_s, wide_number_s)(value, false, to, size, base);
}

/* The forms that trust in a buffer of 33 or 65 units. */
TEXT *NAME(_itoa, _itow)(int32_t value, TEXT *to, int base);
TEXT *NAME(_itoa, _itow)(int32_t value, TEXT *to, int base)
{
    NAME(_itoa_s, _itow_s)(value, to, 33, base);
    return to;
}

TEXT *NAME(_ultoa, _ultow)(uint32_t value, TEXT *to, int base);
TEXT *NAME(_ultoa, _ultow)(uint32_t value, TEXT *to, int base)
{
    NAME(_ultoa_s, _ultow_s)(value, to, 33, base);
    return to;
}

TEXT *NAME(_i64toa, _i64tow)(int64_t value, TEXT *to, int base);
TEXT *NAME(_i64toa, _i64tow)(int64_t value, TEXT *to, int base)
{
    NAME(_i64toa_s, _i64tow_s)(value, to, 65, base);
    return to;
}

TEXT *NAME(_ui64toa, _ui64tow)(uint64_t value, TEXT *to, int base);
TEXT *NAME(_ui64toa, _ui64tow)(uint64_t value, TEXT *to, int base)
{
    NAME(_ui64toa_s, _ui64tow_s)(value, to, 65, base);
    return to;
}

#undef COPY
#undef LENGTH
