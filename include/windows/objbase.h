/* GUIDs as text. Nothing else of COM.
 */
#ifndef PERFLIB_WINDOWS_OBJBASE_H
#define PERFLIB_WINDOWS_OBJBASE_H

#include <windows.h>

typedef WCHAR OLECHAR;
typedef OLECHAR *LPOLESTR;
typedef const OLECHAR *LPCOLESTR;

PERFLIB_BEGIN_C

LPVOID CoTaskMemAlloc(SIZE_T bytes) __asm__("malloc");
LPVOID CoTaskMemRealloc(LPVOID memory, SIZE_T bytes) __asm__("realloc");
void CoTaskMemFree(LPVOID memory) __asm__("free");

int StringFromGUID2(REFGUID guid, LPWSTR text, int size) PERFLIB_WIDE_SYMBOL("StringFromGUID2");
/* The text is for CoTaskMemFree. */
HRESULT StringFromCLSID(REFCLSID guid, LPOLESTR *text) PERFLIB_WIDE_SYMBOL("StringFromCLSID");
HRESULT StringFromIID(REFIID guid, LPOLESTR *text) PERFLIB_WIDE_SYMBOL("StringFromCLSID");
HRESULT CLSIDFromString(LPCWSTR text, CLSID *guid) PERFLIB_WIDE_SYMBOL("CLSIDFromString");
HRESULT IIDFromString(LPCWSTR text, IID *guid) PERFLIB_WIDE_SYMBOL("CLSIDFromString");

PERFLIB_END_C

#endif
