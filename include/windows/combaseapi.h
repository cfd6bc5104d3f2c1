/* GUIDs as text. All of it is in <objbase.h>.
 */
#ifndef PERFLIB_WINDOWS_COMBASEAPI_H
#define PERFLIB_WINDOWS_COMBASEAPI_H

#include <objbase.h>

#endif
