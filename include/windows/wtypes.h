/* Types of interfaces, and the basic types of Windows. All of it is in <windef.h>.
 */
#ifndef PERFLIB_WINDOWS_WTYPES_H
#define PERFLIB_WINDOWS_WTYPES_H

#include <windef.h>

#endif
