/* The registry, as far as it is a way to performance data: no other key can be opened.
 */
#ifndef PERFLIB_WINDOWS_WINREG_H
#define PERFLIB_WINDOWS_WINREG_H

#include <windef.h>

typedef ACCESS_MASK REGSAM;
typedef LONG LSTATUS;

#define PERFLIB_HKEY(number) ((HKEY)(ULONG_PTR)((LONG)(number)))
#define HKEY_CLASSES_ROOT        PERFLIB_HKEY(0x80000000)
#define HKEY_CURRENT_USER        PERFLIB_HKEY(0x80000001)
#define HKEY_LOCAL_MACHINE       PERFLIB_HKEY(0x80000002)
#define HKEY_USERS               PERFLIB_HKEY(0x80000003)
#define HKEY_PERFORMANCE_DATA    PERFLIB_HKEY(0x80000004)
#define HKEY_CURRENT_CONFIG      PERFLIB_HKEY(0x80000005)
#define HKEY_DYN_DATA            PERFLIB_HKEY(0x80000006)
#define HKEY_PERFORMANCE_TEXT    PERFLIB_HKEY(0x80000050)
#define HKEY_PERFORMANCE_NLSTEXT PERFLIB_HKEY(0x80000060)

PERFLIB_BEGIN_C

LSTATUS RegCloseKey(HKEY key) PERFLIB_SYMBOL("RegCloseKey");
LSTATUS RegConnectRegistryA(LPCSTR machine, HKEY key, PHKEY result) PERFLIB_SYMBOL("RegConnectRegistryA");
LSTATUS RegConnectRegistryW(LPCWSTR machine, HKEY key, PHKEY result) PERFLIB_WIDE_SYMBOL("RegConnectRegistryW");
LSTATUS RegOpenKeyA(HKEY key, LPCSTR name, PHKEY result) PERFLIB_SYMBOL("RegOpenKeyA");
LSTATUS RegOpenKeyW(HKEY key, LPCWSTR name, PHKEY result) PERFLIB_WIDE_SYMBOL("RegOpenKeyW");
LSTATUS RegOpenKeyExA(HKEY key, LPCSTR name, DWORD options, REGSAM access, PHKEY result)
    PERFLIB_SYMBOL("RegOpenKeyExA");
LSTATUS RegOpenKeyExW(HKEY key, LPCWSTR name, DWORD options, REGSAM access, PHKEY result)
    PERFLIB_WIDE_SYMBOL("RegOpenKeyExW");

/* The blocks have names in units of WCHAR, so this is two functions even for a narrow value name. */
LSTATUS RegQueryValueExA(HKEY key, LPCSTR name, LPDWORD reserved, LPDWORD type, LPBYTE data, LPDWORD size)
    PERFLIB_WIDE_SYMBOL("RegQueryValueExA");
LSTATUS RegQueryValueExW(HKEY key, LPCWSTR name, LPDWORD reserved, LPDWORD type, LPBYTE data, LPDWORD size)
    PERFLIB_WIDE_SYMBOL("RegQueryValueExW");

/* These give codes and sizes only, no text: the narrow and the wide form are one function. */
LSTATUS RegQueryInfoKeyA(HKEY key, LPSTR className, LPDWORD classSize, LPDWORD reserved, LPDWORD subKeys,
    LPDWORD subKeySize, LPDWORD subKeyClassSize, LPDWORD values, LPDWORD valueNameSize, LPDWORD valueSize,
    LPDWORD securitySize, PFILETIME written) PERFLIB_SYMBOL("RegQueryInfoKeyA");
LSTATUS RegQueryInfoKeyW(HKEY key, LPWSTR className, LPDWORD classSize, LPDWORD reserved, LPDWORD subKeys,
    LPDWORD subKeySize, LPDWORD subKeyClassSize, LPDWORD values, LPDWORD valueNameSize, LPDWORD valueSize,
    LPDWORD securitySize, PFILETIME written) PERFLIB_WIDE_SYMBOL("RegQueryInfoKeyW");
LSTATUS RegEnumValueA(HKEY key, DWORD index, LPSTR name, LPDWORD nameSize, LPDWORD reserved, LPDWORD type,
    LPBYTE data, LPDWORD size) PERFLIB_SYMBOL("RegEnumValue");
LSTATUS RegEnumValueW(HKEY key, DWORD index, LPWSTR name, LPDWORD nameSize, LPDWORD reserved, LPDWORD type,
    LPBYTE data, LPDWORD size) PERFLIB_SYMBOL("RegEnumValue");
LSTATUS RegEnumKeyExA(HKEY key, DWORD index, LPSTR name, LPDWORD nameSize, LPDWORD reserved, LPSTR className,
    LPDWORD classSize, PFILETIME written) PERFLIB_SYMBOL("RegEnumKeyEx");
LSTATUS RegEnumKeyExW(HKEY key, DWORD index, LPWSTR name, LPDWORD nameSize, LPDWORD reserved, LPWSTR className,
    LPDWORD classSize, PFILETIME written) PERFLIB_SYMBOL("RegEnumKeyEx");
LSTATUS RegSetValueExA(HKEY key, LPCSTR name, DWORD reserved, DWORD type, const BYTE *data, DWORD size)
    PERFLIB_SYMBOL("RegSetValueEx");
LSTATUS RegSetValueExW(HKEY key, LPCWSTR name, DWORD reserved, DWORD type, const BYTE *data, DWORD size)
    PERFLIB_SYMBOL("RegSetValueEx");
LSTATUS RegQueryValueA(HKEY key, LPCSTR name, LPSTR data, LONG *size) PERFLIB_SYMBOL("RegQueryValue");
LSTATUS RegQueryValueW(HKEY key, LPCWSTR name, LPWSTR data, LONG *size) PERFLIB_SYMBOL("RegQueryValue");
LSTATUS RegSetValueA(HKEY key, LPCSTR name, DWORD type, LPCSTR data, DWORD size) PERFLIB_SYMBOL("RegSetValue");
LSTATUS RegSetValueW(HKEY key, LPCWSTR name, DWORD type, LPCWSTR data, DWORD size) PERFLIB_SYMBOL("RegSetValue");

PERFLIB_END_C

#ifdef UNICODE
#define RegConnectRegistry RegConnectRegistryW
#define RegOpenKey RegOpenKeyW
#define RegOpenKeyEx RegOpenKeyExW
#define RegQueryValueEx RegQueryValueExW
#define RegQueryInfoKey RegQueryInfoKeyW
#define RegEnumValue RegEnumValueW
#define RegEnumKeyEx RegEnumKeyExW
#define RegSetValueEx RegSetValueExW
#define RegQueryValue RegQueryValueW
#define RegSetValue RegSetValueW
#else
#define RegConnectRegistry RegConnectRegistryA
#define RegOpenKey RegOpenKeyA
#define RegOpenKeyEx RegOpenKeyExA
#define RegQueryValueEx RegQueryValueExA
#define RegQueryInfoKey RegQueryInfoKeyA
#define RegEnumValue RegEnumValueA
#define RegEnumKeyEx RegEnumKeyExA
#define RegSetValueEx RegSetValueExA
#define RegQueryValue RegQueryValueA
#define RegSetValue RegSetValueA
#endif

#endif
