/* The functions of MS C that know the size of their buffer. What does not fit leaves an empty string and is ERANGE,
 * except with _TRUNCATE. Wrong parameters are EINVAL: no handler ends the program.
 */
#ifndef PERFLIB_CRT_SECURE_H
#define PERFLIB_CRT_SECURE_H

#pragma GCC system_header

#include <perflib_crt.h>

#ifndef _ERRNO_T_DEFINED
#define _ERRNO_T_DEFINED
typedef int errno_t;
#endif
#ifndef _RSIZE_T_DEFINED
#define _RSIZE_T_DEFINED
typedef size_t rsize_t;
#endif

#ifndef STRUNCATE
#define STRUNCATE 80
#endif

PERFLIB_BEGIN_C

errno_t strcpy_s(char *to, size_t size, const char *from) PERFLIB_SYMBOL("strcpy_s");
errno_t strcat_s(char *to, size_t size, const char *from) PERFLIB_SYMBOL("strcat_s");
errno_t strncpy_s(char *to, size_t size, const char *from, size_t count) PERFLIB_SYMBOL("strncpy_s");
errno_t strncat_s(char *to, size_t size, const char *from, size_t count) PERFLIB_SYMBOL("strncat_s");
errno_t wcscpy_s(wchar_t *to, size_t size, const wchar_t *from) PERFLIB_WIDE_SYMBOL("wcscpy_s");
errno_t wcscat_s(wchar_t *to, size_t size, const wchar_t *from) PERFLIB_WIDE_SYMBOL("wcscat_s");
errno_t wcsncpy_s(wchar_t *to, size_t size, const wchar_t *from, size_t count) PERFLIB_WIDE_SYMBOL("wcsncpy_s");
errno_t wcsncat_s(wchar_t *to, size_t size, const wchar_t *from, size_t count) PERFLIB_WIDE_SYMBOL("wcsncat_s");

errno_t memcpy_s(void *to, size_t size, const void *from, size_t count) PERFLIB_SYMBOL("memcpy_s");
errno_t memmove_s(void *to, size_t size, const void *from, size_t count) PERFLIB_SYMBOL("memmove_s");
errno_t wmemcpy_s(wchar_t *to, size_t size, const wchar_t *from, size_t count) PERFLIB_WIDE_SYMBOL("wmemcpy_s");
errno_t wmemmove_s(wchar_t *to, size_t size, const wchar_t *from, size_t count) PERFLIB_WIDE_SYMBOL("wmemmove_s");
errno_t strerror_s(char *to, size_t size, int error) PERFLIB_SYMBOL("strerror_s");

/* A long has 32 bits there. */
errno_t _itoa_s(int value, char *to, size_t size, int base) PERFLIB_SYMBOL("_itoa_s");
char *_itoa(int value, char *to, int base) PERFLIB_SYMBOL("_itoa");
errno_t _ltoa_s(int value, char *to, size_t size, int base) PERFLIB_SYMBOL("_itoa_s");
char *_ltoa(int value, char *to, int base) PERFLIB_SYMBOL("_itoa");
errno_t _ultoa_s(unsigned value, char *to, size_t size, int base) PERFLIB_SYMBOL("_ultoa_s");
char *_ultoa(unsigned value, char *to, int base) PERFLIB_SYMBOL("_ultoa");
errno_t _i64toa_s(long long value, char *to, size_t size, int base) PERFLIB_SYMBOL("_i64toa_s");
char *_i64toa(long long value, char *to, int base) PERFLIB_SYMBOL("_i64toa");
errno_t _ui64toa_s(unsigned long long value, char *to, size_t size, int base) PERFLIB_SYMBOL("_ui64toa_s");
char *_ui64toa(unsigned long long value, char *to, int base) PERFLIB_SYMBOL("_ui64toa");
errno_t _itow_s(int value, wchar_t *to, size_t size, int base) PERFLIB_WIDE_SYMBOL("_itow_s");
wchar_t *_itow(int value, wchar_t *to, int base) PERFLIB_WIDE_SYMBOL("_itow");
errno_t _ltow_s(int value, wchar_t *to, size_t size, int base) PERFLIB_WIDE_SYMBOL("_itow_s");
wchar_t *_ltow(int value, wchar_t *to, int base) PERFLIB_WIDE_SYMBOL("_itow");
errno_t _ultow_s(unsigned value, wchar_t *to, size_t size, int base) PERFLIB_WIDE_SYMBOL("_ultow_s");
wchar_t *_ultow(unsigned value, wchar_t *to, int base) PERFLIB_WIDE_SYMBOL("_ultow");
errno_t _i64tow_s(long long value, wchar_t *to, size_t size, int base) PERFLIB_WIDE_SYMBOL("_i64tow_s");
wchar_t *_i64tow(long long value, wchar_t *to, int base) PERFLIB_WIDE_SYMBOL("_i64tow");
errno_t _ui64tow_s(unsigned long long value, wchar_t *to, size_t size, int base) PERFLIB_WIDE_SYMBOL("_ui64tow_s");
wchar_t *_ui64tow(unsigned long long value, wchar_t *to, int base) PERFLIB_WIDE_SYMBOL("_ui64tow");

PERFLIB_END_C

#ifdef __cplusplus
PERFLIB_BEGIN_CXX

/* An array knows its size. */
template <size_t Size>
inline errno_t strcpy_s(char (&to)[Size], const char *from)
{
    return strcpy_s(to, Size, from);
}
template <size_t Size>
inline errno_t strcat_s(char (&to)[Size], const char *from)
{
    return strcat_s(to, Size, from);
}
template <size_t Size>
inline errno_t strncpy_s(char (&to)[Size], const char *from, size_t count)
{
    return strncpy_s(to, Size, from, count);
}
template <size_t Size>
inline errno_t strncat_s(char (&to)[Size], const char *from, size_t count)
{
    return strncat_s(to, Size, from, count);
}
template <size_t Size>
inline errno_t wcscpy_s(wchar_t (&to)[Size], const wchar_t *from)
{
    return wcscpy_s(to, Size, from);
}
template <size_t Size>
inline errno_t wcscat_s(wchar_t (&to)[Size], const wchar_t *from)
{
    return wcscat_s(to, Size, from);
}
template <size_t Size>
inline errno_t wcsncpy_s(wchar_t (&to)[Size], const wchar_t *from, size_t count)
{
    return wcsncpy_s(to, Size, from, count);
}
template <size_t Size>
inline errno_t wcsncat_s(wchar_t (&to)[Size], const wchar_t *from, size_t count)
{
    return wcsncat_s(to, Size, from, count);
}
template <size_t Size>
inline errno_t strerror_s(char (&to)[Size], int error)
{
    return strerror_s(to, Size, error);
}
template <size_t Size>
inline errno_t _itoa_s(int value, char (&to)[Size], int base)
{
    return _itoa_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ltoa_s(int value, char (&to)[Size], int base)
{
    return _ltoa_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ultoa_s(unsigned value, char (&to)[Size], int base)
{
    return _ultoa_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _i64toa_s(long long value, char (&to)[Size], int base)
{
    return _i64toa_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ui64toa_s(unsigned long long value, char (&to)[Size], int base)
{
    return _ui64toa_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _itow_s(int value, wchar_t (&to)[Size], int base)
{
    return _itow_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ltow_s(int value, wchar_t (&to)[Size], int base)
{
    return _ltow_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ultow_s(unsigned value, wchar_t (&to)[Size], int base)
{
    return _ultow_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _i64tow_s(long long value, wchar_t (&to)[Size], int base)
{
    return _i64tow_s(value, to, Size, base);
}
template <size_t Size>
inline errno_t _ui64tow_s(unsigned long long value, wchar_t (&to)[Size], int base)
{
    return _ui64tow_s(value, to, Size, base);
}

PERFLIB_END_CXX
#endif

#endif
