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
#define __TEXT(quote) L##quote
#else
typedef CHAR TCHAR, *PTCHAR, *PTCH, *LPTCH;
typedef LPSTR PTSTR, LPTSTR;
typedef LPCSTR PCTSTR, LPCTSTR;
typedef PZZSTR PZZTSTR;
#define __TEXT(quote) quote
#endif
typedef unsigned char TBYTE, *PTBYTE;
#define _TCHAR_DEFINED
#undef TEXT
#define TEXT(quote) __TEXT(quote)

#define UNICODE_NULL ((WCHAR)0)
#define ANSI_NULL    ((CHAR)0)

#define MAXLONGLONG 0x7fffffffffffffffLL
#define MAXDWORD    0xffffffffu
#define MAXLONG     0x7fffffff
#define MINLONG     ((LONG)0x80000000)
#define MAXWORD     0xffff
#define MAXBYTE     0xff

#ifdef __cplusplus
PERFLIB_BEGIN_CXX
template <typename Item, size_t Size>
char (*perflib_array_size(Item (&)[Size]))[Size];
PERFLIB_END_CXX
#define RTL_NUMBER_OF(array) (sizeof(*perflib_array_size(array)))
#else
#define RTL_NUMBER_OF(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)

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

/* Languages. */
#define MAKELANGID(primary, sub) ((WORD)(((WORD)(sub) << 10) | (WORD)(primary)))
#define PRIMARYLANGID(language)  ((WORD)(language) & 0x3ff)
#define SUBLANGID(language)      ((WORD)(language) >> 10)
#define MAKELCID(language, sort) ((DWORD)((((DWORD)((WORD)(sort))) << 16) | ((DWORD)((WORD)(language)))))
#define LANGIDFROMLCID(locale)   ((WORD)(locale))
#define LANG_NEUTRAL        0x00
#define LANG_ENGLISH        0x09
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
