/* Numbers in wide text. */
#include "units.h"

#ifndef PERFLIB_DIGIT
#define PERFLIB_DIGIT
/* The value of a digit, or -1. */
static int perflib_digit(uint32_t what, int base)
{
    int digit = -1;
    if (what >= '0' && what <= '9') digit = (int)(what - '0');
    if (what >= 'A' && what <= 'Z') digit = (int)(what - 'A') + 10;
    if (what >= 'a' && what <= 'z') digit = (int)(what - 'a') + 10;
    return digit < base ? digit : -1;
}
#endif

/* How many units from `text` on may belong to a number that the C library can read. */
static size_t WIDE(number_length)(const TEXT *text)
{
    const struct lconv *locale = localeconv();
    char extra[8] = "+-.()_";
    if ((unsigned char)locale->decimal_point[0] < 0x80) extra[6] = locale->decimal_point[0];
    size_t length = 0;
    for (; text[length] != 0 && text[length] < 0x80; length++) {
        char what = (char)text[length];
        bool is_letter = (what >= '0' && what <= '9') || (what >= 'A' && what <= 'Z') || (what >= 'a' && what <= 'z');
        if (!is_letter && strchr(extra, what) == NULL) break;
    }
    return length;
}

/* Reads an integer in any base; it may be larger than what the caller can return. */
static unsigned long long WIDE(read_integer)(const TEXT *text, TEXT **end, int base, bool *is_negative,
                                             bool *is_too_large)
{
    *is_negative = *is_too_large = false;
    if (base < 0 || base == 1 || base > 36) {
        errno = EINVAL;
        if (end != NULL) *end = (TEXT *)(uintptr_t)text;
        return 0;
    }
    const TEXT *at = text;
    while (*at < 0x80 && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
    *is_negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if ((base == 0 || base == 16) && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && perflib_digit(at[2], 16) >= 0) {
        at += 2;
        base = 16;
    }
    if (base == 0) base = *at == '0' ? 8 : 10;
    unsigned long long value = 0;
    bool has_digits = false;
    for (int digit = perflib_digit(*at, base); digit >= 0; digit = perflib_digit(*++at, base)) {
        has_digits = true;
        unsigned long long most = (ULLONG_MAX - (unsigned)digit) / (unsigned)base;
        if (value > most) *is_too_large = true;
        value = value * (unsigned)base + (unsigned)digit;
    }
    if (end != NULL) *end = (TEXT *)(uintptr_t)(has_digits ? at : text);
    if (!has_digits) *is_negative = false;
    return value;
}

/* What a type cannot hold is its nearest value, and an error. */
static unsigned long long WIDE(read_limited)(const TEXT *text, TEXT **end, int base, unsigned long long most,
    unsigned long long most_negative)
{
    bool is_negative, is_too_large;
    unsigned long long value = WIDE(read_integer)(text, end, base, &is_negative, &is_too_large);
    unsigned long long limit = is_negative && most_negative != 0 ? most_negative : most;
    if (is_too_large || value > limit) {
        errno = ERANGE;
        value = limit;
        is_negative = is_negative && most_negative != 0;
    }
    return is_negative ? 0 - value : value;
}

#undef WCSTOI
#define WCSTOI(name, type, most, most_negative)                                                                        \
    type WIDE(name)(const TEXT *text, TEXT **end, int base);                                                           \
    type WIDE(name)(const TEXT *text, TEXT **end, int base)                                                            \
    {                                                                                                                  \
        return (type)WIDE(read_limited)(text, end, base, most, most_negative);                                         \
    }
WCSTOI(wcstol, long, LONG_MAX, LONG_MAX + 1ull)
WCSTOI(wcstoll, long long, LLONG_MAX, LLONG_MAX + 1ull)
WCSTOI(wcstoul, unsigned long, ULONG_MAX, 0)
WCSTOI(wcstoull, unsigned long long, ULLONG_MAX, 0)

int32_t WIDE(_wtoi)(const TEXT *text);
int32_t WIDE(_wtoi)(const TEXT *text)
{
    return (int32_t)WIDE(read_limited)(text, NULL, 10, INT32_MAX, INT32_MAX + 1ull);
}

int64_t WIDE(_wtoi64)(const TEXT *text);
int64_t WIDE(_wtoi64)(const TEXT *text)
{
    return (int64_t)WIDE(read_limited)(text, NULL, 10, INT64_MAX, INT64_MAX + 1ull);
}

#undef WCSTO
#define WCSTO(name, type, narrow)                                                                                      \
    type WIDE(name)(const TEXT *text, TEXT **end);                                                                     \
    type WIDE(name)(const TEXT *text, TEXT **end)                                                                      \
    {                                                                                                                  \
        const TEXT *start = text;                                                                                      \
        while (*start < 0x80 && (*start == ' ' || (*start >= '\t' && *start <= '\r'))) start++;                        \
        size_t length = WIDE(number_length)(start);                                                                    \
        char fixed[400];                                                                                               \
        char *number = length < sizeof fixed ? fixed : malloc(length + 1);                                             \
        if (end != NULL) *end = (TEXT *)(uintptr_t)text;                                                               \
        if (number == NULL) return 0;                                                                                  \
        for (size_t index = 0; index < length; index++) number[index] = (char)start[index];                            \
        number[length] = 0;                                                                                            \
        char *stop;                                                                                                    \
        type value = narrow(number, &stop);                                                                            \
        if (end != NULL && stop != number) *end = (TEXT *)(uintptr_t)(start + (stop - number));                        \
        if (number != fixed) free(number);                                                                             \
        return value;                                                                                                  \
    }
WCSTO(wcstod, double, strtod)
WCSTO(wcstof, float, strtof)
WCSTO(wcstold, long double, strtold)

double WIDE(_wtof)(const TEXT *text);
double WIDE(_wtof)(const TEXT *text)
{
    return WIDE(wcstod)(text, NULL);
}
