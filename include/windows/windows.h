/* What source written for Windows includes first.
 *
 * It has what consumers of performance data use: types, error codes, the registry functions that read performance data,
 * clocks, memory, text. Link with -lperflib-windows -lperflib.
 */
#ifndef PERFLIB_WINDOWS_WINDOWS_H
#define PERFLIB_WINDOWS_WINDOWS_H

#ifndef _WINDOWS_
#define _WINDOWS_
#endif

#include <perflib_shim.h>

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <windef.h>
#include <winerror.h>
#include <winbase.h>
#include <winnls.h>
#include <winreg.h>

#ifndef WIN32_LEAN_AND_MEAN
#include <winperf.h>
#include <objbase.h>
#endif

#endif
