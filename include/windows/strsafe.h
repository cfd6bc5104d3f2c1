/* Copying and formatting text with the size of the buffer. What does not fit is cut, terminated and reported.
 */
#ifndef PERFLIB_WINDOWS_STRSAFE_H
#define PERFLIB_WINDOWS_STRSAFE_H

#pragma GCC system_header

#include <windef.h>
#include <winerror.h>

#include <stdio.h>

#define STRSAFE_MAX_CCH    2147483647
#define STRSAFE_MAX_LENGTH (STRSAFE_MAX_CCH - 1)

#define STRSAFE_E_INSUFFICIENT_BUFFER PERFLIB_HRESULT(0x8007007A)
#define STRSAFE_E_INVALID_PARAMETER   PERFLIB_HRESULT(0x80070057)
#define STRSAFE_E_END_OF_FILE         PERFLIB_HRESULT(0x80070026)

typedef LPSTR STRSAFE_LPSTR;
typedef LPCSTR STRSAFE_LPCSTR;
typedef LPWSTR STRSAFE_LPWSTR;
typedef LPCWSTR STRSAFE_LPCWSTR;

PERFLIB_BEGIN_C

/* Sizes in units. */
HRESULT StringCchCopyA(char *to, size_t size, const char *from) PERFLIB_SYMBOL("StringCchCopyA");
HRESULT StringCchCopyNA(char *to, size_t size, const char *from, size_t count) PERFLIB_SYMBOL("StringCchCopyNA");
HRESULT StringCchCatA(char *to, size_t size, const char *from) PERFLIB_SYMBOL("StringCchCatA");
HRESULT StringCchCatNA(char *to, size_t size, const char *from, size_t count) PERFLIB_SYMBOL("StringCchCatNA");
HRESULT StringCchLengthA(const char *text, size_t limit, size_t *length) PERFLIB_SYMBOL("StringCchLengthA");
HRESULT StringCchPrintfA(char *to, size_t size, const char *format, ...) PERFLIB_WIDE_SYMBOL("StringCchPrintfA");
HRESULT StringCchVPrintfA(char *to, size_t size, const char *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("StringCchVPrintfA");
HRESULT StringCbPrintfA(char *to, size_t bytes, const char *format, ...) PERFLIB_WIDE_SYMBOL("StringCbPrintfA");
HRESULT StringCbVPrintfA(char *to, size_t bytes, const char *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("StringCbVPrintfA");
HRESULT StringCchCopyW(WCHAR *to, size_t size, const WCHAR *from) PERFLIB_WIDE_SYMBOL("StringCchCopyW");
HRESULT StringCchCopyNW(WCHAR *to, size_t size, const WCHAR *from, size_t count) PERFLIB_WIDE_SYMBOL("StringCchCopyNW");
HRESULT StringCchCatW(WCHAR *to, size_t size, const WCHAR *from) PERFLIB_WIDE_SYMBOL("StringCchCatW");
HRESULT StringCchCatNW(WCHAR *to, size_t size, const WCHAR *from, size_t count) PERFLIB_WIDE_SYMBOL("StringCchCatNW");
HRESULT StringCchLengthW(const WCHAR *text, size_t limit, size_t *length) PERFLIB_WIDE_SYMBOL("StringCchLengthW");
HRESULT StringCchPrintfW(WCHAR *to, size_t size, const WCHAR *format, ...) PERFLIB_WIDE_SYMBOL("StringCchPrintfW");
HRESULT StringCchVPrintfW(WCHAR *to, size_t size, const WCHAR *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("StringCchVPrintfW");
HRESULT StringCbPrintfW(WCHAR *to, size_t bytes, const WCHAR *format, ...) PERFLIB_WIDE_SYMBOL("StringCbPrintfW");
HRESULT StringCbVPrintfW(WCHAR *to, size_t bytes, const WCHAR *format, va_list arguments)
    PERFLIB_WIDE_SYMBOL("StringCbVPrintfW");

PERFLIB_END_C

/* Sizes in bytes. */
static inline HRESULT StringCbCopyA(char *to, size_t bytes, const char *from)
{
    return StringCchCopyA(to, bytes / sizeof(char), from);
}
static inline HRESULT StringCbCopyNA(char *to, size_t bytes, const char *from, size_t count)
{
    return StringCchCopyNA(to, bytes / sizeof(char), from, count / sizeof(char));
}
static inline HRESULT StringCbCatA(char *to, size_t bytes, const char *from)
{
    return StringCchCatA(to, bytes / sizeof(char), from);
}
static inline HRESULT StringCbCatNA(char *to, size_t bytes, const char *from, size_t count)
{
    return StringCchCatNA(to, bytes / sizeof(char), from, count / sizeof(char));
}
static inline HRESULT StringCbLengthA(const char *text, size_t limit, size_t *bytes)
{
    HRESULT result = StringCchLengthA(text, limit / sizeof(char), bytes);
    if (bytes != NULL) *bytes *= sizeof(char);
    return result;
}
static inline HRESULT StringCbCopyW(WCHAR *to, size_t bytes, const WCHAR *from)
{
    return StringCchCopyW(to, bytes / sizeof(WCHAR), from);
}
static inline HRESULT StringCbCopyNW(WCHAR *to, size_t bytes, const WCHAR *from, size_t count)
{
    return StringCchCopyNW(to, bytes / sizeof(WCHAR), from, count / sizeof(WCHAR));
}
static inline HRESULT StringCbCatW(WCHAR *to, size_t bytes, const WCHAR *from)
{
    return StringCchCatW(to, bytes / sizeof(WCHAR), from);
}
static inline HRESULT StringCbCatNW(WCHAR *to, size_t bytes, const WCHAR *from, size_t count)
{
    return StringCchCatNW(to, bytes / sizeof(WCHAR), from, count / sizeof(WCHAR));
}
static inline HRESULT StringCbLengthW(const WCHAR *text, size_t limit, size_t *bytes)
{
    HRESULT result = StringCchLengthW(text, limit / sizeof(WCHAR), bytes);
    if (bytes != NULL) *bytes *= sizeof(WCHAR);
    return result;
}

#ifdef UNICODE
#define StringCchCopy StringCchCopyW
#define StringCchCopyN StringCchCopyNW
#define StringCchCat StringCchCatW
#define StringCchCatN StringCchCatNW
#define StringCchLength StringCchLengthW
#define StringCchPrintf StringCchPrintfW
#define StringCchVPrintf StringCchVPrintfW
#define StringCbCopy StringCbCopyW
#define StringCbCopyN StringCbCopyNW
#define StringCbCat StringCbCatW
#define StringCbCatN StringCbCatNW
#define StringCbLength StringCbLengthW
#define StringCbPrintf StringCbPrintfW
#define StringCbVPrintf StringCbVPrintfW
#else
#define StringCchCopy StringCchCopyA
#define StringCchCopyN StringCchCopyNA
#define StringCchCat StringCchCatA
#define StringCchCatN StringCchCatNA
#define StringCchLength StringCchLengthA
#define StringCchPrintf StringCchPrintfA
#define StringCchVPrintf StringCchVPrintfA
#define StringCbCopy StringCbCopyA
#define StringCbCopyN StringCbCopyNA
#define StringCbCat StringCbCatA
#define StringCbCatN StringCbCatNA
#define StringCbLength StringCbLengthA
#define StringCbPrintf StringCbPrintfA
#define StringCbVPrintf StringCbVPrintfA
#endif

#endif
