/* Types of the system. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_MINWINBASE_H
#define PERFLIB_WINDOWS_MINWINBASE_H

#include <winbase.h>

#endif
