/* The machine. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_SYSINFOAPI_H
#define PERFLIB_WINDOWS_SYSINFOAPI_H

#include <winbase.h>

#endif
