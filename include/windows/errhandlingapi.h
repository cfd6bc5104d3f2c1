/* Errors. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_ERRHANDLINGAPI_H
#define PERFLIB_WINDOWS_ERRHANDLINGAPI_H

#include <winbase.h>

#endif
