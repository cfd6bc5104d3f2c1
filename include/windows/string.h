/* <string.h> of the C library, with what Windows has in it: wide text, too. See perflib_crt.h. */
#ifndef PERFLIB_WINDOWS_STRING_H
#define PERFLIB_WINDOWS_STRING_H
#include <perflib_crt.h>
#endif
