/* Narrow text to wide text and back. All of it is in <winnls.h>.
 */
#ifndef PERFLIB_WINDOWS_STRINGAPISET_H
#define PERFLIB_WINDOWS_STRINGAPISET_H

#include <winnls.h>

#endif
