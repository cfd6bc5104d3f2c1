/* GUIDs as text. All of it is in <objbase.h>.
 */
#ifndef PERFLIB_WINDOWS_OLE2_H
#define PERFLIB_WINDOWS_OLE2_H

#include <objbase.h>

#endif
