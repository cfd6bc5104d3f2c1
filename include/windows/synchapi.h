/* Sleeping. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_SYNCHAPI_H
#define PERFLIB_WINDOWS_SYNCHAPI_H

#include <winbase.h>

#endif
