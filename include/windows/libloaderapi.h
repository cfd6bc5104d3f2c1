/* Modules. What there is of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_LIBLOADERAPI_H
#define PERFLIB_WINDOWS_LIBLOADERAPI_H

#include <winbase.h>

#endif
