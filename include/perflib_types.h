/* The Windows types that perflib.h and winperf.h are written in.
 *
 * A program that has a windows.h of its own keeps it: types that its headers define are left alone as long as they use
 * the usual guards, or all of them if PERFLIB_NO_WINDOWS_TYPES is defined. Sizes are checked in perflib.h either way.
 *
 * PERFLIB_WCHAR_SIZE says how many bytes a WCHAR has, and with it which text the library gives and takes:
 *
 *   as wchar_t has   L"..." names; the default. 4 bytes on Linux, 2 with -fshort-wchar
 *   2                if wchar_t has 4: WCHAR is char16_t, u"..." names, blocks byte for byte as on Windows
 */
#ifndef PERFLIB_TYPES_H
#define PERFLIB_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifndef PERFLIB_WCHAR_SIZE
#define PERFLIB_WCHAR_SIZE __SIZEOF_WCHAR_T__
#endif

/* A function whose text has WCHAR units: the library has it twice, and this picks the one for this program. Its name in
 * the source, its address and its overloads stay as they are; only dlsym has to know that UTF-32 has a name of its own.
 */
#if PERFLIB_WCHAR_SIZE == 2
#define PERFLIB_WIDE(symbol) __asm__(symbol)
#elif PERFLIB_WCHAR_SIZE == 4
#define PERFLIB_WIDE(symbol) __asm__(symbol "_utf32")
#else
#error "PERFLIB_WCHAR_SIZE must be 2 or 4"
#endif

#ifdef __cplusplus
#define PERFLIB_BEGIN_C extern "C" {
#define PERFLIB_END_C }
#define PERFLIB_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PERFLIB_BEGIN_C
#define PERFLIB_END_C
#define PERFLIB_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(_WINDEF_) && !defined(_MINWINDEF_)
#define _WINDEF_

/* A DWORD has 32 bits; the long of 64-bit Linux has 64. */
typedef uint8_t BYTE, UCHAR;
typedef char CHAR;
typedef uint16_t WORD, USHORT;
typedef int16_t SHORT;
typedef uint32_t DWORD, ULONG;
typedef int32_t LONG;
typedef int INT, BOOL;
typedef unsigned int UINT;
typedef long long LONGLONG, LONG64;
typedef unsigned long long ULONGLONG, DWORDLONG, ULONG64, DWORD64;
typedef intptr_t INT_PTR, LONG_PTR;
typedef uintptr_t UINT_PTR, ULONG_PTR, DWORD_PTR;
typedef size_t SIZE_T;

#if PERFLIB_WCHAR_SIZE == __SIZEOF_WCHAR_T__
typedef wchar_t WCHAR;
#elif defined(__cplusplus)
typedef char16_t WCHAR;
#else
typedef __CHAR16_TYPE__ WCHAR;
#endif

typedef void *PVOID, *LPVOID;
typedef const void *LPCVOID;
typedef BYTE *PBYTE, *LPBYTE;
typedef const BYTE *LPCBYTE;
typedef WORD *PWORD, *LPWORD;
typedef DWORD *PDWORD, *LPDWORD;
typedef LONG *PLONG, *LPLONG;
typedef ULONG *PULONG;
typedef CHAR *PCHAR, *PSTR, *LPSTR;
typedef const CHAR *PCSTR, *LPCSTR;
typedef WCHAR *PWCHAR, *PWSTR, *LPWSTR;
typedef const WCHAR *PCWSTR, *LPCWSTR;

typedef void *HANDLE;
typedef HANDLE *PHANDLE, *LPHANDLE;

#define WINAPI
#define CALLBACK

#endif /* _WINDEF_ */

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(GUID_DEFINED)
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
#endif

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(__LPGUID_DEFINED__)
#define __LPGUID_DEFINED__
typedef GUID *LPGUID;
#endif

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(__LPCGUID_DEFINED__)
#define __LPCGUID_DEFINED__
typedef const GUID *LPCGUID;
#endif

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(_SYSTEMTIME_) && !defined(_MINWINBASE_)
#define _SYSTEMTIME_
typedef struct _SYSTEMTIME {
    WORD wYear;
    WORD wMonth;
    WORD wDayOfWeek; /* 0 is Sunday */
    WORD wDay;
    WORD wHour;
    WORD wMinute;
    WORD wSecond;
    WORD wMilliseconds;
} SYSTEMTIME, *PSYSTEMTIME, *LPSYSTEMTIME;
#endif

#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(_LARGE_INTEGER_DEFINED)
#define _LARGE_INTEGER_DEFINED
typedef union _LARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        LONG HighPart;
    };
    struct {
        DWORD LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;
#endif

/* The codes that PerfLib answers with, for programs without a winerror.h. One that comes later has the same values. */
#if !defined(PERFLIB_NO_WINDOWS_TYPES) && !defined(ERROR_SUCCESS)
#define ERROR_SUCCESS 0
#define ERROR_ACCESS_DENIED 5
#define ERROR_INVALID_HANDLE 6
#define ERROR_NOT_ENOUGH_MEMORY 8
#define ERROR_INVALID_DATA 13
#define ERROR_OUTOFMEMORY 14
#define ERROR_INVALID_PARAMETER 87
#define ERROR_ALREADY_EXISTS 183
#define ERROR_NO_DATA 232
#define ERROR_MORE_DATA 234
#define ERROR_NOT_FOUND 1168
#define ERROR_NO_SYSTEM_RESOURCES 1450
#define ERROR_TIMEOUT 1460
#define RPC_S_SERVER_UNAVAILABLE 1722
#define ERROR_RESOURCE_LANG_NOT_FOUND 1815
#define ERROR_WMI_GUID_NOT_FOUND 4200
#define ERROR_WMI_INSTANCE_NOT_FOUND 4201
#define ERROR_WMI_ITEMID_NOT_FOUND 4202
#define ERROR_WMI_INVALID_REGINFO 4211
#endif

#endif
