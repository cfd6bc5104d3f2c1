/* Dates. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_TIMEZONEAPI_H
#define PERFLIB_WINDOWS_TIMEZONEAPI_H

#include <winbase.h>

#endif
