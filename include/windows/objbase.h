/* GUIDs as text. Nothing else of COM.
 */
#ifndef PERFLIB_WINDOWS_OBJBASE_H
#define PERFLIB_WINDOWS_OBJBASE_H

#include <windows.h>

PERFLIB_BEGIN_C

int StringFromGUID2(REFGUID guid, LPWSTR text, int size) PERFLIB_WIDE_SYMBOL("StringFromGUID2");
HRESULT CLSIDFromString(LPCWSTR text, CLSID *guid) PERFLIB_WIDE_SYMBOL("CLSIDFromString");
HRESULT IIDFromString(LPCWSTR text, IID *guid) PERFLIB_WIDE_SYMBOL("CLSIDFromString");

PERFLIB_END_C

#endif
