/* The printf family for one size of unit, UNIT, in a program whose wide text has units of WIDE_UNIT bytes. What differs
 * between its members is what happens when a buffer is too small.
 */
#include "units.h"

#undef WIDE
#if WIDE_UNIT == 4
#define WIDE(name) perflib_##name##_utf32
#else
#define WIDE(name) perflib_##name
#endif

/* The name of the narrow or of the wide form. */
#undef FORM
#if UNIT == 1
#define FORM(narrow, wide) WIDE(narrow)
#else
#define FORM(narrow, wide) WIDE(wide)
#endif

/* Declares a function that takes a list of arguments, and defines its relative that takes the arguments themselves. */
#undef FAMILY
#undef PASS
#define PASS(...) __VA_ARGS__
#define FAMILY(name, list_name, parameters, values)         \
    int list_name(PASS parameters, va_list arguments);      \
    int name(PASS parameters, ...);                         \
    int name(PASS parameters, ...)                          \
    {                                                       \
        va_list arguments;                                  \
        va_start(arguments, format);                        \
        int result = list_name(PASS values, arguments);     \
        va_end(arguments);                                  \
        return result;                                      \
    }

/* To streams. */
FAMILY(FORM(printf, wprintf), FORM(vprintf, vwprintf), (const TEXT *format), (format))
int FORM(vprintf, vwprintf)(const TEXT *format, va_list arguments)
{
    return perflib_format_stream(stdout, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
}

FAMILY(FORM(fprintf, fwprintf), FORM(vfprintf, vfwprintf), (FILE *stream, const TEXT *format), (stream, format))
int FORM(vfprintf, vfwprintf)(FILE *stream, const TEXT *format, va_list arguments)
{
    return perflib_format_stream(stream, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
}

FAMILY(FORM(printf_s, wprintf_s), FORM(vprintf_s, vwprintf_s), (const TEXT *format), (format))
int FORM(vprintf_s, vwprintf_s)(const TEXT *format, va_list arguments)
{
    return perflib_format_stream(stdout, UNIT, WIDE_UNIT, PERFLIB_STRICT, format, arguments);
}

FAMILY(FORM(fprintf_s, fwprintf_s), FORM(vfprintf_s, vfwprintf_s), (FILE *stream, const TEXT *format),
       (stream, format))
int FORM(vfprintf_s, vfwprintf_s)(FILE *stream, const TEXT *format, va_list arguments)
{
    return perflib_format_stream(stream, UNIT, WIDE_UNIT, PERFLIB_STRICT, format, arguments);
}

/* Only the length. */
FAMILY(FORM(_scprintf, _scwprintf), FORM(_vscprintf, _vscwprintf), (const TEXT *format), (format))
int FORM(_vscprintf, _vscwprintf)(const TEXT *format, va_list arguments)
{
    return perflib_format_buffer(NULL, 0, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
}

/* Into a buffer that the caller knows to be large enough. */
FAMILY(FORM(sprintf, _swprintf), FORM(vsprintf, _vswprintf), (TEXT *buffer, const TEXT *format), (buffer, format))
int FORM(vsprintf, _vswprintf)(TEXT *buffer, const TEXT *format, va_list arguments)
{
    int length = perflib_format_buffer(buffer, INT_MAX, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
    buffer[length < 0 ? 0 : length] = 0;
    return length;
}

/* As C has it: always with a terminator. For text that was cut the narrow form returns all of its length, the wide one
 * -1.
 */
FAMILY(FORM(snprintf, swprintf), FORM(vsnprintf, vswprintf), (TEXT *buffer, size_t size, const TEXT *format),
       (buffer, size, format))
int FORM(vsnprintf, vswprintf)(TEXT *buffer, size_t size, const TEXT *format, va_list arguments)
{
    size_t room = size == 0 ? 0 : size - 1;
    int length = perflib_format_buffer(buffer, room, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
    bool fits = length >= 0 && (size_t)length < size;
    if (size > 0) buffer[fits ? (size_t)length : length < 0 ? 0 : room] = 0;
    if (UNIT == 1 || fits || length < 0) return length;
    errno = EOVERFLOW;
    return -1;
}

/* No terminator if the buffer is full, -1 if the text was cut; without a buffer, the length. */
FAMILY(FORM(_snprintf, _snwprintf), FORM(_vsnprintf, _vsnwprintf), (TEXT *buffer, size_t count, const TEXT *format),
       (buffer, count, format))
int FORM(_vsnprintf, _vsnwprintf)(TEXT *buffer, size_t count, const TEXT *format, va_list arguments)
{
    if (buffer == NULL && count != 0) {
        errno = EINVAL;
        return -1;
    }
    int length = perflib_format_buffer(buffer, count, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
    if (length < 0 && count > 0) buffer[0] = 0;
    if (length >= 0 && (size_t)length < count) buffer[length] = 0;
    return buffer != NULL && length >= 0 && (size_t)length > count ? -1 : length;
}

static bool FORM(is_good_s, wide_is_good_s)(TEXT *buffer, size_t size, const TEXT *format)
{
    if (buffer != NULL && size > 0 && format != NULL) return true;
    if (buffer != NULL && size > 0) buffer[0] = 0;
    errno = EINVAL;
    return false;
}

/* All or nothing. */
FAMILY(FORM(sprintf_s, swprintf_s), FORM(vsprintf_s, vswprintf_s), (TEXT *buffer, size_t size, const TEXT *format),
       (buffer, size, format))
int FORM(vsprintf_s, vswprintf_s)(TEXT *buffer, size_t size, const TEXT *format, va_list arguments)
{
    if (!FORM(is_good_s, wide_is_good_s)(buffer, size, format)) return -1;
    int length = perflib_format_buffer(buffer, size - 1, UNIT, WIDE_UNIT, PERFLIB_STRICT, format, arguments);
    bool fits = length >= 0 && (size_t)length < size;
    buffer[fits ? length : 0] = 0;
    if (length >= 0 && !fits) errno = ERANGE;
    return fits ? length : -1;
}

/* At most `count` units, or what fits if that is _TRUNCATE; else all or nothing. */
FAMILY(FORM(_snprintf_s, _snwprintf_s), FORM(_vsnprintf_s, _vsnwprintf_s),
       (TEXT *buffer, size_t size, size_t count, const TEXT *format), (buffer, size, count, format))
int FORM(_vsnprintf_s, _vsnwprintf_s)(TEXT *buffer, size_t size, size_t count, const TEXT *format, va_list arguments)
{
    if (buffer == NULL && size == 0 && count == 0 && format != NULL) return 0;
    if (!FORM(is_good_s, wide_is_good_s)(buffer, size, format)) return -1;
    size_t room = count < size ? count : size - 1;
    int length = perflib_format_buffer(buffer, room, UNIT, WIDE_UNIT, PERFLIB_STRICT, format, arguments);
    bool fits = length >= 0 && (size_t)length <= room;
    bool may_be_cut = length >= 0 && (count == PERFLIB_TRUNCATE || count < size);
    buffer[fits ? (size_t)length : may_be_cut ? room : 0] = 0;
    if (length >= 0 && !fits && !may_be_cut) errno = ERANGE;
    return fits ? length : -1;
}

/* As of user32: at most 1023 units; returns how many. */
FAMILY(FORM(wsprintfA, wsprintfW), FORM(wvsprintfA, wvsprintfW), (TEXT *buffer, const TEXT *format), (buffer, format))
int FORM(wvsprintfA, wvsprintfW)(TEXT *buffer, const TEXT *format, va_list arguments)
{
    int length = perflib_format_buffer(buffer, 1023, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
    if (length < 0) length = 0;
    if (length > 1023) length = 1023;
    buffer[length] = 0;
    return length;
}

/* As of strsafe.h: what fits, with a terminator, and a code. Sizes are in units, or in bytes. */
FAMILY(FORM(StringCchPrintfA, StringCchPrintfW), FORM(StringCchVPrintfA, StringCchVPrintfW),
       (TEXT *buffer, size_t size, const TEXT *format), (buffer, size, format))
int FORM(StringCchVPrintfA, StringCchVPrintfW)(TEXT *buffer, size_t size, const TEXT *format, va_list arguments)
{
    if (size == 0 || size > INT_MAX) return PERFLIB_E_INVALID;
    int length = perflib_format_buffer(buffer, size - 1, UNIT, WIDE_UNIT, PERFLIB_PLAIN, format, arguments);
    bool fits = length >= 0 && (size_t)length < size;
    buffer[fits ? (size_t)length : length < 0 ? 0 : size - 1] = 0;
    return fits ? 0 : length < 0 ? PERFLIB_E_INVALID : PERFLIB_E_BUFFER;
}

FAMILY(FORM(StringCbPrintfA, StringCbPrintfW), FORM(StringCbVPrintfA, StringCbVPrintfW),
       (TEXT *buffer, size_t bytes, const TEXT *format), (buffer, bytes, format))
int FORM(StringCbVPrintfA, StringCbVPrintfW)(TEXT *buffer, size_t bytes, const TEXT *format, va_list arguments)
{
    return FORM(StringCchVPrintfA, StringCchVPrintfW)(buffer, bytes / sizeof *buffer, format, arguments);
}

#if UNIT == 2
/* What <string> of C++ makes its numbers with. */
int perflib_to_wstring(TEXT *buffer, size_t size, const TEXT *format, va_list arguments);
int perflib_to_wstring(TEXT *buffer, size_t size, const TEXT *format, va_list arguments)
{
    if (size == 0) return -1;
    int length = perflib_format_buffer(buffer, size - 1, UNIT, WIDE_UNIT, PERFLIB_OWN_LONG, format, arguments);
    bool fits = length >= 0 && (size_t)length < size;
    buffer[fits ? length : 0] = 0;
    return fits ? length : -1;
}
#endif
