/* The integers of a given size. All of it is in <windef.h>.
 */
#ifndef PERFLIB_WINDOWS_BASETSD_H
#define PERFLIB_WINDOWS_BASETSD_H

#include <windef.h>

#endif
