/* Files. What there is of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_FILEAPI_H
#define PERFLIB_WINDOWS_FILEAPI_H

#include <winbase.h>

#endif
