/* The printf family, with the meaning that it has on Windows: in wide functions %s is wide text and %S narrow text,
 * elsewhere the reverse; %lu takes a DWORD; I64 and I32 are lengths; %n is refused. Wide output is written as UTF-8, so
 * that it can be mixed with narrow output and needs no locale.
 */
#ifndef PERFLIB_CRT_PRINTF_H
#define PERFLIB_CRT_PRINTF_H

#pragma GCC system_header

#include <perflib_crt.h>

#define _TRUNCATE ((size_t)-1)

/* Compilers know these functions, by the rules of Linux. They would warn of each DWORD under %lu; and GCC computes what
 * sprintf and its relatives return, and takes a directive that it does not know, such as %I64u, to be 64 digits wide.
 * With the linkage of C++, or with another name in C, they are functions like any other.
 */
#ifdef __cplusplus
PERFLIB_BEGIN_CXX
#else
#define vprintf   perflib_call_vprintf
#define fprintf   perflib_call_fprintf
#define vfprintf  perflib_call_vfprintf
#define sprintf   perflib_call_sprintf
#define vsprintf  perflib_call_vsprintf
#define snprintf  perflib_call_snprintf
#define vsnprintf perflib_call_vsnprintf
/* The word is the name of an attribute's argument, too, and this is its other spelling. */
#define printf    __printf__
#endif
int printf(const char *format, ...) PERFLIB_WIDE_SYMBOL("printf");
int vprintf(const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vprintf");
int fprintf(FILE *stream, const char *format, ...) PERFLIB_WIDE_SYMBOL("fprintf");
int vfprintf(FILE *stream, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vfprintf");
int sprintf(char *buffer, const char *format, ...) PERFLIB_WIDE_SYMBOL("sprintf");
int vsprintf(char *buffer, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vsprintf");
int snprintf(char *buffer, size_t size, const char *format, ...) PERFLIB_WIDE_SYMBOL("snprintf");
int vsnprintf(char *buffer, size_t size, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vsnprintf");
#ifdef __cplusplus
PERFLIB_END_CXX
#endif

PERFLIB_BEGIN_C

int printf_s(const char *format, ...) PERFLIB_WIDE_SYMBOL("printf_s");
int vprintf_s(const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vprintf_s");
int fprintf_s(FILE *stream, const char *format, ...) PERFLIB_WIDE_SYMBOL("fprintf_s");
int vfprintf_s(FILE *stream, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vfprintf_s");
int _scprintf(const char *format, ...) PERFLIB_WIDE_SYMBOL("_scprintf");
int _vscprintf(const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("_vscprintf");
int _snprintf(char *buffer, size_t count, const char *format, ...) PERFLIB_WIDE_SYMBOL("_snprintf");
int _vsnprintf(char *buffer, size_t count, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("_vsnprintf");
int sprintf_s(char *buffer, size_t size, const char *format, ...) PERFLIB_WIDE_SYMBOL("sprintf_s");
int vsprintf_s(char *buffer, size_t size, const char *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vsprintf_s");
int _snprintf_s(char *buffer, size_t size, size_t count, const char *format, ...) PERFLIB_WIDE_SYMBOL("_snprintf_s");
int _vsnprintf_s(char *buffer, size_t size, size_t count, const char *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("_vsnprintf_s");

int wprintf(const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("wprintf");
int vwprintf(const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vwprintf");
int fwprintf(FILE *stream, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("fwprintf");
int vfwprintf(FILE *stream, const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vfwprintf");
int wprintf_s(const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("wprintf_s");
int vwprintf_s(const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vwprintf_s");
int fwprintf_s(FILE *stream, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("fwprintf_s");
int vfwprintf_s(FILE *stream, const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vfwprintf_s");
int _scwprintf(const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("_scwprintf");
int _vscwprintf(const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("_vscwprintf");
int _swprintf(wchar_t *buffer, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("_swprintf");
int _vswprintf(wchar_t *buffer, const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("_vswprintf");
int swprintf(wchar_t *buffer, size_t size, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("swprintf");
int vswprintf(wchar_t *buffer, size_t size, const wchar_t *format, va_list arguments) PERFLIB_WIDE_SYMBOL("vswprintf");
int _snwprintf(wchar_t *buffer, size_t count, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("_snwprintf");
int _vsnwprintf(wchar_t *buffer, size_t count, const wchar_t *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("_vsnwprintf");
int swprintf_s(wchar_t *buffer, size_t size, const wchar_t *format, ...) PERFLIB_WIDE_SYMBOL("swprintf_s");
int vswprintf_s(wchar_t *buffer, size_t size, const wchar_t *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("vswprintf_s");
int _snwprintf_s(wchar_t *buffer, size_t size, size_t count, const wchar_t *format, ...)
    PERFLIB_WIDE_SYMBOL("_snwprintf_s");
int _vsnwprintf_s(wchar_t *buffer, size_t size, size_t count, const wchar_t *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("_vsnwprintf_s");

PERFLIB_END_C

#ifdef __cplusplus
PERFLIB_BEGIN_CXX

/* An array knows its size. */
template <size_t Size>
inline int sprintf_s(char (&buffer)[Size], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = vsprintf_s(buffer, Size, format, arguments);
    va_end(arguments);
    return result;
}
template <size_t Size>
inline int vsprintf_s(char (&buffer)[Size], const char *format, va_list arguments)
{
    return vsprintf_s(buffer, Size, format, arguments);
}

template <size_t Size>
inline int swprintf_s(wchar_t (&buffer)[Size], const wchar_t *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = vswprintf_s(buffer, Size, format, arguments);
    va_end(arguments);
    return result;
}
template <size_t Size>
inline int vswprintf_s(wchar_t (&buffer)[Size], const wchar_t *format, va_list arguments)
{
    return vswprintf_s(buffer, Size, format, arguments);
}

template <size_t Size>
inline int _snprintf_s(char (&buffer)[Size], size_t count, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = _vsnprintf_s(buffer, Size, count, format, arguments);
    va_end(arguments);
    return result;
}
template <size_t Size>
inline int _vsnprintf_s(char (&buffer)[Size], size_t count, const char *format, va_list arguments)
{
    return _vsnprintf_s(buffer, Size, count, format, arguments);
}

template <size_t Size>
inline int _snwprintf_s(wchar_t (&buffer)[Size], size_t count, const wchar_t *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = _vsnwprintf_s(buffer, Size, count, format, arguments);
    va_end(arguments);
    return result;
}
template <size_t Size>
inline int _vsnwprintf_s(wchar_t (&buffer)[Size], size_t count, const wchar_t *format, va_list arguments)
{
    return _vsnwprintf_s(buffer, Size, count, format, arguments);
}

/* The older form, that is not told how large the buffer is. */
inline int swprintf(wchar_t *buffer, const wchar_t *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = _vswprintf(buffer, format, arguments);
    va_end(arguments);
    return result;
}

PERFLIB_END_CXX
#endif

#endif
