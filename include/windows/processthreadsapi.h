/* Processes. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_PROCESSTHREADSAPI_H
#define PERFLIB_WINDOWS_PROCESSTHREADSAPI_H

#include <winbase.h>

#endif
