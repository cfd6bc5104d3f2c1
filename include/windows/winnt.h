/* Text types that follow UNICODE, registry constants, languages, and small macros.
 */
#ifndef PERFLIB_WINDOWS_WINNT_H
#define PERFLIB_WINDOWS_WINNT_H

#include <windef.h>

typedef WCHAR *LPWCH, *PWCH, *NWPSTR, *PZZWSTR;
typedef const WCHAR *LPCWCH, *PCWCH, *PCZZWSTR, *LPCUWSTR;
typedef CHAR *LPCH, *PCH, *PZZSTR;
typedef const CHAR *LPCCH, *PCCH, *PCZZSTR;
typedef LPWSTR *PLPWSTR;

#ifdef UNICODE
typedef WCHAR TCHAR, *PTCHAR, *PTCH, *LPTCH;
typedef LPWSTR PTSTR, LPTSTR;
typedef LPCWSTR PCTSTR, LPCTSTR;
typedef PZZWSTR PZZTSTR;
typedef WCHAR TBYTE, *PTBYTE;
#define __TEXT(quote) L##quote
#else
typedef CHAR TCHAR, *PTCHAR, *PTCH, *LPTCH;
typedef LPSTR PTSTR, LPTSTR;
typedef LPCSTR PCTSTR, LPCTSTR;
typedef PZZSTR PZZTSTR;
typedef unsigned char TBYTE, *PTBYTE;
#define __TEXT(quote) quote
#endif
#define _TCHAR_DEFINED
#undef TEXT
#define TEXT(quote) __TEXT(quote)

#define UNICODE_NULL ((WCHAR)0)
#define ANSI_NULL    ((CHAR)0)

#define MAXLONGLONG 0x7fffffffffffffffLL
#define MAXDWORD    0xffffffffu
#define MAXDWORD64  0xffffffffffffffffULL
#define MAXULONG    0xffffffffu
#define MAXLONG     0x7fffffff
#define MINLONG     ((LONG)0x80000000)
#define MAXWORD     0xffff
#define MAXBYTE     0xff

#define RTL_NUMBER_OF(array) PERFLIB_COUNT_OF(array)
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)
#define _ARRAYSIZE(array) RTL_NUMBER_OF(array)

#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type *)0)->field))
#define CONTAINING_RECORD(address, type, field) ((type *)((char *)(address) - offsetof(type, field)))

#define UNREFERENCED_PARAMETER(parameter)        ((void)(parameter))
#define DBG_UNREFERENCED_PARAMETER(parameter)    ((void)(parameter))
#define UNREFERENCED_LOCAL_VARIABLE(variable)    ((void)(variable))

#ifdef __cplusplus
#define C_ASSERT(condition) static_assert(condition, #condition)
#else
#define C_ASSERT(condition) _Static_assert(condition, #condition)
#endif

#define RtlZeroMemory(to, count)       ((void)memset((to), 0, (count)))
#define RtlFillMemory(to, count, what) ((void)memset((to), (what), (count)))
#define RtlCopyMemory(to, from, count) ((void)memcpy((to), (from), (count)))
#define RtlMoveMemory(to, from, count) ((void)memmove((to), (from), (count)))
#define RtlEqualMemory(left, right, count) (memcmp((left), (right), (count)) == 0)

/* Nothing that this library gives needs it, and the processors that need it have no Windows. */
#define UNALIGNED
#define UNALIGNED64

/* Languages. */
#define MAKELANGID(primary, sub) ((WORD)(((WORD)(sub) << 10) | (WORD)(primary)))
#define PRIMARYLANGID(language)  ((WORD)(language) & 0x3ff)
#define SUBLANGID(language)      ((WORD)(language) >> 10)
#define MAKELCID(language, sort) ((DWORD)((((DWORD)((WORD)(sort))) << 16) | ((DWORD)((WORD)(language)))))
#define LANGIDFROMLCID(locale)   ((WORD)(locale))
#define LANG_NEUTRAL        0x00
#define LANG_ARABIC         0x01
#define LANG_BULGARIAN      0x02
#define LANG_CATALAN        0x03
#define LANG_CHINESE        0x04
#define LANG_CZECH          0x05
#define LANG_DANISH         0x06
#define LANG_GERMAN         0x07
#define LANG_GREEK          0x08
#define LANG_ENGLISH        0x09
#define LANG_SPANISH        0x0a
#define LANG_FINNISH        0x0b
#define LANG_FRENCH         0x0c
#define LANG_HEBREW         0x0d
#define LANG_HUNGARIAN      0x0e
#define LANG_ICELANDIC      0x0f
#define LANG_ITALIAN        0x10
#define LANG_JAPANESE       0x11
#define LANG_KOREAN         0x12
#define LANG_DUTCH          0x13
#define LANG_NORWEGIAN      0x14
#define LANG_POLISH         0x15
#define LANG_PORTUGUESE     0x16
#define LANG_ROMANIAN       0x18
#define LANG_RUSSIAN        0x19
#define LANG_CROATIAN       0x1a
#define LANG_SLOVAK         0x1b
#define LANG_ALBANIAN       0x1c
#define LANG_SWEDISH        0x1d
#define LANG_THAI           0x1e
#define LANG_TURKISH        0x1f
#define LANG_UKRAINIAN      0x22
#define SUBLANG_NEUTRAL     0x00
#define SUBLANG_DEFAULT     0x01
#define SUBLANG_SYS_DEFAULT 0x02
#define SUBLANG_ENGLISH_US  0x01
#define SORT_DEFAULT        0x0
#define LANG_SYSTEM_DEFAULT   MAKELANGID(LANG_NEUTRAL, SUBLANG_SYS_DEFAULT)
#define LANG_USER_DEFAULT     MAKELANGID(LANG_NEUTRAL, SUBLANG_DEFAULT)
#define LOCALE_SYSTEM_DEFAULT MAKELCID(LANG_SYSTEM_DEFAULT, SORT_DEFAULT)
#define LOCALE_USER_DEFAULT   MAKELCID(LANG_USER_DEFAULT, SORT_DEFAULT)
#define LOCALE_NEUTRAL        MAKELCID(MAKELANGID(LANG_NEUTRAL, SUBLANG_NEUTRAL), SORT_DEFAULT)

/* The version of the system, for GetVersionEx. */
#define VER_PLATFORM_WIN32_NT 2
#define PERFLIB_VERSION_INFO(Char)  \
    DWORD dwOSVersionInfoSize;      \
    DWORD dwMajorVersion;           \
    DWORD dwMinorVersion;           \
    DWORD dwBuildNumber;            \
    DWORD dwPlatformId;             \
    Char szCSDVersion[128]
#define PERFLIB_VERSION_INFO_EX(Char) \
    PERFLIB_VERSION_INFO(Char);       \
    WORD wServicePackMajor;           \
    WORD wServicePackMinor;           \
    WORD wSuiteMask;                  \
    BYTE wProductType;                \
    BYTE wReserved
typedef struct _OSVERSIONINFOA {
    PERFLIB_VERSION_INFO(CHAR);
} OSVERSIONINFOA, *POSVERSIONINFOA, *LPOSVERSIONINFOA;
typedef struct _OSVERSIONINFOW {
    PERFLIB_VERSION_INFO(WCHAR);
} OSVERSIONINFOW, *POSVERSIONINFOW, *LPOSVERSIONINFOW;
typedef struct _OSVERSIONINFOEXA {
    PERFLIB_VERSION_INFO_EX(CHAR);
} OSVERSIONINFOEXA, *POSVERSIONINFOEXA, *LPOSVERSIONINFOEXA;
typedef struct _OSVERSIONINFOEXW {
    PERFLIB_VERSION_INFO_EX(WCHAR);
} OSVERSIONINFOEXW, *POSVERSIONINFOEXW, *LPOSVERSIONINFOEXW;
#ifdef UNICODE
typedef OSVERSIONINFOW OSVERSIONINFO, *POSVERSIONINFO, *LPOSVERSIONINFO;
typedef OSVERSIONINFOEXW OSVERSIONINFOEX, *POSVERSIONINFOEX, *LPOSVERSIONINFOEX;
#else
typedef OSVERSIONINFOA OSVERSIONINFO, *POSVERSIONINFO, *LPOSVERSIONINFO;
typedef OSVERSIONINFOEXA OSVERSIONINFOEX, *POSVERSIONINFOEX, *LPOSVERSIONINFOEX;
#endif

/* Kinds of registry values. */
#define REG_NONE                0
#define REG_SZ                  1
#define REG_EXPAND_SZ           2
#define REG_BINARY              3
#define REG_DWORD               4
#define REG_DWORD_LITTLE_ENDIAN 4
#define REG_DWORD_BIG_ENDIAN    5
#define REG_LINK                6
#define REG_MULTI_SZ            7
#define REG_QWORD               11
#define REG_QWORD_LITTLE_ENDIAN 11

/* Access rights. */
#define DELETE                 0x00010000
#define READ_CONTROL           0x00020000
#define WRITE_DAC              0x00040000
#define WRITE_OWNER            0x00080000
#define SYNCHRONIZE            0x00100000
#define STANDARD_RIGHTS_READ   READ_CONTROL
#define STANDARD_RIGHTS_WRITE  READ_CONTROL
#define STANDARD_RIGHTS_ALL    0x001F0000
#define GENERIC_READ           0x80000000u
#define GENERIC_WRITE          0x40000000
#define GENERIC_EXECUTE        0x20000000
#define GENERIC_ALL            0x10000000
#define MAXIMUM_ALLOWED        0x02000000
#define KEY_QUERY_VALUE        0x0001
#define KEY_SET_VALUE          0x0002
#define KEY_CREATE_SUB_KEY     0x0004
#define KEY_ENUMERATE_SUB_KEYS 0x0008
#define KEY_NOTIFY             0x0010
#define KEY_CREATE_LINK        0x0020
#define KEY_WOW64_64KEY        0x0100
#define KEY_WOW64_32KEY        0x0200
#define KEY_READ \
    ((STANDARD_RIGHTS_READ | KEY_QUERY_VALUE | KEY_ENUMERATE_SUB_KEYS | KEY_NOTIFY) & ~SYNCHRONIZE)
#define KEY_WRITE   ((STANDARD_RIGHTS_WRITE | KEY_SET_VALUE | KEY_CREATE_SUB_KEY) & ~SYNCHRONIZE)
#define KEY_EXECUTE (KEY_READ & ~SYNCHRONIZE)
#define KEY_ALL_ACCESS                                                                                    \
    ((STANDARD_RIGHTS_ALL | KEY_QUERY_VALUE | KEY_SET_VALUE | KEY_CREATE_SUB_KEY | KEY_ENUMERATE_SUB_KEYS \
      | KEY_NOTIFY | KEY_CREATE_LINK)                                                                     \
     & ~SYNCHRONIZE)

#endif
