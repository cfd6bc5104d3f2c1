/* The high-resolution clock. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_PROFILEAPI_H
#define PERFLIB_WINDOWS_PROFILEAPI_H

#include <winbase.h>

#endif
