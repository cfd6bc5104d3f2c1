/* Memory. What there is of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_MEMORYAPI_H
#define PERFLIB_WINDOWS_MEMORYAPI_H

#include <winbase.h>

#endif
