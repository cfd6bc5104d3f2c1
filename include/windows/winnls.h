/* Narrow text to wide text and back. The system's code page is UTF-8.
 */
#ifndef PERFLIB_WINDOWS_WINNLS_H
#define PERFLIB_WINDOWS_WINNLS_H

#include <windef.h>

#define CP_ACP        0
#define CP_OEMCP      1
#define CP_MACCP      2
#define CP_THREAD_ACP 3
#define CP_UTF8       65001

#define MB_PRECOMPOSED       0x00000001
#define MB_COMPOSITE         0x00000002
#define MB_USEGLYPHCHARS     0x00000004
#define MB_ERR_INVALID_CHARS 0x00000008

#define WC_DISCARDNS         0x00000010
#define WC_SEPCHARS          0x00000020
#define WC_DEFAULTCHAR       0x00000040
#define WC_ERR_INVALID_CHARS 0x00000080
#define WC_COMPOSITECHECK    0x00000200
#define WC_NO_BEST_FIT_CHARS 0x00000400

PERFLIB_BEGIN_C

int MultiByteToWideChar(UINT codePage, DWORD flags, LPCSTR from, int fromCount, LPWSTR to, int toCount)
    PERFLIB_WIDE_SYMBOL("MultiByteToWideChar");
int WideCharToMultiByte(UINT codePage, DWORD flags, LPCWSTR from, int fromCount, LPSTR to, int toCount,
    LPCSTR replacement, LPBOOL wasReplaced) PERFLIB_WIDE_SYMBOL("WideCharToMultiByte");

PERFLIB_END_C

#define GetACP()   ((UINT)CP_UTF8)
#define GetOEMCP() ((UINT)CP_UTF8)
#define GetUserDefaultLangID()   ((LANGID)MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US))
#define GetSystemDefaultLangID() ((LANGID)MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US))
#define GetUserDefaultUILanguage()   GetUserDefaultLangID()
#define GetSystemDefaultUILanguage() GetSystemDefaultLangID()

#endif
