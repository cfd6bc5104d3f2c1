/* Annotations for code analysis. All of it is in <sal.h>.
 */
#ifndef PERFLIB_WINDOWS_DRIVERSPECS_H
#define PERFLIB_WINDOWS_DRIVERSPECS_H

#include <sal.h>

#endif
