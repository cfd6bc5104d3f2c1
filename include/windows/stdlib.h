/* <stdlib.h> of the C library, with what Windows has in it. See perflib_crt.h. */
#pragma GCC system_header

#include <perflib_crt.h>

/* The header of C++ has a guard of its own, and may be asked for the one of C only. */
#ifdef __cplusplus
#include_next <stdlib.h>
#endif

#ifndef PERFLIB_WINDOWS_STDLIB_H
#define PERFLIB_WINDOWS_STDLIB_H

#define __max(left, right) (((left) > (right)) ? (left) : (right))
#define __min(left, right) (((left) < (right)) ? (left) : (right))

#define _MAX_PATH  260
#define _MAX_DRIVE 3
#define _MAX_DIR   256
#define _MAX_FNAME 256
#define _MAX_EXT   256

#define _countof(array) PERFLIB_COUNT_OF(array)

#endif
