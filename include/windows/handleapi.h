/* Handles. What there is of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_HANDLEAPI_H
#define PERFLIB_WINDOWS_HANDLEAPI_H

#include <winbase.h>

#endif
