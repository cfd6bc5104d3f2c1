/* Memory. All of it is in <winbase.h>.
 */
#ifndef PERFLIB_WINDOWS_HEAPAPI_H
#define PERFLIB_WINDOWS_HEAPAPI_H

#include <winbase.h>

#endif
