/* The basic types of Windows. All of it is in <windef.h>.
 */
#ifndef PERFLIB_WINDOWS_MINWINDEF_H
#define PERFLIB_WINDOWS_MINWINDEF_H

#include <windef.h>

#endif
